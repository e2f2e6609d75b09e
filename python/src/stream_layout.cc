// Layouts: equality, overlap, order of axes.
#include "src/stream_layout.h"

#include <algorithm>

namespace tilewright::python {
namespace {

struct Range {
  std::int64_t first, last;
};

bool is_empty(const StreamLayout& layout) {
  return std::ranges::find(layout.shape(), 0) != layout.shape().end();
}

Range byte_range(const StreamLayout& layout, std::int64_t itemsize) {
  if (is_empty(layout)) return {0, 0};
  std::int64_t last = layout.offset;
  for (std::size_t i = 0; i < layout.shape().size(); ++i) last += (layout.sizes[i] - 1) * layout.strides[i];
  return {layout.offset * itemsize, (last + 1) * itemsize};
}

// Columns that a block of rows covers, rows being `step` elements apart.
Range columns(const StreamLayout& layout, std::int64_t step) {
  std::int64_t inner = 0;
  for (std::size_t i = 0; i < layout.shape().size(); ++i) {
    if (layout.strides[i] != step) inner += (layout.sizes[i] - 1) * layout.strides[i];
  }
  return {layout.offset % step, layout.offset % step + inner + 1};
}

// Two blocks of one matrix whose columns do not meet.
bool in_separate_columns(const StreamLayout& a, const StreamLayout& b) {
  if (a.dtype != b.dtype || a.rank != b.rank || a.rank == 0 || !std::ranges::equal(a.steps(), b.steps())) return false;
  const std::int64_t step = std::ranges::max(a.steps());
  if (step <= 0) return false;
  const Range left = columns(a, step), right = columns(b, step);
  if (std::max(left.last, right.last) > step) return false;
  return left.last <= right.first || right.last <= left.first;
}

}  // namespace

bool StreamLayout::operator==(const StreamLayout& other) const {
  return dtype == other.dtype && rank == other.rank && offset == other.offset &&
         std::ranges::equal(shape(), other.shape()) && std::ranges::equal(steps(), other.steps());
}

bool overlap(const StreamLayout& a, const StreamLayout& b, std::int64_t a_itemsize, std::int64_t b_itemsize) {
  const Range left = byte_range(a, a_itemsize), right = byte_range(b, b_itemsize);
  if (left.last <= right.first || right.last <= left.first) return false;
  return !in_separate_columns(a, b);
}

bool dense_order(const StreamLayout& layout, std::vector<std::int64_t>& order) {
  order.clear();
  for (std::int64_t axis = 0; axis < layout.rank; ++axis) {
    if (layout.sizes[static_cast<std::size_t>(axis)] > 1) order.push_back(axis);
  }
  std::ranges::stable_sort(order, [&](std::int64_t x, std::int64_t y) {
    return layout.strides[static_cast<std::size_t>(x)] > layout.strides[static_cast<std::size_t>(y)];
  });
  std::int64_t expected = 1;
  for (std::size_t i = order.size(); i-- > 0;) {
    const auto axis = static_cast<std::size_t>(order[i]);
    if (layout.strides[axis] != expected) return false;
    expected *= layout.sizes[axis];
  }
  return true;
}

}  // namespace tilewright::python
