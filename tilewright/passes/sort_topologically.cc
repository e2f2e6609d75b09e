// Depth first from the nodes in their old order, so that what is in order already stays. A node that uses a late symbol
// comes after the node that binds it.
#include "tilewright/passes/late_symbols.h"
#include "tilewright/passes/pass.h"

namespace tilewright::passes {
namespace {

std::vector<std::vector<NodeId>> producers(const Graph& graph) {
  std::vector<std::vector<NodeId>> found = late_dependencies(graph);
  found.resize(graph.num_nodes());
  for (NodeId id : graph.order()) {
    const auto add = [&](ValueId value) {
      const NodeId producer = graph.value(value).producer;
      if (producer != kNoNode) found[id].push_back(producer);
    };
    for (ValueId input : graph.node(id).inputs) add(input);
    for (const auto& region : graph.node(id).regions) {
      for (const Graph::Capture& capture : region->captures()) add(capture.outer);
    }
  }
  return found;
}

}  // namespace

void sort_topologically(Graph& graph) {
  graph.compact();
  const std::vector<std::vector<NodeId>> before = producers(graph);
  std::vector<NodeId> order;
  std::vector<char> seen(graph.num_nodes(), 0);
  std::vector<std::pair<NodeId, std::size_t>> stack;
  const auto enter = [&](NodeId id) {
    if (seen[id] != 0) return;
    seen[id] = 1;
    stack.emplace_back(id, 0);
  };
  for (NodeId root : graph.order()) {
    enter(root);
    while (!stack.empty()) {
      auto& [node, next] = stack.back();
      if (next < before[node].size()) {
        enter(before[node][next++]);
        continue;
      }
      order.push_back(node);
      stack.pop_back();
    }
  }
  graph.reorder(std::move(order));
}

}  // namespace tilewright::passes
