// Finds composites that an exporter wrote as primitives and puts the composite in their place, so that native kernels
// run: gelu, silu, sigmoid, softmax, layer and rms norm. Only f32 and f64, over the last axis; casts around stay where
// they are.
#include "tilewright/passes/pass.h"
#include "tilewright/passes/recognise.h"
#include "tilewright/passes/replacements.h"

namespace tilewright::passes {
namespace {

constexpr std::optional<Composite> (*kRecognisers[])(const Around&, const Node&) = {
    recognise_gelu, recognise_silu, recognise_sigmoid, recognise_softmax, recognise_norm, recognise_norm_parameter,
};

}  // namespace

bool recognise_composites(Graph& graph) {
  std::vector<std::uint32_t> uses = count_uses(graph);
  const Around around(graph, uses);
  return rewrite_nodes(graph, [&](Builder& builder, NodeId id) -> std::optional<ValueId> {
    const Node& node = graph.node(id);
    if (!is_elementwise(node.op)) return std::nullopt;
    const DType dtype = graph.type(node.outputs[0]).dtype;
    if (dtype != DType::kF32 && dtype != DType::kF64) return std::nullopt;
    for (const auto recognise : kRecognisers) {
      std::optional<Composite> found = recognise(around, graph.node(id));
      if (!found) continue;
      const ValueId old = graph.node(id).outputs[0];
      const ValueId result = builder.must(found->op, std::move(found->inputs), std::move(found->attrs));
      uses.resize(graph.num_values(), 1);
      uses[result] = uses[old];
      return result;
    }
    return std::nullopt;
  });
}

}  // namespace tilewright::passes
