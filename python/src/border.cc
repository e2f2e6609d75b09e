// Border: building its rows, and a call from arguments to results.
#include "src/border.h"

#include <nanobind/stl/vector.h>

#include <cstring>

#include "src/convert.h"
#include "src/errors.h"
#include "src/torch_tensor.h"

namespace tilewright::python {

struct Border::Call {
  std::vector<DimValue> values;
  std::unique_ptr<bool[]> known;
  std::vector<Tensor> inputs;
  std::vector<Tensor> outputs;
  EvalOptions options;

  std::int64_t integer(const DimProgram& program, Slot slot) const {
    const DimValue value = values[slot];
    return program.dim(slot).is_float() ? static_cast<std::int64_t>(value.real) : value.integer;
  }
  std::vector<std::int64_t> integers(const DimProgram& program, const std::vector<Slot>& slots) const {
    std::vector<std::int64_t> numbers(slots.size());
    for (std::size_t i = 0; i < slots.size(); ++i) numbers[i] = integer(program, slots[i]);
    return numbers;
  }
};

Layout Border::layout(nb::handle sizes, nb::handle strides, nb::handle offset) {
  Layout layout;
  for (const Dim dim : to_dims(sizes)) layout.sizes.push_back(program_.add(dim));
  for (const Dim dim : to_dims(strides)) layout.strides.push_back(program_.add(dim));
  if (!offset.is_none()) layout.offset = program_.add(to_dim(offset));
  return layout;
}

void Border::add_input(std::size_t argument, nb::handle dtype) { inputs_.push_back({argument, to_dtype(dtype), {}}); }

void Border::add_view_input(std::size_t argument, nb::handle dtype, nb::handle sizes, nb::handle strides, nb::handle offset,
                            bool is_absolute) {
  inputs_.push_back({argument, to_dtype(dtype), layout(sizes, strides, offset)});
  inputs_.back().view->is_absolute = is_absolute;
}

void Border::add_scalar(std::size_t argument, Dim symbol) { scalars_.push_back({argument, symbol, program_.add(symbol)}); }

void Border::add_late(std::size_t output, Dim symbol) { late_.push_back({output, program_.add(symbol)}); }

std::size_t Border::add_value(std::size_t output, nb::object dtype, nb::handle sizes, nb::handle strides) {
  values_.push_back({output, std::move(dtype), layout(sizes, strides, nb::none())});
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

void Border::add_constant(nb::object value) { results_.push_back({ResultKind::kConstant, 0, std::move(value), {}}); }

void Border::finish() {
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    const Shape& shape = graph_->type(graph_->inputs()[i]).shape;
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
      if (!shape[axis].is_symbol() || inputs_[i].view) continue;
      dims_.push_back({i, axis, program_.add(shape[axis])});
    }
  }
}

nb::list Border::call(nb::list arguments) const {
  Call call;
  bind_early(call, arguments);
  run(call);
  bind_late(call);
  return results(call, arguments);
}

void Border::bind_early(Call& call, nb::list arguments) const {
  call.values.resize(program_.size());
  call.known = std::make_unique<bool[]>(program_.size());
  for (const ScalarRow& row : scalars_) {
    DimValue& value = call.values[row.slot];
    if (row.symbol.is_float()) {
      value.real = nb::cast<double>(arguments[row.argument]);
    } else {
      value.integer = nb::cast<std::int64_t>(nb::int_(arguments[row.argument]));
    }
    call.known[row.slot] = true;
    call.options.scalars.emplace(row.symbol.name(), value);
  }
  std::vector<TorchTensor> tensors;
  for (const InputRow& row : inputs_) tensors.push_back(read_tensor(nb::handle(arguments[row.argument])));
  for (const DimRow& row : dims_) {
    call.values[row.slot].integer = tensors[row.input].sizes[row.axis];
    call.known[row.slot] = true;
  }
  unwrap(program_.run(call.values, {call.known.get(), program_.size()}));
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    const InputRow& row = inputs_[i];
    TorchTensor& tensor = tensors[i];
    if (row.view) {
      tensor.sizes = call.integers(program_, row.view->sizes);
      tensor.strides = call.integers(program_, row.view->strides);
      std::int64_t shift = call.integer(program_, *row.view->offset);
      if (row.view->is_absolute) shift -= storage_offset(arguments[row.argument]);
      tensor.data += shift * byte_size(row.dtype);
    }
    call.inputs.emplace_back(row.dtype, std::move(tensor.sizes), std::move(tensor.strides), tensor.data);
  }
  if (host_call_.is_valid()) {
    call.options.host_call = [this](std::int64_t target, std::span<const Tensor> inputs) -> Result<std::vector<Tensor>> {
      nb::gil_scoped_acquire gil;
      nb::list values;
      for (const Tensor& tensor : inputs) values.append(tensor);
      return nb::cast<std::vector<Tensor>>(host_call_(target, values));
    };
  }
}

