// Composites run through their definitions: a small graph of primitives at the sizes of this call.
#include "tilewright/graph/composites/composites.h"

#include "tilewright/graph/eval/eval.h"
#include "tilewright/graph/eval/families.h"
#include "tilewright/graph/infer/infer.h"

namespace tilewright {
namespace {

Result<Dim> known(const Symbols& symbols, Dim dim) {
  TW_ASSIGN(const HostValue value, symbols.value(dim));
  return value.is_float ? Dim::real(value.real) : Dim(value.integer);
}

// `attrs` with the value of every dim in its place.
Result<Attrs> known_attrs(const EvalCall& call) {
  Attrs out;
  for (const Attrs::Entry& entry : call.attrs.entries()) {
    out.set(entry.name, entry.value);
    if (const Dim* dim = std::get_if<Dim>(&entry.value)) {
      TW_ASSIGN(const Dim value, known(call.symbols, *dim));
      out.set(entry.name, value);
    }
    if (const Dims* dims = std::get_if<Dims>(&entry.value)) {
      Dims values;
      for (const Dim dim : *dims) {
        TW_ASSIGN(const Dim value, known(call.symbols, dim));
        values.push_back(value);
      }
      out.set(entry.name, std::move(values));
    }
  }
  return out;
}

}  // namespace

Results eval_composite(const EvalCall& call) {
  TW_ASSIGN(const Attrs attrs, known_attrs(call));
  Graph graph;
  std::vector<ValueId> inputs;
  InferInput question{call.op, {}, attrs, {}, graph.facts};
  for (const Tensor& tensor : call.in) {
    const TensorType type{tensor.dtype(), Shape(tensor.sizes().begin(), tensor.sizes().end())};
    question.types.push_back(type);
    inputs.push_back(graph.add_input(type, "x"));
  }
  // What was unknown when the node was built is known now, and may be wrong.
  if (Result<Types> types = infer(question); !types.ok()) return std::move(types).error();
  Builder builder(graph);
  graph.set_outputs(define_composite(builder, call.op, inputs, attrs));
  return eval(graph, call.in);
}

}  // namespace tilewright
