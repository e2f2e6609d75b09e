#include "tilewright/passes/pass.h"

namespace tilewright::passes {

void sort_topologically(Graph& graph) {
  graph.compact();
  std::vector<NodeId> order;
  std::vector<char> state(graph.num_nodes(), 0);
  std::vector<std::pair<NodeId, std::size_t>> stack;
  std::vector<std::vector<ValueId>> reads(graph.num_nodes());
  for (NodeId id : graph.order()) {
    reads[id] = graph.node(id).inputs;
    for (const auto& region : graph.node(id).regions) {
      for (const Graph::Capture& capture : region->captures()) reads[id].push_back(capture.outer);
    }
  }
  for (NodeId root : graph.order()) {
    if (state[root] != 0) continue;
    stack.emplace_back(root, 0);
    state[root] = 1;
    while (!stack.empty()) {
      auto& [node, next] = stack.back();
      if (next == reads[node].size()) {
        order.push_back(node);
        stack.pop_back();
        continue;
      }
      const NodeId producer = graph.value(reads[node][next++]).producer;
      if (producer == kNoNode || state[producer] != 0) continue;
      state[producer] = 1;
      stack.emplace_back(producer, 0);
    }
  }
  graph.reorder(std::move(order));
}

}  // namespace tilewright::passes