void Border::run(Call& call) const {
  nb::gil_scoped_release release;
  call.outputs = unwrap(eval(*graph_, call.inputs, call.options));
}

void Border::bind_late(Call& call) const {
  if (late_.empty()) return;
  for (const LateRow& row : late_) {
    const Tensor& holder = call.outputs[row.output];
    if (holder.dtype() == DType::kF64) {
      call.values[row.slot].real = *holder.data_as<double>();
    } else {
      call.values[row.slot].integer = *holder.data_as<std::int64_t>();
    }
    call.known[row.slot] = true;
  }
  unwrap(program_.run(call.values, {call.known.get(), program_.size()}));
}

std::vector<nb::object> Border::values(Call& call) const {
  std::vector<nb::object> values;
  values.reserve(values_.size());
  for (const ValueRow& row : values_) {
    const auto sizes = call.integers(program_, row.layout.sizes);
    const auto strides = call.integers(program_, row.layout.strides);
    values.push_back(new_tensor(empty_strided_, sizes, strides, row.dtype));
    copy_to(call.outputs[row.output], sizes, strides, values.back());
  }
  return values;
}

nb::object Border::number(const Call& call, const ResultRow& row) const {
  const DimValue value = call.values[row.number];
  const bool is_real = program_.dim(row.number).is_float();
  if (row.type == 'f') return nb::float_(is_real ? value.real : static_cast<double>(value.integer));
  if (row.type == 'b') return nb::bool_(is_real ? value.real != 0 : value.integer != 0);
  return nb::int_(call.integer(program_, row.number));
}

nb::list Border::results(Call& call, nb::list arguments) const {
  const std::vector<nb::object> values = this->values(call);
  nb::list results;
  for (const ResultRow& row : results_) {
    switch (row.kind) {
      case ResultKind::kValue: results.append(values[row.source]); break;
      case ResultKind::kArgument: results.append(arguments[row.source]); break;
      case ResultKind::kViewOfValue:
      case ResultKind::kViewOfArgument: {
        nb::object base = row.kind == ResultKind::kViewOfArgument ? arguments[row.source] : values[row.source];
        const nb::int_ start(storage_offset(base) + call.integer(program_, *row.layout.offset));
        results.append(as_strided_(base, to_tuple(call.integers(program_, row.layout.sizes)),
                                   to_tuple(call.integers(program_, row.layout.strides)), start));
        break;
      }
      case ResultKind::kNumber: results.append(number(call, row)); break;
      case ResultKind::kConstant: results.append(row.constant); break;
    }
  }
  return results;
}

void bind_border(nb::module_& module) {
  using namespace nb::literals;
  nb::class_<Border>(module, "Border", "Calls of torch into one compiled graph: arguments in, results out.")
      .def(nb::init<const PyGraph&, nb::object, nb::object>(), "graph"_a, "empty_strided"_a, "as_strided"_a)
      .def("add_input", &Border::add_input, "argument"_a, "dtype"_a)
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
      .def("finish", &Border::finish)
      .def("__call__", &Border::call, "arguments"_a);
}

}  // namespace tilewright::python
