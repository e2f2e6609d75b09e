// Storage of a Graph: ids are indices into vectors and stay valid for its whole life. An erased node stays in its slot,
// marked dead and emptied, so that a pass may erase while it walks the order.
#include "tilewright/graph/graph.h"

#include <algorithm>

namespace tilewright {

std::string to_string(const TensorType& type) {
  std::string out = fmt::format("{}[", to_string(type.dtype));
  for (std::size_t axis = 0; axis < type.shape.size(); ++axis) {
    if (axis != 0) out += ", ";
    out += to_string(type.shape[axis]);
  }
  return out + "]";
}

// A copy of a graph knows its names when it first needs another one.
std::string Graph::unique_name(std::string_view wanted) {
  if (names_.empty()) {
    for (const Value& value : values_) {
      if (value.producer == kNoNode || !nodes_[value.producer].dead) names_.emplace(value.name, 1);
    }
  }
  const std::string base(wanted.empty() ? "v" : wanted);
  if (names_.emplace(base, 1).second) return base;
  while (true) {
    std::string candidate = fmt::format("{}_{}", base, names_[base]++);
    if (names_.emplace(candidate, 1).second) return candidate;
  }
}

ValueId Graph::add_value(TensorType type, std::string_view name, NodeId producer) {
  values_.push_back({std::move(type), unique_name(name), producer});
  return static_cast<ValueId>(values_.size() - 1);
}

const std::string& Graph::rename(ValueId value, std::string_view wanted) {
  Value& renamed = values_[value];
  if (renamed.name == wanted) return renamed.name;
  const std::string name = unique_name(wanted);
  names_.erase(renamed.name);
  renamed.name = name;
  return renamed.name;
}

ValueId Graph::add_input(TensorType type, std::string_view name, InputRole role) {
  const ValueId value = add_value(std::move(type), name, kNoNode);
  inputs_.push_back(value);
  roles_.push_back(role);
  return value;
}

ValueId Graph::add_capture(ValueId outer, TensorType type, std::string_view name) {
  const ValueId inner = add_value(std::move(type), name, kNoNode);
  captures_.push_back({inner, outer});
  return inner;
}

void Graph::set_outputs(std::vector<ValueId> outputs, std::vector<std::string> names) {
  TW_CHECK(names.empty() || names.size() == outputs.size(), "one name per output");
  if (names.empty()) {
    for (const ValueId output : outputs) names.push_back(values_[output].name);
  }
  outputs_ = std::move(outputs);
  output_names_ = std::move(names);
}

NodeId Graph::add_node(Op op, std::vector<ValueId> inputs, Attrs attrs, std::vector<TensorType> results,
                       std::vector<std::unique_ptr<Graph>> regions, std::string_view name) {
  return insert_node(kNoNode, op, std::move(inputs), std::move(attrs), std::move(results), std::move(regions), name);
}

NodeId Graph::insert_node(NodeId before, Op op, std::vector<ValueId> inputs, Attrs attrs,
                          std::vector<TensorType> results, std::vector<std::unique_ptr<Graph>> regions,
                          std::string_view name) {
  const auto id = static_cast<NodeId>(nodes_.size());
  if (before == kNoNode) {
    order_.push_back(id);
  } else {
    const auto place = std::find(order_.begin(), order_.end(), before);
    TW_CHECK(place != order_.end(), "the node to stand before is in the order");
    order_.insert(place, id);
  }
  std::vector<ValueId> outputs;
  outputs.reserve(results.size());
  const std::string_view wanted = name.empty() ? info(op).text : name;
  for (TensorType& result : results) outputs.push_back(add_value(std::move(result), wanted, id));
  nodes_.push_back({op, std::move(inputs), std::move(outputs), std::move(attrs), std::move(regions)});
  return id;
}

void Graph::replace_uses(ValueId old_value, ValueId new_value) {
  for (Node& node : nodes_) {
    std::replace(node.inputs.begin(), node.inputs.end(), old_value, new_value);
    for (const std::unique_ptr<Graph>& region : node.regions) {
      for (Capture& capture : region->captures_) {
        if (capture.outer == old_value) capture.outer = new_value;
      }
    }
  }
  std::replace(outputs_.begin(), outputs_.end(), old_value, new_value);
}

void Graph::erase(NodeId id) {
  Node& node = nodes_[id];
  TW_CHECK(!node.dead, "a node is erased once");
  for (const ValueId output : node.outputs) names_.erase(values_[output].name);
  node.dead = true;
  node.inputs.clear();
  node.attrs = {};
  node.regions.clear();
}

void Graph::reorder(std::vector<NodeId> order) {
  std::vector<bool> seen(nodes_.size(), false);
  for (const NodeId id : order) {
    TW_CHECK(id < nodes_.size() && !nodes_[id].dead && !seen[id], "an order lists live nodes, each once");
    seen[id] = true;
  }
  for (NodeId id = 0; id < nodes_.size(); ++id) TW_CHECK(seen[id] || nodes_[id].dead, "an order lists every live node");
  order_ = std::move(order);
}

bool Graph::compact() {
  return std::erase_if(order_, [&](NodeId id) { return nodes_[id].dead; }) != 0;
}

std::vector<std::vector<NodeId>> Graph::users() const {
  std::vector<std::vector<NodeId>> users(values_.size());
  const auto add = [&](ValueId value, NodeId user) {
    if (users[value].empty() || users[value].back() != user) users[value].push_back(user);
  };
  for (const NodeId id : order_) {
    if (nodes_[id].dead) continue;
    for (const ValueId input : nodes_[id].inputs) add(input, id);
    for (const std::unique_ptr<Graph>& region : nodes_[id].regions) {
      for (const Capture& capture : region->captures_) add(capture.outer, id);
    }
  }
  return users;
}

std::unique_ptr<Graph> Graph::clone() const {
  auto copy = std::make_unique<Graph>();
  copy->facts = facts;
  copy->name = name;
  copy->values_ = values_;
  copy->order_ = order_;
  copy->inputs_ = inputs_;
  copy->roles_ = roles_;
  copy->scalar_inputs_ = scalar_inputs_;
  copy->captures_ = captures_;
  copy->outputs_ = outputs_;
  copy->output_names_ = output_names_;
  copy->nodes_.reserve(nodes_.size());
  for (const Node& node : nodes_) {
    std::vector<std::unique_ptr<Graph>> regions;
    regions.reserve(node.regions.size());
    for (const std::unique_ptr<Graph>& region : node.regions) regions.push_back(region->clone());
    copy->nodes_.push_back({node.op, node.inputs, node.outputs, node.attrs, std::move(regions), node.dead});
  }
  return copy;
}

}  // namespace tilewright
