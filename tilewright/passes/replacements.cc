#include "tilewright/passes/replacements.h"

#include "tilewright/passes/pass.h"

namespace tilewright::passes {

void Replacements::replace(ValueId old_value, ValueId new_value) {
  for (auto id = static_cast<ValueId>(target_.size()); id < graph_.num_values(); ++id) target_.push_back(id);
  target_[old_value] = of(new_value);
  any_ = true;
}

ValueId Replacements::of(ValueId value) const {
  while (value < target_.size() && target_[value] != value) value = target_[value];
  return value;
}

void Replacements::update(Node& node) const {
  if (!any_) return;
  for (ValueId& input : node.inputs) input = of(input);
  for (const auto& region : node.regions) {
    for (Graph::Capture& capture : region->captures()) capture.outer = of(capture.outer);
  }
}

bool Replacements::apply() {
  if (!any_) return false;
  for (NodeId id : graph_.order()) update(graph_.node(id));
  std::vector<ValueId> outputs = graph_.outputs();
  for (ValueId& output : outputs) output = of(output);
  graph_.set_outputs(std::move(outputs), graph_.output_names());
  return true;
}

void finish_rewrite(Graph& graph, Replacements& replacements, const std::vector<NodeId>& replaced, NodeId first_new) {
  replacements.apply();
  for (NodeId id : replaced) {
    const ValueId now = replacements.of(graph.node(id).outputs[0]);
    const std::string name = graph.value(graph.node(id).outputs[0]).name;
    graph.erase(id);
    const NodeId producer = graph.value(now).producer;
    if (producer == kNoNode || producer < first_new) continue;
    if (graph.value(now).name.starts_with(info(graph.node(producer).op).text)) graph.rename(now, name);
  }
  sort_topologically(graph);
}

}  // namespace tilewright::passes
