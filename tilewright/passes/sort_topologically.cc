// Depth first from the nodes in their old order, so that what is in order already stays. A node that uses a late symbol
// comes after the node that binds it.
#include <algorithm>

#include "tilewright/passes/late_symbols.h"
#include "tilewright/passes/pass.h"

namespace tilewright::passes {
namespace {

class Sorter {
 public:
  explicit Sorter(Graph& graph) : graph_(graph), late_(late_dependencies(graph)), seen_(graph.num_nodes(), 0) {}

  bool is_sorted() {
    for (NodeId id : graph_.order()) {
      for (std::size_t i = 0; i < num_producers(id); ++i) {
        const NodeId before = producer(id, i);
        if (before != kNoNode && seen_[before] == 0) return false;
      }
      seen_[id] = 1;
    }
    return true;
  }

  std::vector<NodeId> sorted() {
    std::vector<NodeId> order;
    std::vector<std::pair<NodeId, std::size_t>> stack;
    std::fill(seen_.begin(), seen_.end(), 0);
    const auto enter = [&](NodeId id) {
      if (id == kNoNode || seen_[id] != 0) return;
      seen_[id] = 1;
      stack.emplace_back(id, 0);
    };
    for (NodeId root : graph_.order()) {
      enter(root);
      while (!stack.empty()) {
        auto& [node, next] = stack.back();
        if (next < num_producers(node)) {
          enter(producer(node, next++));
          continue;
        }
        order.push_back(node);
        stack.pop_back();
      }
    }
    return order;
  }

 private:
  std::size_t num_late(NodeId id) const { return late_.empty() ? 0 : late_[id].size(); }

  std::size_t num_producers(NodeId id) const {
    std::size_t count = num_late(id) + graph_.node(id).inputs.size();
    for (const auto& region : graph_.node(id).regions) count += region->captures().size();
    return count;
  }

  // Of what is bound late, then of inputs, then of captures; kNoNode: an input of the graph.
  NodeId producer(NodeId id, std::size_t i) const {
    if (i < num_late(id)) return late_[id][i];
    i -= num_late(id);
    const Node& node = graph_.node(id);
    if (i < node.inputs.size()) return graph_.value(node.inputs[i]).producer;
    i -= node.inputs.size();
    for (const auto& region : node.regions) {
      if (i < region->captures().size()) return graph_.value(region->captures()[i].outer).producer;
      i -= region->captures().size();
    }
    return kNoNode;
  }

  const Graph& graph_;
  const std::vector<std::vector<NodeId>> late_;  // by node; empty: none
  std::vector<char> seen_;
};

}  // namespace

void sort_topologically(Graph& graph) {
  graph.compact();
  Sorter sorter(graph);
  if (!sorter.is_sorted()) graph.reorder(sorter.sorted());
}

}  // namespace tilewright::passes
