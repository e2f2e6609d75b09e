// The rule table of the fuser: what a node is to an area, and which two areas may become one kernel.
#pragma once

#include <string_view>

#include "tilewright/graph/graph.h"

namespace tilewright::passes {

enum class AreaKind : std::uint8_t {
  kNone,     // not part of any area: a kernel of its own, a view, control flow
  kFree,     // copied into every area that reads it: host scalars, iota, expand
  kMap,      // elementwise over one domain
  kRows,     // row reductions over the last axes, or a native softmax or norm
  kColumns,  // reductions over other axes
  kMatMul,   // a matmul and its epilogue
};
std::string_view to_string(AreaKind kind);  // the `kind` attribute of a fused node

// Whether the node is a matrix product that a tile instruction computes with an epilogue; its operands are tensors in
// memory.
inline bool is_product(Op op) {
  return op == Op::kMatMul || op == Op::kIntegerMatMul || op == Op::kBlockMatMul;
}

struct AreaShape {
  AreaKind kind = AreaKind::kNone;
  int width = 0;             // bytes per lane: 4 or 8; 0: fits either
  Shape domain;              // over which the area iterates
  std::size_t row_axes = 0;  // kRows
  Ints reduced;              // kColumns
  bool edge_cast = false;    // a cast between widths: loads or stores do it, so it stands at the edge of its area
};

AreaShape classify(const Graph& graph, const Node& node);

// The shape of the row values (kRows) or of the finished values (kColumns) of an area.
Shape reduced_shape(const AreaShape& area);

// What the rules ask about sizes. With `assumed`, sizes that are undecided count as equal, and each such pair is noted
// there: the answer holds for calls where they are. No size is assumed to be 1.
struct SizeFacts {
  const Facts& facts;
  std::vector<std::pair<Dim, Dim>>* assumed = nullptr;

  bool same(Dim a, Dim b) const;
  bool same(const Shape& a, const Shape& b) const;  // nothing is noted unless the answer is yes
};

enum class Fit : std::uint8_t { kNo, kSame, kBroadcast, kReduced };
// How values of `shape` relate to the area: its domain, broadcast into it, or its reduced shape.
Fit fit(const Shape& shape, const AreaShape& area, const SizeFacts& sizes);

// Whether a producer area and a consumer area may be one, by kinds, widths and domains alone; `out` is the merged area.
// `recomputes`: values of the producer are computed once per element that they broadcast to.
// Rules (producer -> consumer): map -> any whose domain is equal; map -> any whose domain it broadcasts into
// (recomputed); rows -> map over the domain or the row values; rows -> rows with the same rows; columns -> map over the
// finished values; columns beside columns over the same axes; matmul -> map over the result.
bool may_merge(const AreaShape& producer, const AreaShape& consumer, const SizeFacts& sizes, AreaShape& out,
               bool& recomputes);

}  // namespace tilewright::passes
