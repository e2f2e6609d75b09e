#include "tilewright/runtime/plan_storage.h"

#include <algorithm>

namespace tilewright::runtime {
namespace {

// What may lie in the arena: computed values, and the copies that reshapes make. A copy lives as long as its own
// readers.
bool may_be_stored(const Plan& plan, ValueId value) {
  const PlanValue& info = plan.values[value];
  if (info.origin == Origin::kComputed) return true;
  return info.origin == Origin::kView && plan.graph->node(plan.graph->value(value).producer).op == Op::kReshape;
}

// Calls f for the storage that `value` may be part of: itself, what it is a view of, and so on to its root.
template <typename F>
void for_each_storage(const Plan& plan, ValueId value, F&& f) {
  while (true) {
    if (may_be_stored(plan, value)) f(value);
    if (plan.values[value].root == value) return;
    value = plan.graph->node(plan.graph->value(value).producer).inputs[0];
  }
}

}  // namespace

void find_storage_orders(Plan& plan) {
  const auto users = plan.graph->users();
  for (NodeId id : plan.graph->order()) {
    const Node& node = plan.graph->node(id);
    if (node.op != Op::kTranspose) continue;
    const ValueId value = node.inputs[0];
    const Ints& perm = node.attrs.ints("perm");
    const bool is_output =
        std::find(plan.graph->outputs().begin(), plan.graph->outputs().end(), value) != plan.graph->outputs().end();
    if (plan.values[value].origin != Origin::kComputed || users[value].size() != 1 || is_output) continue;
    if (perm.empty() || perm.back() + 1 != static_cast<std::int64_t>(perm.size())) continue;
    plan.values[value].order.assign(perm.begin(), perm.end());
  }
}

void find_releases(Plan& plan) {
  std::vector<std::size_t> last(plan.values.size(), SIZE_MAX);
  const auto touch = [&](ValueId value, std::size_t step) {
    for_each_storage(plan, value, [&](ValueId storage) { last[storage] = step; });
  };
  for (std::size_t i = 0; i < plan.steps.size(); ++i) {
    for (ValueId value : plan.steps[i].inputs) touch(value, i);
    for (ValueId value : plan.steps[i].outputs) touch(value, i);
    for (const auto& captures : plan.steps[i].captures) {
      for (ValueId value : captures) touch(value, i);
    }
  }
  for (const PlanOutput& output : plan.outputs) {
    for_each_storage(plan, output.value, [&](ValueId storage) { last[storage] = SIZE_MAX; });
  }
  for (ValueId id = 0; id < plan.values.size(); ++id) {
    if (last[id] != SIZE_MAX) plan.steps[last[id]].released.push_back(id);
  }
}

}  // namespace tilewright::runtime
