#include "tilewright/runtime/unread_positions.h"

#include <algorithm>

namespace tilewright::runtime {

void drop_unread_positions(Plan& plan, const Graph& graph) {
  std::vector<std::vector<NodeId>> users;
  for (Step& step : plan.steps) {
    if (step.op != Op::kMaxPool || step.kind != StepKind::kKernel) continue;
    if (users.empty()) users = graph.users();
    const ValueId positions = step.outputs[1];
    const auto& results = graph.outputs();
    if (!users[positions].empty() || std::find(results.begin(), results.end(), positions) != results.end()) continue;
    step.outputs.pop_back();
  }
}

}  // namespace tilewright::runtime
