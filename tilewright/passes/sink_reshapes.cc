// Moves a reshape behind the elementwise operation that reads it, so that the operation can join its producer's area:
//   gelu(reshape(x))              ->  reshape(gelu(x))
//   mul(reshape(x), scalar)       ->  reshape(mul(x, scalar))      any operand of rank 0
//   add(reshape(x), reshape(y))   ->  reshape(add(x, y))           x and y of one shape
#include "tilewright/graph/builder.h"
#include "tilewright/passes/pass.h"

namespace tilewright::passes {
namespace {

bool is_elementwise_operation(Op op) { return is_elementwise(op) || op == Op::kGelu || op == Op::kSilu; }

// The input of the reshape that produces `value`, if one does.
const ValueId* reshaped(const Graph& graph, ValueId value) {
  const NodeId producer = graph.value(value).producer;
  if (producer == kNoNode || graph.node(producer).op != Op::kReshape) return nullptr;
  return &graph.node(producer).inputs[0];
}

// What the operation reads once the reshape is behind it; empty if it cannot be.
std::vector<ValueId> sunk_inputs(const Graph& graph, const Node& node) {
  const Shape& result = graph.type(node.outputs[0]).shape;
  const Shape* source = nullptr;
  std::vector<ValueId> inputs;
  for (ValueId input : node.inputs) {
    const Shape& shape = graph.type(input).shape;
    const ValueId* from = reshaped(graph, input);
    if (from != nullptr && shape == result && (source == nullptr || *source == graph.type(*from).shape)) {
      source = &graph.type(*from).shape;
      inputs.push_back(*from);
    } else if (shape.empty()) {
      inputs.push_back(input);
    } else {
      return {};
    }
  }
  return source == nullptr || *source == result ? std::vector<ValueId>{} : inputs;
}

}  // namespace

bool sink_reshapes(Graph& graph) {
  bool changed = false;
  const std::vector<NodeId> order = graph.order();
  Builder builder(graph);
  for (NodeId id : order) {
    if (graph.node(id).dead || !is_elementwise_operation(graph.node(id).op)) continue;
    const std::vector<ValueId> inputs = sunk_inputs(graph, graph.node(id));
    if (inputs.empty()) continue;
    const ValueId old = graph.node(id).outputs[0];
    const Shape shape = graph.type(old).shape;
    const Attrs attrs = graph.node(id).attrs;
    const ValueId moved = builder.must(graph.node(id).op, inputs, attrs);
    const ValueId reshape = builder.must(Op::kReshape, {moved}, {{"shape", shape}});
    graph.replace_uses(old, reshape);
    graph.erase(id);
    changed = true;
  }
  if (changed) sort_topologically(graph);
  return changed;
}

}  // namespace tilewright::passes
