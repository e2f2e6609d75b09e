// LoopNest: the domain of a kernel and the byte strides of every stream over it, made small: sizes of 1 dropped, dims
// that are contiguous for all streams merged. Fixed arrays, nothing is allocated.
#pragma once

#include "tilewright/compiler/kernel.h"

namespace tilewright::compiler {

struct LoopNest {
  static constexpr int kMaxViews = 48;
  int rank = 0;
  int num_views = 0;
  std::array<std::int64_t, kMaxTensorRank> sizes;                           // of `rank` axes
  std::array<std::array<std::int64_t, kMaxTensorRank>, kMaxViews> strides;  // bytes, [view][axis]

  LoopNest() {}  // leaves the arrays as they are: clearing 3 KiB would cost more than most kernels take to encode

  // Adds a view broadcast to the domain (aligned at the last axis); returns its number.
  int add(const View& view);
  int add_strides(std::span<const std::int64_t> byte_strides);
  std::int64_t count(int begin, int end) const;

  void remove(int axis);           // drops an axis
  bool can_merge(int axis) const;  // axis and axis + 1 are one loop for every view
  void merge(int axis);            // of axis and axis + 1
  // Drops sizes of 1 and merges where possible inside [begin, end); returns the new end.
  int collapse(int begin, int end);
  // Of batch.., m, n: drops batch sizes of 1, merges batch axes, and merges the last batch axis into m where every view
  // allows it. View `shared` (b, whose stride along m is 0) must be the same for all rows. Returns the axis of m.
  int collapse_rows(int shared);
  void split(int axis, std::int64_t inner);  // into sizes / inner (the rest is left out) and inner
  void insert_unit_axis(int axis);           // of size 1 and stride 0
  // Sorts the axes so that view `view` walks the last one fastest: stores become contiguous.
  void order_by_stride(int view);
  void move(int from, int to);  // moves an axis to another place
};

}  // namespace tilewright::compiler
