// Merges an update of a part of x that is put back where the part was into one update of x:
//   update_slice(x, update_slice(slice(x, s), u, r), s)  ->  update_slice(x, u, s + r)
// with reshapes between that drop and add axes of size 1: x[0, 2, 5] = u as frontends write it. The part is then never
// copied, and the one update can be done in place. An update that may not lie in the part is left alone.
#include "tilewright/passes/pass.h"
#include "tilewright/passes/pattern.h"
#include "tilewright/passes/replacements.h"

namespace tilewright::passes {
namespace {

ValueId behind_reshape(const Graph& graph, ValueId value) {
  const Node* reshape = made_by(graph, value, Op::kReshape);
  return reshape == nullptr ? value : reshape->inputs[0];
}

// Which axis of `dense` each axis of `shape` is, where `dense` lacks some axes of size 1 (those are -1). Nothing if it
// is another shape.
std::optional<std::vector<int>> axes_kept(const Shape& shape, const Shape& dense, const Facts& facts) {
  std::vector<int> kept;
  std::size_t next = 0;
  for (const Dim dim : shape) {
    if (next < dense.size() && facts.same(dim, dense[next]) == Answer::kYes) {
      kept.push_back(static_cast<int>(next++));
    } else if (facts.is_one(dim) == Answer::kYes) {
      kept.push_back(-1);
    } else {
      return std::nullopt;
    }
  }
  if (next != dense.size()) return std::nullopt;
  return kept;
}

struct Nested {
  const Node* outer;
  const Node* slice;  // the part
  const Node* inner;
  std::vector<int> kept;  // axes of x in the part that is updated
};

std::optional<Nested> find_nested(const Graph& graph, const Node& outer) {
  if (outer.op != Op::kUpdateSlice) return std::nullopt;
  Nested found{&outer, nullptr, made_by(graph, behind_reshape(graph, outer.inputs[1]), Op::kUpdateSlice), {}};
  if (found.inner == nullptr) return std::nullopt;
  const ValueId part = found.inner->inputs[0];
  found.slice = made_by(graph, behind_reshape(graph, part), Op::kSlice);
  if (found.slice == nullptr || found.slice->inputs[0] != outer.inputs[0]) return std::nullopt;
  if (found.slice->attrs.dims("start") != outer.attrs.dims("start")) return std::nullopt;
  if (found.slice->attrs.ints("step") != outer.attrs.ints("step")) return std::nullopt;
  const Shape& whole = graph.type(found.slice->outputs[0]).shape;
  if (!same_shape(whole, graph.type(outer.inputs[1]).shape, graph.facts)) return std::nullopt;
  auto kept = axes_kept(whole, graph.type(part).shape, graph.facts);
  if (!kept) return std::nullopt;
  found.kept = std::move(*kept);
  return found;
}

// Whether what lies in x lies in the part too, along an axis of x that is `axis` of the part.
bool lies_in_part(const Graph& graph, const Nested& nested, std::size_t of_x, std::size_t axis) {
  const Dim x = graph.type(nested.outer->inputs[0]).shape[of_x];
  const Dim part = graph.type(nested.inner->inputs[0]).shape[axis];
  const Dim count = graph.type(nested.inner->inputs[1]).shape[axis];
  if (graph.facts.same(x, part) == Answer::kYes) return true;  // the part is all of the axis
  const Dim start = nested.inner->attrs.dims("start")[axis];
  const Dim last = start + (count - 1) * Dim(nested.inner->attrs.ints("step")[axis]);
  return graph.facts.less_equal(Dim(0), start) == Answer::kYes &&
         graph.facts.less_equal(last + 1, part) == Answer::kYes;
}

}  // namespace

bool merge_updates(Graph& graph) {
  return rewrite_nodes(graph, [&](Builder& builder, NodeId id) -> std::optional<ValueId> {
    const auto nested = find_nested(graph, graph.node(id));
    if (!nested) return std::nullopt;
    const ValueId x = nested->outer->inputs[0], update = nested->inner->inputs[1];
    const Attrs &outer = nested->outer->attrs, &inner = nested->inner->attrs;
    Dims start = outer.dims("start"), shape(start.size(), Dim(1));
    Ints step = outer.ints("step");
    for (std::size_t i = 0; i < nested->kept.size(); ++i) {
      if (nested->kept[i] < 0) continue;
      const auto axis = static_cast<std::size_t>(nested->kept[i]);
      if (!lies_in_part(graph, *nested, i, axis)) return std::nullopt;
      start[i] = start[i] + inner.dims("start")[axis] * Dim(step[i]);
      step[i] *= inner.ints("step")[axis];
      shape[i] = graph.type(update).shape[axis];
    }
    const ValueId all = builder.must(Op::kReshape, {update}, {{"shape", shape}});
    return builder.must(Op::kUpdateSlice, {x, all}, {{"start", start}, {"step", step}});
  });
}

}  // namespace tilewright::passes
