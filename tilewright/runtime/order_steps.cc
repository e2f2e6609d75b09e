// The order of steps before and after stacking: groups of a speculation, views.
#include <algorithm>

#include "tilewright/passes/late_symbols.h"
#include "tilewright/runtime/stack_steps.h"

namespace tilewright::runtime {
namespace {

class Grouper {
 public:
  Grouper(const Graph& graph, const PlanOptions& options)
      : graph_(graph),
        late_(passes::late_dependencies(graph)),
        area_of_(graph.num_nodes(), nullptr),
        position_(graph.num_nodes(), 0),
        added_(graph.num_nodes(), 0) {
    for (std::size_t i = 0; i < graph.order().size(); ++i) position_[graph.order()[i]] = i;
    if (options.speculative == nullptr) return;
    for (const passes::SpeculativeArea& area : *options.speculative) {
      if (area.graph != options.speculated) continue;
      for (NodeId part : area.parts) area_of_[part] = &area;
    }
  }

  std::vector<StepGroup> run() {
    for (NodeId id : graph_.order()) {
      if (graph_.node(id).op != Op::kAssign) add(id);
    }
    return std::move(groups_);
  }

 private:
  void add(NodeId id) {
    if (added_[id] != 0) return;
    StepGroup group{{id}, area_of_[id]};
    if (group.area != nullptr) group.nodes = group.area->parts;
    std::sort(group.nodes.begin(), group.nodes.end(), [&](NodeId a, NodeId b) { return position_[a] < position_[b]; });
    for (NodeId node : group.nodes) added_[node] = 1;
    for (NodeId node : group.nodes) add_needed(node);
    groups_.push_back(std::move(group));
  }

  void add_needed(NodeId id) {
    const auto add_producer = [&](ValueId value) {
      if (const NodeId from = graph_.value(value).producer; from != kNoNode) add(from);
    };
    for (ValueId value : graph_.node(id).inputs) add_producer(value);
    for (const auto& region : graph_.node(id).regions) {
      for (const Graph::Capture& capture : region->captures()) add_producer(capture.outer);
    }
    if (late_.empty()) return;
    for (NodeId binder : late_[id]) add(binder);
  }

  const Graph& graph_;
  const std::vector<std::vector<NodeId>> late_;
  std::vector<const passes::SpeculativeArea*> area_of_;
  std::vector<std::size_t> position_;
  std::vector<char> added_;
  std::vector<StepGroup> groups_;
};

}  // namespace

std::vector<StepGroup> group_steps(const Graph& graph, const PlanOptions& options) {
  return Grouper(graph, options).run();
}

void order_views(Plan& plan) {
  std::vector<std::size_t> view_of(plan.values.size(), SIZE_MAX);
  for (std::size_t i = 0; i < plan.steps.size(); ++i) {
    if (plan.steps[i].kind == StepKind::kView) view_of[plan.steps[i].outputs[0]] = i;
  }
  std::vector<Step> ordered;
  ordered.reserve(plan.steps.size());
  const auto take_views = [&](const auto& self, ValueId value) -> void {
    const std::size_t view = view_of[value];
    if (view == SIZE_MAX) return;
    view_of[value] = SIZE_MAX;
    self(self, plan.steps[view].inputs[0]);
    ordered.push_back(std::move(plan.steps[view]));
  };
  const auto take_rest = [&] {
    for (ValueId value = 0; value < view_of.size(); ++value) take_views(take_views, value);
  };
  for (Step& step : plan.steps) {
    if (step.kind == StepKind::kView) continue;
    if (step.kind == StepKind::kAssign) take_rest();
    for (ValueId value : step.inputs) take_views(take_views, value);
    for (const auto& captures : step.captures) {
      for (ValueId value : captures) take_views(take_views, value);
    }
    ordered.push_back(std::move(step));
  }
  take_rest();
  plan.steps = std::move(ordered);
}

}  // namespace tilewright::runtime
