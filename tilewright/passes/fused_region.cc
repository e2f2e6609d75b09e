#include "tilewright/passes/fused_region.h"

#include <algorithm>

#include "tilewright/passes/pass.h"

namespace tilewright::passes {
namespace {

class Outliner {
 public:
  Outliner(Graph& graph, const std::vector<NodeId>& nodes)
      : graph_(graph), nodes_(nodes), region_(std::make_unique<Graph>()), inside_(graph.num_nodes(), 0) {
    for (NodeId id : nodes) inside_[id] = 1;
    region_->facts = graph.facts;
  }

  void run(AreaKind kind) {
    for (NodeId id : nodes_) copy(id);
    const std::vector<ValueId> results = outside_values();
    std::vector<ValueId> outputs;
    std::vector<TensorType> types;
    for (ValueId value : results) {
      outputs.push_back(map_.at(value));
      types.push_back(graph_.type(value));
    }
    region_->set_outputs(outputs);
    std::vector<std::unique_ptr<Graph>> regions;
    regions.push_back(std::move(region_));
    const std::string name = results.empty() ? "area" : graph_.value(results[0]).name;
    const NodeId fused = graph_.add_node(Op::kFused, inputs_, {{"kind", std::string(to_string(kind))}}, types,
                                         std::move(regions), name);
    for (std::size_t i = 0; i < results.size(); ++i) graph_.replace_uses(results[i], graph_.node(fused).outputs[i]);
    for (NodeId id : nodes_) graph_.erase(id);
  }

 private:
  // `in_memory`: the reader wants memory, so that a value is not copied into the region as the operations that make it.
  ValueId use(ValueId value, bool in_memory) {
    auto& known = in_memory ? memory_ : map_;
    if (const auto found = known.find(value); found != known.end()) return found->second;
    const NodeId producer = graph_.value(value).producer;
    if (!in_memory && producer != kNoNode && inside_[producer] == 0) {
      const Op op = graph_.node(producer).op;
      if (op == Op::kScalar || op == Op::kIota || op == Op::kExpand) {
        copy(producer);
        return map_.at(value);
      }
    }
    const ValueId input = region_->add_input(graph_.type(value), graph_.value(value).name);
    inputs_.push_back(value);
    memory_[value] = input;
    map_.try_emplace(value, input);
    return input;
  }

  void copy(NodeId id) {
    const Node& node = graph_.node(id);
    std::vector<ValueId> inputs;
    for (ValueId input : node.inputs) inputs.push_back(use(input, node.op == Op::kMatMul));
    std::vector<TensorType> types;
    for (ValueId output : node.outputs) types.push_back(graph_.type(output));
    const NodeId copied = region_->add_node(node.op, inputs, node.attrs, types, {}, graph_.value(node.outputs[0]).name);
    for (std::size_t i = 0; i < node.outputs.size(); ++i) map_[node.outputs[i]] = region_->node(copied).outputs[i];
  }

  // Values of the area that something outside reads, in the order of their nodes.
  std::vector<ValueId> outside_values() const {
    std::vector<char> needed(graph_.num_values(), 0);
    for (ValueId output : graph_.outputs()) needed[output] = 1;
    for (NodeId id : graph_.order()) {
      const Node& node = graph_.node(id);
      if (node.dead || inside(id) || is_copied_by_all(id)) continue;
      for (ValueId input : node.inputs) needed[input] = 1;
      for (const auto& region : node.regions) {
        for (const Graph::Capture& capture : region->captures()) needed[capture.outer] = 1;
      }
    }
    std::vector<ValueId> found;
    for (NodeId id : nodes_) {
      for (ValueId output : graph_.node(id).outputs) {
        if (needed[output] != 0) found.push_back(output);
      }
    }
    return found;
  }

  // An expand whose readers are all areas: each has, or will have, a copy of its own.
  bool is_copied_by_all(NodeId id) const {
    if (graph_.node(id).op != Op::kExpand) return false;
    const ValueId result = graph_.node(id).outputs[0];
    if (std::find(graph_.outputs().begin(), graph_.outputs().end(), result) != graph_.outputs().end()) return false;
    for (NodeId reader : graph_.order()) {
      const Node& node = graph_.node(reader);
      if (node.dead) continue;
      for (const auto& region : node.regions) {
        for (const Graph::Capture& capture : region->captures()) {
          if (capture.outer == result) return false;
        }
      }
      if (std::find(node.inputs.begin(), node.inputs.end(), result) == node.inputs.end()) continue;
      const AreaKind kind = classify(graph_, node).kind;
      const bool copies = node.op == Op::kExpand ? is_copied_by_all(reader) : kind != AreaKind::kNone && kind != AreaKind::kMatMul;
      if (!copies) return false;
    }
    return true;
  }

  bool inside(NodeId id) const { return id < inside_.size() && inside_[id] != 0; }

  Graph& graph_;
  const std::vector<NodeId>& nodes_;
  std::unique_ptr<Graph> region_;
  std::vector<char> inside_;
  std::vector<ValueId> inputs_;
  std::unordered_map<ValueId, ValueId> map_;     // value of the graph -> value of the region
  std::unordered_map<ValueId, ValueId> memory_;  // the same, inputs only
};

}  // namespace

void outline_area(Graph& graph, const std::vector<NodeId>& nodes, AreaKind kind) { Outliner(graph, nodes).run(kind); }

bool outline_sources(Graph& graph) {
  sort_topologically(graph);
  remove_dead_nodes(graph);
  std::vector<NodeId> sources;
  for (NodeId id : graph.order()) {
    if (graph.node(id).op == Op::kScalar || graph.node(id).op == Op::kIota) sources.push_back(id);
  }
  for (NodeId id : sources) outline_area(graph, {id}, AreaKind::kMap);
  return !sources.empty();
}

}  // namespace tilewright::passes
