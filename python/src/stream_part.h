// A part of a layout: how the elements of one view lie in another view of the same storage, as slices of its axes.
//
// Any op that writes to a part of what a segment holds is recorded as one that makes the whole anew, so it must be
// known which part it is, however the view was made: it is found from offsets, sizes and strides alone. Pure functions.
#pragma once

#include <optional>

#include "src/stream_layout.h"

namespace tilewright::python {

// part = whole.view(shape)[start : .. : step by axis], its axes of size > 1 taken in the order `axes`, the rest
// dropped.
struct StreamPart {
  int rank = 0;              // of `shape`
  bool is_reshaped = false;  // `shape` is not the whole's own
  std::array<std::int64_t, kMaxStreamRank> shape{}, start{}, count{}, step{};
  int num_axes = 0;
  std::array<int, kMaxStreamRank> axes{};

  bool takes_all(int axis) const;  // of one axis
};

// Nothing if the part has no elements, is not inside of the whole, or is no slices of it.
std::optional<StreamPart> part_of(const StreamLayout& whole, const StreamLayout& part);

// The same sizes, row-major.
StreamLayout contiguous_layout(std::int32_t dtype, std::span<const std::int64_t> sizes);
std::int64_t num_elements(const StreamLayout& layout);

}  // namespace tilewright::python
