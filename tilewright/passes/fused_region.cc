#include "tilewright/passes/fused_region.h"

#include <algorithm>
#include <utility>

#include "tilewright/passes/pass.h"
#include "tilewright/passes/replacements.h"
#include "tilewright/passes/users.h"

namespace tilewright::passes {
namespace {

bool is_free(Op op) {
  return op == Op::kScalar || op == Op::kIota || op == Op::kExpand;
}

class Outliner {
 public:
  Outliner(Graph& graph, const std::vector<OutlinedArea>& areas, const std::vector<JoinedAreas>& joined)
      : graph_(graph),
        areas_(areas),
        joined_(joined),
        users_(graph),
        area_of_(graph.num_nodes(), -1),
        is_output_(graph.num_values(), 0),
        old_order_(graph.order()),
        replacements_(graph) {
    for (std::size_t i = 0; i < areas.size(); ++i) {
      for (NodeId id : areas[i].nodes) area_of_[id] = static_cast<int>(i);
    }
    for (ValueId output : graph.outputs()) is_output_[output] = 1;
  }

  std::vector<SpeculativeArea> run() {
    std::vector<SpeculativeArea> speculative;
    for (const JoinedAreas& one : joined_) speculative.push_back(join(one));
    std::vector<NodeId> fused;
    for (std::size_t i = 0; i < areas_.size(); ++i) fused.push_back(outline(static_cast<int>(i)));
    for (std::size_t i = 0; i < joined_.size(); ++i) {
      for (std::size_t part : joined_[i].parts) speculative[i].parts.push_back(fused[part]);
      for (ValueId& value : speculative[i].inputs) value = replacements_.of(value);
      for (ValueId& value : speculative[i].outputs) value = replacements_.of(value);
    }
    replacements_.apply();
    for (const OutlinedArea& area : areas_) {
      for (NodeId id : area.nodes) graph_.erase(id);
    }
    erase_unread();
    sort_topologically(graph_);
    return speculative;
  }

 private:
  // Makes region_ and inputs_ of the nodes; returns the values that something outside of them reads.
  std::vector<ValueId> make_region(const std::vector<NodeId>& nodes) {
    region_ = std::make_unique<Graph>();
    region_->facts = graph_.facts;
    inputs_.clear();
    map_.clear();
    std::vector<ValueId> results, outputs;
    for (NodeId id : nodes) copy(id);
    for (NodeId id : nodes) {
      for (ValueId value : graph_.node(id).outputs) {
        if (!leaves(value)) continue;
        results.push_back(value);
        outputs.push_back(map_.at(value));
      }
    }
    region_->set_outputs(std::move(outputs));
    return results;
  }

  // The parts count as one area while the region is made.
  SpeculativeArea join(const JoinedAreas& joined) {
    std::vector<int> before;
    area_ = static_cast<int>(areas_.size());
    for (NodeId id : joined.whole.nodes) before.push_back(std::exchange(area_of_[id], area_));
    SpeculativeArea out{.graph = &graph_, .kind = std::string(to_string(joined.whole.kind)), .equal = joined.equal};
    out.outputs = make_region(joined.whole.nodes);
    out.inputs = inputs_;
    out.region = std::move(region_);
    for (std::size_t i = 0; i < before.size(); ++i) area_of_[joined.whole.nodes[i]] = before[i];
    return out;
  }

  NodeId outline(int area) {
    area_ = area;
    const OutlinedArea& outlined = areas_[static_cast<std::size_t>(area)];
    const std::vector<ValueId> results = make_region(outlined.nodes);
    std::vector<TensorType> types;
    for (ValueId value : results) types.push_back(graph_.type(value));
    std::vector<std::unique_ptr<Graph>> regions;
    regions.push_back(std::move(region_));
    const std::string name = results.empty() ? "area" : graph_.value(results[0]).name;
    const NodeId fused = graph_.add_node(Op::kFused, inputs_, {{"kind", std::string(to_string(outlined.kind))}},
                                         std::move(types), std::move(regions), name);
    for (std::size_t i = 0; i < results.size(); ++i) replacements_.replace(results[i], graph_.node(fused).outputs[i]);
    return fused;
  }

