// StreamProgram: taking a part out of a whole, and putting one into it, as ops of torch.
#include <algorithm>

#include "src/stream_program.h"

namespace tilewright::python {
namespace {

// The part's axes first, in its order, then those of which it takes one element.
std::vector<std::int64_t> order_of(const StreamPart& part) {
  std::vector<std::int64_t> order(part.axes.begin(), part.axes.begin() + part.num_axes);
  for (int axis = 0; axis < part.rank; ++axis) {
    if (std::ranges::find(order, axis) == order.end()) order.push_back(axis);
  }
  return order;
}

std::vector<std::int64_t> counts_of(const StreamPart& part, std::span<const std::int64_t> order) {
  std::vector<std::int64_t> counts;
  for (const std::int64_t axis : order) counts.push_back(part.count[static_cast<std::size_t>(axis)]);
  return counts;
}

StreamLayout shape_of(const StreamPart& part, std::int32_t dtype) {
  return contiguous_layout(dtype, {part.shape.data(), static_cast<std::size_t>(part.rank)});
}

std::array<std::int64_t, 3> range_of(const StreamPart& part, int axis) {
  const auto at = static_cast<std::size_t>(axis);
  return {part.start[at], part.start[at] + (part.count[at] - 1) * part.step[at] + 1, part.step[at]};
}

}  // namespace

int StreamProgram::move(StreamMove kind, std::span<const int> refs, std::span<const std::int64_t> numbers,
                        std::span<const std::int64_t> ints, const StreamLayout& layout, int result) {
  const StreamTemplate op{library_->movement(kind, layout.dtype, numbers), 0};
  const int value = add_op(op, refs, ints, {}, {&layout, 1});
  if (result < 0) return value;
  values_.pop_back();
  ops_.back().first_result = result;
  return result;
}

int StreamProgram::view(int value, const StreamLayout& layout, int result) {
  const std::int64_t rank[] = {layout.rank};
  return move(StreamMove::kView, {&value, 1}, rank, layout.shape(), layout, result);
}

// `layout`: of the value, then of the slice.
int StreamProgram::slice(int value, const StreamPart& part, int axis, StreamLayout& layout) {
  const auto [start, stop, step] = range_of(part, axis);
  layout.sizes[static_cast<std::size_t>(axis)] = part.count[static_cast<std::size_t>(axis)];
  layout = contiguous_layout(layout.dtype, layout.shape());
  const std::int64_t numbers[] = {axis, step}, ints[] = {start, stop};
  return move(StreamMove::kSlice, {&value, 1}, numbers, ints, layout);
}

int StreamProgram::take(int whole_value, const StreamLayout& whole, const StreamLayout& part, int result) {
  const StreamPart found = *part_of(whole, part);
  StreamLayout layout = shape_of(found, whole.dtype);
  int value = found.is_reshaped ? view(whole_value, layout) : whole_value;
  for (int axis = 0; axis < found.rank; ++axis) {
    if (!found.takes_all(axis)) value = slice(value, found, axis, layout);
  }
  const std::vector<std::int64_t> order = order_of(found);
  if (!std::ranges::is_sorted(order)) {
    layout = contiguous_layout(whole.dtype, counts_of(found, order));
    value = move(StreamMove::kPermute, {&value, 1}, order, {}, layout);
  }
  const bool is_fitting = std::ranges::equal(layout.shape(), part.shape());
  if (result < 0 && is_fitting) return value;
  return view(value, contiguous_layout(part.dtype, part.shape()), result);
}

int StreamProgram::put(int whole_value, const StreamLayout& whole, const StreamLayout& part, int part_value) {
  const StreamPart found = *part_of(whole, part);
  const std::int32_t dtype = whole.dtype;
  const std::vector<std::int64_t> order = order_of(found);
  int value = part_value;
  if (const auto counts = counts_of(found, order); !std::ranges::equal(counts, part.shape())) {
    value = view(value, contiguous_layout(dtype, counts));
  }
  if (!std::ranges::is_sorted(order)) {
    std::vector<std::int64_t> back(order.size());
    for (std::size_t i = 0; i < order.size(); ++i) {
      back[static_cast<std::size_t>(order[i])] = static_cast<std::int64_t>(i);
    }
    const StreamLayout moved = contiguous_layout(dtype, {found.count.data(), static_cast<std::size_t>(found.rank)});
    value = move(StreamMove::kPermute, {&value, 1}, back, {}, moved);
  }
  StreamLayout layout = shape_of(found, dtype);
  std::vector<std::pair<int, StreamLayout>> wholes;  // each a slice of the one before
  std::vector<int> axes;
  int outer = found.is_reshaped ? view(whole_value, layout) : whole_value;
  for (int axis = 0; axis < found.rank; ++axis) {
    if (found.takes_all(axis)) continue;
    if (!axes.empty()) outer = slice(outer, found, axes.back(), layout);
    wholes.emplace_back(outer, layout);
    axes.push_back(axis);
  }
  for (std::size_t i = wholes.size(); i-- > 0;) {
    const auto [start, stop, step] = range_of(found, axes[i]);
    const int refs[] = {wholes[i].first, value};
    const std::int64_t numbers[] = {axes[i], step}, ints[] = {start, stop};
    value = move(StreamMove::kSliceScatter, refs, numbers, ints, wholes[i].second);
  }
  return found.is_reshaped ? view(value, contiguous_layout(dtype, whole.shape())) : value;
}

}  // namespace tilewright::python
