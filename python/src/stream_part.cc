// Parts: matching the axes of a view with the axes of another by their strides.
#include "src/stream_part.h"

#include <algorithm>

namespace tilewright::python {
namespace {

struct Axis {
  std::int64_t stride = 0, size = 0;
  int place = 0;
};
using Axes = std::vector<Axis>;

// Axes of size > 1, the largest stride first.
Axes long_axes(const StreamLayout& layout) {
  Axes axes;
  for (int i = 0; i < layout.rank; ++i) {
    const auto at = static_cast<std::size_t>(i);
    if (layout.sizes[at] > 1) axes.push_back({layout.strides[at], layout.sizes[at], i});
  }
  std::ranges::stable_sort(axes, [](const Axis& a, const Axis& b) { return a.stride > b.stride; });
  return axes;
}

// True if an element's offset tells its indices: each stride is more than what all smaller ones reach.
bool is_separable(const Axes& axes) {
  std::int64_t reach = 0;
  for (std::size_t i = axes.size(); i-- > 0;) {
    if (axes[i].stride <= reach) return false;
    reach += (axes[i].size - 1) * axes[i].stride;
  }
  return true;
}

// Fills start, count, step and axes. `axes`: those of part.shape of size > 1, the largest stride first.
bool match(StreamPart& part, const Axes& axes, const StreamLayout& inner, std::int64_t offset) {
  if (offset < 0 || !is_separable(axes)) return false;
  part.start.fill(0);
  part.count.fill(1);
  part.step.fill(1);
  part.num_axes = 0;
  for (int i = 0; i < inner.rank; ++i) {
    const auto at = static_cast<std::size_t>(i);
    if (inner.sizes[at] <= 1) continue;
    const auto axis = std::ranges::find_if(axes, [&](const Axis& own) { return own.stride <= inner.strides[at]; });
    if (axis == axes.end() || inner.strides[at] % axis->stride != 0) return false;
    const auto place = static_cast<std::size_t>(axis->place);
    if (part.count[place] != 1) return false;
    part.count[place] = inner.sizes[at];
    part.step[place] = inner.strides[at] / axis->stride;
    part.axes[static_cast<std::size_t>(part.num_axes++)] = axis->place;
  }
  for (const Axis& axis : axes) {
    const auto place = static_cast<std::size_t>(axis.place);
    part.start[place] = offset / axis.stride;
    offset %= axis.stride;
    if (part.start[place] + (part.count[place] - 1) * part.step[place] >= axis.size) return false;
  }
  return offset == 0;
}

// Row-major memory in the shape that the strides of `inner` divide it into: [.., a/b, b/c, c] for strides a > b > c.
std::optional<StreamPart> match_reshaped(const StreamLayout& whole, const StreamLayout& inner) {
  std::vector<std::int64_t> order;
  if (!dense_order(whole, order) || !std::ranges::is_sorted(order)) return {};
  StreamPart part;
  part.is_reshaped = true;
  Axes axes;
  std::int64_t rest = num_elements(whole);
  const auto add = [&](std::int64_t stride) {
    if (stride <= 0 || rest % stride != 0 || part.rank == kMaxStreamRank) return false;
    part.shape[static_cast<std::size_t>(part.rank)] = rest / stride;
    if (rest != stride) axes.push_back({stride, rest / stride, part.rank});
    ++part.rank;
    rest = stride;
    return true;
  };
  for (const Axis& axis : long_axes(inner)) {
    if (!add(axis.stride)) return {};
  }
  if (rest > 1 && !add(1)) return {};
  if (!match(part, axes, inner, inner.offset - whole.offset)) return {};
  return part;
}

}  // namespace

bool StreamPart::takes_all(int axis) const {
  const auto at = static_cast<std::size_t>(axis);
  return start[at] == 0 && step[at] == 1 && count[at] == shape[at];
}

std::optional<StreamPart> part_of(const StreamLayout& whole, const StreamLayout& part) {
  if (whole.dtype != part.dtype || num_elements(part) == 0 || num_elements(whole) == 0) return {};
  StreamPart found;
  found.rank = whole.rank;
  found.shape = whole.sizes;
  if (match(found, long_axes(whole), part, part.offset - whole.offset)) return found;
  return match_reshaped(whole, part);
}

StreamLayout contiguous_layout(std::int32_t dtype, std::span<const std::int64_t> sizes) {
  StreamLayout layout;
  layout.dtype = dtype;
  layout.rank = static_cast<std::int32_t>(sizes.size());
  std::int64_t step = 1;
  for (std::size_t i = sizes.size(); i-- > 0;) {
    layout.sizes[i] = sizes[i];
    layout.strides[i] = step;
    step *= std::max<std::int64_t>(sizes[i], 1);
  }
  return layout;
}

std::int64_t num_elements(const StreamLayout& layout) {
  std::int64_t count = 1;
  for (const std::int64_t size : layout.shape()) count *= size;
  return count;
}

}  // namespace tilewright::python
