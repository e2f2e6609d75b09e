// What depends on weights and constants alone is computed once, not in every call: it moves into one `call` at the
// beginning, which the runtime runs when a weight has changed and whose results it keeps (runtime/prepared.h).
//   matmul(x, mul(cast(w), s))  ->  p = call(w, s) { mul(cast(w), s) }  matmul(x, p)
// Out of regions too: what a branch or the body of a loop computes from weights stands in front of it, and a view of a
// weight that a region reads is a copy, so that the region has a weight of its own to pack. Of the outermost graph.
#include <algorithm>
#include <unordered_map>

#include "tilewright/passes/fixed_values.h"
#include "tilewright/passes/pass.h"
#include "tilewright/passes/replacements.h"

namespace tilewright::passes {
namespace {

using Copies = std::unordered_map<ValueId, ValueId>;  // values of one graph in another

// By value: whether one of `values` is computed from it.
std::vector<char> cone(const Graph& graph, const std::vector<ValueId>& values) {
  std::vector<char> needed(graph.num_values(), 0);
  for (const ValueId value : values) needed[value] = 1;
  for (auto it = graph.order().rbegin(); it != graph.order().rend(); ++it) {
    const Node& node = graph.node(*it);
    bool is_needed = false;
    for (const ValueId output : node.outputs) is_needed = is_needed || needed[output] != 0;
    if (!is_needed) continue;
    for (const ValueId input : node.inputs) needed[input] = 1;
  }
  return needed;
}

// Appends the nodes that give what is needed; `copies` has the inputs and captures.
void copy_nodes(const Graph& from, const std::vector<char>& needed, Graph& to, Copies& copies) {
  for (const NodeId id : from.order()) {
    const Node& node = from.node(id);
    if (node.outputs.empty() || needed[node.outputs[0]] == 0) continue;
    std::vector<ValueId> inputs;
    for (const ValueId input : node.inputs) inputs.push_back(copies.at(input));
    std::vector<TensorType> types;
    for (const ValueId output : node.outputs) types.push_back(from.type(output));
    const NodeId copy = to.add_node(node.op, inputs, node.attrs, types, {}, from.value(node.outputs[0]).name);
    for (std::size_t i = 0; i < node.outputs.size(); ++i) copies[node.outputs[i]] = to.node(copy).outputs[i];
  }
}

void drop_unused_captures(Graph& region) {
  const auto users = region.users();
  std::erase_if(region.captures(), [&](const Graph::Capture& capture) {
    const bool returned = std::ranges::find(region.outputs(), capture.inner) != region.outputs().end();
    return users[capture.inner].empty() && !returned;
  });
}

// Fixed values that the region computes are computed in the graph around it.
bool hoist(Graph& outer, FixedValues& outer_fixed, Graph& region) {
  FixedValues fixed(region, outer_fixed);
  bool changed = false;
  for (std::size_t i = 0, count = region.order().size(); i < count; ++i) {
    const NodeId id = region.order()[i];
    if (region.node(id).op == Op::kFused) continue;
    for (std::size_t r = 0; r < region.node(id).regions.size(); ++r)
      changed = hoist(region, fixed, *region.node(id).regions[r]) || changed;
  }
  if (changed) sort_topologically(region);
  const std::vector<ValueId> kept = fixed.worth_keeping();
  if (kept.empty()) return changed;
  const std::vector<char> needed = cone(region, kept);
  Copies copies;
  for (const Graph::Capture& capture : region.captures()) copies.emplace(capture.inner, capture.outer);
  copy_nodes(region, needed, outer, copies);
  for (ValueId id = 0; id < region.num_values(); ++id) {
    if (const auto copy = copies.find(id); copy != copies.end()) outer_fixed.add(copy->second);
  }
  Replacements replacements(region);
  for (const ValueId value : kept) {
    const TensorType type = region.type(value);
    replacements.replace(value, region.add_capture(copies.at(value), type, region.value(value).name));
  }
  replacements.apply();
  remove_dead_nodes(region);
  drop_unused_captures(region);
  return true;
}

// Moves what is behind the values into one call.
void extract(Graph& graph, const std::vector<ValueId>& kept) {
  const std::vector<char> needed = cone(graph, kept);
  auto region = std::make_unique<Graph>();
  Copies copies;
  std::vector<ValueId> inputs, results;
  for (const ValueId input : graph.inputs()) {
    if (needed[input] == 0) continue;
    copies[input] = region->add_input(graph.type(input), graph.value(input).name);
    inputs.push_back(input);
  }
  copy_nodes(graph, needed, *region, copies);
  std::vector<TensorType> types;
  for (const ValueId value : kept) {
    results.push_back(copies.at(value));
    types.push_back(graph.type(value));
  }
  region->set_outputs(std::move(results));
  std::vector<std::unique_ptr<Graph>> regions;
  regions.push_back(std::move(region));
  const NodeId call =
      graph.insert_node(graph.order().front(), Op::kCall, std::move(inputs), {}, types, std::move(regions), "prepared");
  Replacements replacements(graph);
  for (std::size_t i = 0; i < kept.size(); ++i) replacements.replace(kept[i], graph.node(call).outputs[i]);
  replacements.apply();
  remove_dead_nodes(graph);
  for (std::size_t i = 0; i < kept.size(); ++i) {  // the names are free again
    const std::string name = graph.value(kept[i]).name;
    graph.rename(graph.node(call).outputs[i], name);
  }
}

}  // namespace

bool prepare_weights(Graph& graph) {
  FixedValues fixed(graph);
  bool hoisted = false;
  for (std::size_t i = 0, count = graph.order().size(); i < count; ++i) {
    const NodeId id = graph.order()[i];
    if (graph.node(id).op == Op::kFused) continue;
    for (std::size_t r = 0; r < graph.node(id).regions.size(); ++r)
      hoisted = hoist(graph, fixed, *graph.node(id).regions[r]) || hoisted;
  }
  if (hoisted) sort_topologically(graph);
  const std::vector<ValueId> kept = hoisted ? FixedValues(graph).worth_keeping() : fixed.worth_keeping();
  if (kept.empty()) return hoisted;
  extract(graph, kept);
  return true;
}

}  // namespace tilewright::passes
