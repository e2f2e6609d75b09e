// Merges a transpose of a transpose into one, and removes it when nothing moves:
//   transpose(transpose(x, p), q)  ->  transpose(x, p[q])  ->  x   if p[q] keeps every axis in place
// A transpose that moves only axes of size 1 is a reshape, which is a view of contiguous memory.
#include <algorithm>

#include "tilewright/passes/pass.h"
#include "tilewright/passes/pattern.h"
#include "tilewright/passes/replacements.h"

namespace tilewright::passes {
namespace {

bool moves_only_units(const Shape& shape, const Ints& perm, const Facts& facts) {
  std::int64_t last = -1;
  for (std::int64_t axis : perm) {
    if (facts.is_one(shape[static_cast<std::size_t>(axis)]) == Answer::kYes) continue;
    if (axis < last) return false;
    last = axis;
  }
  return true;
}

}  // namespace

bool merge_transposes(Graph& graph) {
  return rewrite_nodes(graph, [&](Builder& builder, NodeId id) -> std::optional<ValueId> {
    if (graph.node(id).op != Op::kTranspose) return std::nullopt;
    Ints perm = graph.node(id).attrs.ints("perm");
    ValueId x = graph.node(id).inputs[0];
    bool merged = false;
    while (const Node* inner = made_by(graph, x, Op::kTranspose)) {
      for (std::int64_t& axis : perm) axis = inner->attrs.ints("perm")[static_cast<std::size_t>(axis)];
      x = inner->inputs[0];
      merged = true;
    }
    if (std::is_sorted(perm.begin(), perm.end())) return x;
    if (moves_only_units(graph.type(x).shape, perm, graph.facts)) {
      const Shape shape = graph.type(graph.node(id).outputs[0]).shape;
      return builder.must(Op::kReshape, {x}, {{"shape", shape}});
    }
    if (!merged) return std::nullopt;
    return builder.must(Op::kTranspose, {x}, {{"perm", perm}});
  });
}

}  // namespace tilewright::passes
