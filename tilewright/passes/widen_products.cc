// A product of values that were widened for it reads them as they are, for kernels of narrow elements:
//   matmul(cast(a) f32, cast(b) f32)  ->  matmul(a, b) wide     of bf16 or f16 both: their products are exact in f32
#include "tilewright/passes/pass.h"
#include "tilewright/passes/pattern.h"
#include "tilewright/passes/replacements.h"

namespace tilewright::passes {
namespace {

// What was cast to f32; kF32 itself where nothing was.
ValueId source_of(const Graph& graph, ValueId value) {
  const Node* cast = made_by(graph, value, Op::kCast);
  return cast == nullptr ? value : cast->inputs[0];
}

}  // namespace

bool widen_products(Graph& graph) {
  return rewrite_nodes(graph, [&](Builder& builder, NodeId id) -> std::optional<ValueId> {
    const Node& node = graph.node(id);
    if (node.op != Op::kMatMul || graph.type(node.outputs[0]).dtype != DType::kF32) return std::nullopt;
    const ValueId a = source_of(graph, node.inputs[0]), b = source_of(graph, node.inputs[1]);
    const DType dtype = graph.type(a).dtype;
    const bool half = dtype == DType::kF16 || dtype == DType::kBF16;
    if (!half || graph.type(b).dtype != dtype || a == node.inputs[0] || b == node.inputs[1]) return std::nullopt;
    return builder.must(Op::kMatMul, {a, b}, {{"wide", true}});
  });
}

}  // namespace tilewright::passes
