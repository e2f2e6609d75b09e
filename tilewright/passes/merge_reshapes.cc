// Merges a reshape of a reshape into one, and removes it when the shape stays:
//   reshape(reshape(x, s), t)  ->  reshape(x, t)  ->  x   if x has the shape t
// An expand of an expand is the outer one.
#include "tilewright/passes/pass.h"
#include "tilewright/passes/pattern.h"
#include "tilewright/passes/replacements.h"

namespace tilewright::passes {

bool merge_reshapes(Graph& graph) {
  return rewrite_nodes(graph, [&](Builder& builder, NodeId id) -> std::optional<ValueId> {
    const Op op = graph.node(id).op;
    if (op != Op::kReshape && op != Op::kExpand) return std::nullopt;
    const Shape shape = graph.type(graph.node(id).outputs[0]).shape;
    ValueId x = graph.node(id).inputs[0];
    bool merged = false;
    while (const Node* inner = made_by(graph, x, op)) {
      x = inner->inputs[0];
      merged = true;
    }
    if (same_shape(graph.type(x).shape, shape, graph.facts)) return x;
    if (!merged) return std::nullopt;
    return builder.must(op, {x}, {{"shape", shape}});
  });
}

}  // namespace tilewright::passes