  ValueId outside(ValueId value) {
    const ValueId input = region_->add_input(graph_.type(value), graph_.value(value).name);
    inputs_.push_back(value);
    return input;
  }

  ValueId use(ValueId value) {
    if (const auto found = map_.find(value); found != map_.end()) return found->second;
    const NodeId producer = graph_.value(value).producer;
    if (producer != kNoNode && is_free(graph_.node(producer).op)) {
      copy(producer);
      return map_.at(value);
    }
    return map_[value] = use_operand(value);
  }

  // A matmul reads its operands as tensors in memory, never as expressions.
  ValueId use_operand(ValueId value) {
    const auto found = std::find(inputs_.begin(), inputs_.end(), value);
    if (found == inputs_.end()) return outside(value);
    return region_->inputs()[static_cast<std::size_t>(found - inputs_.begin())];
  }

  void copy(NodeId id) {
    const Node& node = graph_.node(id);
    std::vector<ValueId> inputs;
    for (ValueId input : node.inputs) inputs.push_back(is_product(node.op) ? use_operand(input) : use(input));
    std::vector<TensorType> types;
    for (ValueId output : node.outputs) types.push_back(graph_.type(output));
    const NodeId copied = region_->add_node(node.op, std::move(inputs), node.attrs, std::move(types), {},
                                            graph_.value(node.outputs[0]).name);
    for (std::size_t i = 0; i < node.outputs.size(); ++i) map_[node.outputs[i]] = region_->node(copied).outputs[i];
  }

  // Whether something outside of the area that is outlined reads the value. An expand is copied into every area.
  bool leaves(ValueId value) const {
    if (is_output_[value] != 0) return true;
    return std::any_of(users_[value].begin(), users_[value].end(), [&](NodeId user) {
      if (area_of_[user] == area_) return false;
      return graph_.node(user).op != Op::kExpand || leaves(graph_.node(user).outputs[0]);
    });
  }

  // Free nodes of which every reader has a copy.
  void erase_unread() {
    std::vector<std::uint32_t> uses(graph_.num_values(), 0);
    for (NodeId id : graph_.order()) {
      const Node& node = graph_.node(id);
      for (ValueId input : node.inputs) ++uses[input];
      for (const auto& region : node.regions) {
        for (const Graph::Capture& capture : region->captures()) ++uses[capture.outer];
      }
    }
    for (ValueId output : graph_.outputs()) ++uses[output];
    for (auto it = old_order_.rbegin(); it != old_order_.rend(); ++it) {
      const Node& node = graph_.node(*it);
      if (node.dead || !is_free(node.op) || uses[node.outputs[0]] != 0) continue;
      for (ValueId input : node.inputs) --uses[input];
      graph_.erase(*it);
    }
  }

  Graph& graph_;
  const std::vector<OutlinedArea>& areas_;
  const std::vector<JoinedAreas>& joined_;
  const Users users_;
  std::vector<int> area_of_;
  std::vector<char> is_output_;
  const std::vector<NodeId> old_order_;
  Replacements replacements_;
  int area_ = 0;  // that is outlined
  std::unique_ptr<Graph> region_;
  std::vector<ValueId> inputs_;
  std::unordered_map<ValueId, ValueId> map_;
};

}  // namespace

std::vector<SpeculativeArea> outline_areas(Graph& graph, const std::vector<OutlinedArea>& areas,
                                           const std::vector<JoinedAreas>& joined) {
  return Outliner(graph, areas, joined).run();
}

bool outline_sources(Graph& graph) {
  std::vector<OutlinedArea> sources;
  for (NodeId id : graph.order()) {
    const Op op = graph.node(id).op;
    if (op == Op::kScalar || op == Op::kIota) sources.push_back({{id}, AreaKind::kMap});
  }
  if (sources.empty()) return false;
  outline_areas(graph, sources);
  return true;
}

}  // namespace tilewright::passes
