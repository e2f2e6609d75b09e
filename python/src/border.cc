// Border: building its rows and compiling its graph.
#include "src/border.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "src/convert.h"
#include "src/errors.h"

namespace tilewright::python {

Layout Border::layout(nb::handle sizes, nb::handle strides, nb::handle offset) {
  Layout layout;
  for (const Dim dim : to_dims(sizes)) layout.sizes.push_back(program_.add(dim));
  for (const Dim dim : to_dims(strides)) layout.strides.push_back(program_.add(dim));
  layout.offset = program_.add(to_dim(offset));
  return layout;
}

void Border::add_input(std::size_t argument, nb::handle dtype, bool is_weight) {
  inputs_.push_back({argument, to_dtype(dtype), {}});
  if (!is_weight) return;
  inputs_.back().weight = weights_.size();
  weights_.emplace_back();
}

void Border::add_view_input(std::size_t argument, nb::handle dtype, nb::handle sizes, nb::handle strides,
                            nb::handle offset, bool is_absolute) {
  inputs_.push_back({argument, to_dtype(dtype), layout(sizes, strides, offset)});
  inputs_.back().view->is_absolute = is_absolute;
}

void Border::add_scalar(std::size_t argument, Dim symbol) {
  scalars_.push_back({argument, program_.add(symbol), symbol.is_float()});
}

void Border::add_late(std::size_t output, Dim symbol) {
  late_.push_back({output, program_.add(symbol)});
}

std::size_t Border::add_value(std::size_t output, nb::object dtype, nb::handle sizes, nb::handle strides) {
  values_.push_back({output, std::move(dtype), layout(sizes, strides, nb::int_(0)), to_dims(strides)});
  return values_.size() - 1;
}

void Border::add_result(bool is_argument, std::size_t source) {
  results_.push_back({is_argument ? ResultKind::kArgument : ResultKind::kValue, source, {}, {}});
}

void Border::add_view(bool of_argument, std::size_t source, nb::handle sizes, nb::handle strides, nb::handle offset) {
  const ResultKind kind = of_argument ? ResultKind::kViewOfArgument : ResultKind::kViewOfValue;
  results_.push_back({kind, source, {}, layout(sizes, strides, offset)});
}

void Border::add_number(Dim value, char type) {
  results_.push_back({ResultKind::kNumber, 0, {}, {}, program_.add(value), type});
}

void Border::add_constant(nb::object value) {
  results_.push_back({ResultKind::kConstant, 0, std::move(value), {}});
}

void Border::finish(bool use_oracle) {
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    const Shape& shape = graph_->type(graph_->inputs()[i]).shape;
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
      if (!shape[axis].is_symbol() || inputs_[i].view) continue;
      dims_.push_back({i, axis, program_.add(shape[axis])});
    }
  }
  mark_late_values();
  if (!use_oracle) compile();
}

void Border::mark_late_values() {
  for (ValueRow& row : values_) {
    std::vector<Dim> symbols;
    for (const Slot slot : row.layout.sizes) collect_symbols(program_.dim(slot), symbols);
    for (const Slot slot : row.layout.strides) collect_symbols(program_.dim(slot), symbols);
    for (const Dim symbol : symbols) {
      for (const LateRow& late : late_) row.is_late = row.is_late || program_.dim(late.slot) == symbol;
    }
  }
}

void Border::compile() {
  runtime::SessionOptions options;
  options.output_strides.resize(graph_->outputs().size());
  for (const ValueRow& row : values_) options.output_strides[row.output] = row.strides;
  session_ = unwrap(runtime::Session::compile(graph_->clone(), options));
  const runtime::Plan& plan = session_->plan();
  const auto watch = [&](std::size_t input) {  // what is made of it depends on its content
    if (input >= inputs_.size()) return;       // prepared, with a version of its own
    const std::size_t weight = inputs_[input].weight;
    if (weight < weights_.size()) weights_[weight].set_packed();
  };
  for (const runtime::PackPlan& pack : plan.packs) {
    if (plan.values[pack.root].origin == runtime::Origin::kInput) watch(plan.values[pack.root].buffer - 1);
  }
  for (const runtime::PreparedPlan& prepared : plan.prepared) {
    for (const std::size_t input : prepared.inputs) watch(input);
  }
}

void Border::refresh() {
  for (WeightInput& weight : weights_) weight.refresh();
}

nb::dict Border::weights() const {
  nb::dict out;
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    if (inputs_[i].weight >= weights_.size()) continue;
    const std::string& name = graph_->value(graph_->inputs()[i]).name;
    out[name.c_str()] = weights_[inputs_[i].weight].value(name);
  }
  return out;
}

std::vector<std::uintptr_t> Border::weight_addresses() const {
  std::vector<std::uintptr_t> addresses;
  for (const WeightInput& weight : weights_) addresses.push_back(weight.address());
  return addresses;
}

void bind_border(nb::module_& module) {
  using namespace nb::literals;
  nb::class_<Border>(module, "Border", "Calls of torch into one compiled graph: arguments in, results out.")
      .def(nb::init<const PyGraph&, nb::object, nb::object, nb::object>(), "graph"_a, "empty_strided"_a, "as_strided"_a,
           "from_dlpack"_a)
      .def("add_input", &Border::add_input, "argument"_a, "dtype"_a, "is_weight"_a = false)
      .def("add_view_input", &Border::add_view_input, "argument"_a, "dtype"_a, "sizes"_a, "strides"_a, "offset"_a,
           "is_absolute"_a)
      .def("add_scalar", &Border::add_scalar, "argument"_a, "symbol"_a)
      .def("add_late", &Border::add_late, "output"_a, "symbol"_a)
      .def("add_value", &Border::add_value, "output"_a, "dtype"_a, "sizes"_a, "strides"_a)
      .def("add_result", &Border::add_result, "is_argument"_a, "source"_a)
      .def("add_view", &Border::add_view, "of_argument"_a, "source"_a, "sizes"_a, "strides"_a, "offset"_a)
      .def("add_number", &Border::add_number, "value"_a, "type"_a)
      .def("add_constant", &Border::add_constant, "value"_a.none())
      .def("set_host_call", &Border::set_host_call, "host_call"_a)
      .def("finish", &Border::finish, "use_oracle"_a = false)
      .def("explain", &Border::explain, "Kernels, refused merges, passes; bytes moved at the sizes of the last call.")
      .def("refresh", &Border::refresh, "Counts every parameter as changed at the next call.")
      .def("weights", &Border::weights, "The parameters of the last call, by the name of their graph input.")
      .def_prop_ro("weight_addresses", &Border::weight_addresses)
      .def("trim",
           [](const Border& self) {
             if (self.session() != nullptr) self.session()->trim();
           })
      .def_prop_ro(
          "plan",
          [](const Border& self) {
            return self.session() == nullptr ? std::string() : print(*self.session()->plan().graph);
          },
          "The optimised graph, as text.")
      .def("__call__", &Border::call, "arguments"_a);
}

}  // namespace tilewright::python
