// A graph that comes with fused areas says what they compute, not that one kernel can: areas that this optimiser did
// not make are calls, whose regions it fuses itself.
#include "tilewright/passes/pass.h"

namespace tilewright::passes {

bool open_areas(Graph& graph) {
  bool changed = false;
  for (const NodeId id : graph.order()) {
    Node& node = graph.node(id);
    for (const auto& region : node.regions) changed |= open_areas(*region);
    if (node.op != Op::kFused) continue;
    node.op = Op::kCall;
    node.attrs = {};
    changed = true;
  }
  return changed;
}

}  // namespace tilewright::passes
