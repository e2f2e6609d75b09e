// Rewriting a graph in one walk: values that a pass replaces are noted and swept in at the end, so that a pass over n
// nodes costs O(n), however many values it replaces.
#pragma once

#include "tilewright/graph/builder.h"

namespace tilewright::passes {

class Replacements {
 public:
  explicit Replacements(Graph& graph) : graph_(graph) {}

  void replace(ValueId old_value, ValueId new_value);
  ValueId of(ValueId value) const;  // what stands for `value` now
  void update(Node& node) const;    // the inputs of the node and the captures of its regions
  bool apply();                     // sweeps all nodes and outputs; true if anything was replaced

 private:
  Graph& graph_;
  std::vector<ValueId> target_;  // by value; its own id: not replaced
  bool any_ = false;
};

// Calls `rewrite(Builder&, NodeId)` for each node, in order, whose inputs have been rewritten already. It returns the
// value that replaces the only result of the node, or nothing. A new value takes the name of the one it replaces.
template <typename Rewrite>
bool rewrite_nodes(Graph& graph, Rewrite&& rewrite);

// Producers before users again, if nodes were appended; then the replaced nodes are erased.
// Nodes from `first_new` on were made by the rewrite.
void finish_rewrite(Graph& graph, Replacements& replacements, const std::vector<NodeId>& replaced, NodeId first_new);

template <typename Rewrite>
bool rewrite_nodes(Graph& graph, Rewrite&& rewrite) {
  Builder builder(graph);
  Replacements replacements(graph);
  std::vector<NodeId> replaced;
  const std::size_t count = graph.order().size();
  const auto first_new = static_cast<NodeId>(graph.num_nodes());
  for (std::size_t i = 0; i < count; ++i) {
    const NodeId id = graph.order()[i];
    if (graph.node(id).dead) continue;
    replacements.update(graph.node(id));
    const std::optional<ValueId> result = rewrite(builder, id);
    if (!result) continue;
    replacements.replace(graph.node(id).outputs[0], *result);
    replaced.push_back(id);
  }
  if (replaced.empty()) return false;
  finish_rewrite(graph, replacements, replaced, first_new);
  return true;
}

}  // namespace tilewright::passes
