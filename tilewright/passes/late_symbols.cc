#include "tilewright/passes/late_symbols.h"

#include <algorithm>
#include <unordered_set>

#include "tilewright/graph/bound_symbols.h"

namespace tilewright::passes {
namespace {

using Binders = std::unordered_map<Dim, NodeId>;

void each_dim(const AttrValue& value, auto&& visit_dim) {
  if (const auto* dim = std::get_if<Dim>(&value)) visit_dim(*dim);
  if (const auto* dims = std::get_if<Dims>(&value)) {
    for (Dim dim : *dims) visit_dim(dim);
  }
}

Binders find_binders(const Graph& graph) {
  Binders binders;
  std::unordered_set<Dim> known(graph.scalar_inputs().begin(), graph.scalar_inputs().end());
  const auto know = [&](ValueId value) {
    known.insert(graph.type(value).shape.begin(), graph.type(value).shape.end());
  };
  for (ValueId input : graph.inputs()) know(input);
  for (const Graph::Capture& capture : graph.captures()) know(capture.inner);
  for (NodeId id : graph.order()) {
    const Node& node = graph.node(id);
    if (node.dead) continue;
    for (const Dim symbol : bound_symbols(graph, node)) {
      if (!known.contains(symbol)) binders.emplace(symbol, id);
    }
  }
  return binders;
}

void collect_users(const Graph& graph, const Node& node, const Binders& binders, std::vector<Dim>& symbols) {
  const auto collect = [&](Dim dim) { collect_symbols(dim, symbols); };
  for (const Attrs::Entry& entry : node.attrs.entries()) each_dim(entry.value, collect);
  for (ValueId output : node.outputs) {
    for (Dim dim : graph.type(output).shape) collect(dim);
  }
  for (const auto& region : node.regions) {
    for (NodeId id : region->order()) collect_users(*region, region->node(id), binders, symbols);
  }
}

}  // namespace

std::vector<std::vector<NodeId>> late_dependencies(const Graph& graph) {
  const Binders binders = find_binders(graph);
  if (binders.empty()) return {};
  std::vector<std::vector<NodeId>> found(graph.num_nodes());
  std::vector<Dim> symbols;
  for (NodeId id : graph.order()) {
    if (graph.node(id).dead) continue;
    symbols.clear();
    collect_users(graph, graph.node(id), binders, symbols);
    for (Dim symbol : symbols) {
      const auto binder = binders.find(symbol);
      if (binder == binders.end() || binder->second == id) continue;
      if (std::find(found[id].begin(), found[id].end(), binder->second) == found[id].end())
        found[id].push_back(binder->second);
    }
  }
  return found;
}

}  // namespace tilewright::passes
