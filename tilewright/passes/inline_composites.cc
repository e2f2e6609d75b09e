// Replaces composites that no backend lowers natively by their definitions. What stays whole: gelu and silu (strip
// operations), softmax and norms over the last axis in at most 32 bits (row phases), attention in f32.
#include "tilewright/graph/composites/composites.h"
#include "tilewright/passes/pass.h"
#include "tilewright/passes/replacements.h"

namespace tilewright::passes {
namespace {

bool computes_in_f32(DType dtype) {
  return dtype == DType::kF32 || dtype == DType::kF16 || dtype == DType::kBF16;
}

bool stays_whole(const Graph& graph, const Node& node) {
  const TensorType& type = graph.type(node.inputs[0]);
  const auto rank = static_cast<std::int64_t>(type.shape.size());
  switch (node.op) {
    case Op::kGelu:
    case Op::kSilu:
      return true;
    case Op::kSoftmax:
    case Op::kLogSoftmax:
      return computes_in_f32(type.dtype) && rank > 0 && node.attrs.integer("axis") == rank - 1;
    case Op::kLayerNorm:
    case Op::kRmsNorm:
      return computes_in_f32(type.dtype) && node.attrs.integer("num_axes") == 1;
    case Op::kAttention:
      return type.dtype == DType::kF32;
    default:
      return false;
  }
}

}  // namespace

bool inline_composites(Graph& graph) {
  const bool changed = rewrite_nodes(graph, [&](Builder& builder, NodeId id) -> std::optional<ValueId> {
    if (!is_composite(graph.node(id).op) || stays_whole(graph, graph.node(id))) return std::nullopt;
    const std::vector<ValueId> inputs = graph.node(id).inputs;
    const Attrs attrs = graph.node(id).attrs;
    return define_composite(builder, graph.node(id).op, inputs, attrs).at(0);
  });
  if (changed) inline_composites(graph);  // definitions may use composites
  return changed;
}

}  // namespace tilewright::passes
