// Replaces composites that no backend lowers natively by their definitions. What stays whole: gelu and silu (strip
// operations), softmax and norms over the last axis in at most 32 bits (row phases), attention in at most 32 bits,
// products of bytes
// and with 4-bit weights.
#include "tilewright/graph/composites/composites.h"
#include "tilewright/passes/pass.h"
#include "tilewright/passes/replacements.h"

namespace tilewright::passes {
namespace {

bool computes_in_f32(DType dtype) {
  return dtype == DType::kF32 || dtype == DType::kF16 || dtype == DType::kBF16;
}

// The kernels read zero points as floats, one for each block.
bool has_packed_zeros(const Graph& graph, const Node& node) {
  return node.inputs.size() > 3 && graph.type(node.inputs[3]).dtype == DType::kU8;
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
    case Op::kIntegerMatMul:
      return true;
    case Op::kBlockMatMul:
      return computes_in_f32(type.dtype) && !has_packed_zeros(graph, node);
    case Op::kAttention:
      return computes_in_f32(type.dtype);
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
    if (graph.node(id).op == Op::kBlockMatMul && computes_in_f32(graph.type(inputs[0]).dtype)) {
      std::vector<ValueId> unpacked = inputs;
      unpacked[3] = float_zeros(builder, inputs, attrs);
      return builder.must(Op::kBlockMatMul, unpacked, attrs);
    }
    return define_composite(builder, graph.node(id).op, inputs, attrs).at(0);
  });
  if (changed) inline_composites(graph);  // definitions may use composites
  return changed;
}

}  // namespace tilewright::passes
