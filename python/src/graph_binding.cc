// tilewright._core.Graph: building, reading, checking and printing graphs, and the oracle that runs them.
#include <nanobind/nanobind.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unordered_map.h>
#include <nanobind/stl/vector.h>

#include "src/graph_binding.h"

#include "src/convert.h"
#include "src/errors.h"
#include "tilewright/graph/builder.h"
#include "tilewright/graph/eval/eval.h"

namespace tilewright::python {
using namespace nb::literals;
namespace {

// Python shares a graph by PyGraph; as a region it is cloned into its node, so that neither side can change the
// other's.
Graph& graph_of(PyGraph& self) {
  return *self.graph;
}

ValueId add_input(PyGraph& self, nb::handle dtype, nb::handle shape, const std::string& name, bool weight) {
  return graph_of(self).add_input({to_dtype(dtype), to_dims(shape)}, name,
                                  weight ? InputRole::kWeight : InputRole::kData);
}

std::vector<ValueId> add_op(PyGraph& self, const std::string& text, std::vector<ValueId> inputs, nb::dict attrs,
                            nb::list regions, const std::string& name) {
  const auto op = parse_op(text);
  if (!op) throw Failure{fail(ErrorKind::kInvalidArgument, "no op has the name '{}'", text)};
  for (const ValueId input : inputs) {
    if (input >= self.graph->num_values()) {
      throw Failure{
          fail(ErrorKind::kIndexOutOfRange, "'{}' reads value {} of {}", text, input, self.graph->num_values())};
    }
  }
  std::vector<std::unique_ptr<Graph>> owned;
  for (nb::handle region : regions) owned.push_back(nb::cast<PyGraph&>(region).graph->clone());
  return unwrap(Builder(*self.graph).op(*op, std::move(inputs), to_attrs(*op, attrs), std::move(owned), name));
}

std::vector<ValueId> add_host_call(PyGraph& self, std::int64_t target, std::vector<ValueId> inputs, nb::list results,
                                   const std::string& name) {
  std::vector<TensorType> types;
  for (nb::handle result : results) {
    auto pair = nb::cast<nb::tuple>(result);
    types.push_back({to_dtype(pair[0]), to_dims(pair[1])});
  }
  const NodeId node =
      self.graph->add_node(Op::kHostCall, std::move(inputs), {{"target", target}}, std::move(types), {}, name);
  return self.graph->node(node).outputs;
}

nb::tuple type_of(const PyGraph& self, ValueId value) {
  const TensorType& type = self.graph->type(value);
  nb::list shape;
  for (const Dim dim : type.shape) shape.append(dim);
  return nb::make_tuple(type.dtype, shape);
}

EvalOptions eval_options(nb::dict scalars, nb::object host_call) {
  EvalOptions options;
  for (auto [name, value] : scalars) {
    DimValue bound{};
    if (nb::isinstance<nb::float_>(value)) {
      bound.real = nb::cast<double>(value);
    } else {
      bound.integer = nb::cast<std::int64_t>(value);
    }
    options.scalars.emplace(nb::cast<std::string>(name), bound);
  }
  if (!host_call.is_none()) {
    options.host_call = [host_call](std::int64_t target,
                                    std::span<const Tensor> inputs) -> Result<std::vector<Tensor>> {
      nb::gil_scoped_acquire gil;
      nb::list arguments;
      for (const Tensor& tensor : inputs) arguments.append(tensor);
      return nb::cast<std::vector<Tensor>>(host_call(target, arguments));
    };
  }
  return options;
}

std::vector<Tensor> evaluate(const PyGraph& self, const std::vector<Tensor>& inputs, nb::dict scalars,
                             nb::object host_call) {
  const EvalOptions options = eval_options(scalars, host_call);
  const std::shared_ptr<Graph> graph = self.graph;
  nb::gil_scoped_release release;
  return unwrap(eval(*graph, inputs, options));
}

std::vector<std::pair<std::string, nb::dict>> nodes_of(const PyGraph& self) {
  std::vector<std::pair<std::string, nb::dict>> nodes;
  for (const NodeId id : self.graph->order()) {
    nb::dict attrs;
    for (const Attrs::Entry& entry : self.graph->node(id).attrs.entries())
      attrs[entry.name.c_str()] = from_attr(entry.value);
    nodes.emplace_back(info(self.graph->node(id).op).text, attrs);
  }
  return nodes;
}

nb::list ops() {
  nb::list names;
  for (const Op op : all_ops()) names.append(nb::str(info(op).text.data(), info(op).text.size()));
  return names;
}

}  // namespace

void bind_graphs(nb::module_& module) {
  module.def("ops", &ops, "The names of all graph operators.");
  nb::class_<PyGraph>(module, "Graph", "A program over tensors with symbolic dims.")
      .def(
          "__init__",
          [](PyGraph* self, const std::string& name) {
            new (self) PyGraph{std::make_shared<Graph>()};
            self->graph->name = name;
          },
          "name"_a = "")
      .def_static(
          "parse", [](const std::string& text) { return PyGraph{std::shared_ptr<Graph>(unwrap(parse_graph(text)))}; },
          "text"_a, "The graph that `str(graph)` printed.")
      .def("add_input", &add_input, "dtype"_a, "shape"_a, "name"_a, "weight"_a = false)
      .def(
          "add_scalar_input", [](PyGraph& self, Dim symbol) { self.graph->add_scalar_input(symbol); }, "symbol"_a)
      .def(
          "add_capture",
          [](PyGraph& self, ValueId outer, nb::handle dtype, nb::handle shape, const std::string& name) {
            return self.graph->add_capture(outer, {to_dtype(dtype), to_dims(shape)}, name);
          },
          "outer"_a, "dtype"_a, "shape"_a, "name"_a)
      .def("op", &add_op, "op"_a, "inputs"_a, "attrs"_a = nb::dict(), "regions"_a = nb::list(), "name"_a = "",
           "Appends a node and returns the ids of its results. Regions are copied.")
      .def("host_call", &add_host_call, "target"_a, "inputs"_a, "results"_a, "name"_a = "",
           "Appends a call of the host's function `target` with results of the given (dtype, shape).")
      .def(
          "set_outputs",
          [](PyGraph& self, std::vector<ValueId> outputs, std::vector<std::string> names) {
            self.graph->set_outputs(std::move(outputs), std::move(names));
          },
          "outputs"_a, "names"_a = std::vector<std::string>())
      .def("type", &type_of, "value"_a, "(dtype, shape) of a value.")
      .def(
          "set_range",
          [](PyGraph& self, Dim symbol, std::int64_t low, std::int64_t high) {
            self.graph->facts.set_range(symbol, {low, high});
          },
          "symbol"_a, "low"_a, "high"_a)
      .def(
          "set_divisor",
          [](PyGraph& self, Dim symbol, std::int64_t divisor) { self.graph->facts.set_divisor(symbol, divisor); },
          "symbol"_a, "divisor"_a)
      .def(
          "set_equal", [](PyGraph& self, Dim a, Dim b) { self.graph->facts.set_equal(a, b); }, "a"_a, "b"_a)
      .def(
          "verify", [](const PyGraph& self) { unwrap(verify(*self.graph)); }, "Raises if the graph is not well formed.")
      .def("nodes", &nodes_of, "(op, attributes) of each node in order.")
      .def_prop_ro("inputs", [](const PyGraph& self) { return self.graph->inputs(); })
      .def_prop_ro("outputs", [](const PyGraph& self) { return self.graph->outputs(); })
      .def("__str__", [](const PyGraph& self) { return print(*self.graph); });
  module.def("eval", &evaluate, "graph"_a, "inputs"_a, "scalars"_a = nb::dict(), "host_call"_a = nb::none(),
             "Runs a graph by the oracle: naive and slow. Assign writes into the given inputs.");
}

}  // namespace tilewright::python
