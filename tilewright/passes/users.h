// Users: per value of a graph, the nodes that read it, in order. Two arrays for all of them: graphs have hundreds of
// thousands of values. A picture of the graph as it was: later nodes are not in it.
#pragma once

#include <span>
#include <vector>

#include "tilewright/graph/graph.h"

namespace tilewright::passes {

class Users {
 public:
  explicit Users(const Graph& graph) : begin_(graph.num_values() + 1, 0) {
    each(graph, [&](ValueId value, NodeId) { ++begin_[value + 1]; });
    for (std::size_t i = 0; i + 1 < begin_.size(); ++i) begin_[i + 1] += begin_[i];
    users_.resize(begin_.back());
    std::vector<std::uint32_t> next(begin_.begin(), begin_.end() - 1);
    each(graph, [&](ValueId value, NodeId user) { users_[next[value]++] = user; });
  }

  std::span<const NodeId> operator[](ValueId value) const {
    return {users_.data() + begin_[value], users_.data() + begin_[value + 1]};
  }

 private:
  // Everything that is read, also through captures; what a node reads several times in a row, once.
  static void each(const Graph& graph, const auto& visit) {
    std::vector<NodeId> last(graph.num_values(), kNoNode);
    const auto add = [&](ValueId value, NodeId user) {
      if (last[value] != user) visit(value, user);
      last[value] = user;
    };
    for (const NodeId id : graph.order()) {
      const Node& node = graph.node(id);
      if (node.dead) continue;
      for (const ValueId input : node.inputs) add(input, id);
      for (const auto& region : node.regions) {
        for (const Graph::Capture& capture : region->captures()) add(capture.outer, id);
      }
    }
  }

  std::vector<std::uint32_t> begin_;  // of a value's users; the next value's begin is their end
  std::vector<NodeId> users_;
};

// How often nodes, captures and outputs of the graph read each value: an input that stands twice in a node counts
// twice.
inline std::vector<std::uint32_t> count_uses(const Graph& graph) {
  std::vector<std::uint32_t> uses(graph.num_values(), 0);
  for (NodeId id : graph.order()) {
    for (ValueId input : graph.node(id).inputs) ++uses[input];
    for (const auto& region : graph.node(id).regions) {
      for (const Graph::Capture& capture : region->captures()) ++uses[capture.outer];
    }
  }
  for (ValueId output : graph.outputs()) ++uses[output];
  return uses;
}

}  // namespace tilewright::passes
