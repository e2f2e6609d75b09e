// Erases nodes without effect whose results nobody reads.
#include "tilewright/passes/late_symbols.h"
#include "tilewright/passes/pass.h"

namespace tilewright::passes {
namespace {

bool has_effect(const Node& node) {
  if (info(node.op).op_class == OpClass::kEffect || node.op == Op::kItem) return true;
  for (const auto& region : node.regions) {
    for (NodeId id : region->order()) {
      if (has_effect(region->node(id))) return true;
    }
  }
  return false;
}

std::vector<NodeId> unread_nodes(const Graph& graph) {
  std::vector<char> live(graph.num_values(), 0);
  for (ValueId output : graph.outputs()) live[output] = 1;
  std::vector<char> binds(graph.num_nodes(), 0);  // a symbol that a live node uses
  const std::vector<std::vector<NodeId>> late = late_dependencies(graph);
  std::vector<NodeId> dead;
  for (auto it = graph.order().rbegin(); it != graph.order().rend(); ++it) {
    const Node& node = graph.node(*it);
    if (node.dead) continue;
    bool needed = has_effect(node) || info(node.op).op_class == OpClass::kLate || binds[*it] != 0;
    for (ValueId output : node.outputs) needed = needed || live[output] != 0;
    if (!needed) {
      dead.push_back(*it);
      continue;
    }
    if (!late.empty()) {
      for (NodeId binder : late[*it]) binds[binder] = 1;
    }
    for (ValueId input : node.inputs) live[input] = 1;
    for (const auto& region : node.regions) {
      for (const Graph::Capture& capture : region->captures()) live[capture.outer] = 1;
    }
  }
  return dead;
}

}  // namespace

bool has_unread_nodes(const Graph& graph) {
  return !unread_nodes(graph).empty();
}

bool remove_dead_nodes(Graph& graph) {
  graph.compact();
  const std::vector<NodeId> dead = unread_nodes(graph);
  for (NodeId id : dead) graph.erase(id);
  if (!dead.empty()) graph.compact();
  return !dead.empty();
}

}  // namespace tilewright::passes
