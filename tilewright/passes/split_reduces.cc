// Brings reductions to the forms that kernels have: axes adjacent and ascending, kept as size 1.
//   reduce(x) axes=[0,2] keepdim=0  ->  reshape(reduce(reduce(x) axes=[2] keepdim=1) axes=[0] keepdim=1)
#include <algorithm>

#include "tilewright/graph/builder.h"
#include "tilewright/passes/pass.h"

namespace tilewright::passes {
namespace {

bool is_reduce(Op op) {
  return info(op).op_class == OpClass::kReduce;
}

// The last run of adjacent axes; the rest stays in `axes`.
Ints take_last_run(Ints& axes) {
  std::size_t begin = axes.size() - 1;
  while (begin > 0 && axes[begin - 1] + 1 == axes[begin]) --begin;
  Ints run(axes.begin() + static_cast<std::ptrdiff_t>(begin), axes.end());
  axes.resize(begin);
  return run;
}

}  // namespace

bool split_reduces(Graph& graph) {
  bool changed = false;
  const std::vector<NodeId> order = graph.order();
  Builder builder(graph);
  for (NodeId id : order) {
    const Op op = graph.node(id).op;
    if (!is_reduce(op)) continue;
    Ints axes = graph.node(id).attrs.ints("axes");
    const bool sorted = std::is_sorted(axes.begin(), axes.end());
    std::sort(axes.begin(), axes.end());
    const bool keepdim = graph.node(id).attrs.flag("keepdim");
    const bool adjacent = axes.empty() || axes.back() - axes.front() + 1 == static_cast<std::int64_t>(axes.size());
    if (keepdim && adjacent && sorted && !axes.empty()) continue;
    const ValueId old = graph.node(id).outputs[0];
    ValueId value = graph.node(id).inputs[0];
    while (!axes.empty()) value = builder.must(op, {value}, {{"axes", take_last_run(axes)}, {"keepdim", true}});
    if (graph.type(value).shape != graph.type(old).shape) {
      value = builder.must(Op::kReshape, {value}, {{"shape", graph.type(old).shape}});
    }
    graph.replace_uses(old, value);
    graph.erase(id);
    changed = true;
  }
  if (changed) sort_topologically(graph);
  return changed;
}

}  // namespace tilewright::passes
