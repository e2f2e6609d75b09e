#include "tilewright/compiler/loop_nest.h"

#include "tilewright/compiler/axis.h"

namespace tilewright::compiler {

int LoopNest::add(const View& view) {
  TW_CHECK(num_views < kMaxViews, "an area has few streams");
  auto& target = strides[at(num_views)];
  const std::int64_t bytes = byte_size(view.dtype);
  for (int axis = 0; axis < rank; ++axis) {
    const int own = axis - (rank - view.rank);
    const bool moves = own >= 0 && view.sizes[at(own)] != 1;
    target[at(axis)] = moves ? view.strides[at(own)] * bytes : 0;
  }
  return num_views++;
}

int LoopNest::add_strides(std::span<const std::int64_t> byte_strides) {
  TW_CHECK(num_views < kMaxViews, "an area has few streams");
  for (int axis = 0; axis < rank; ++axis) strides[at(num_views)][at(axis)] = byte_strides[at(axis)];
  return num_views++;
}

std::int64_t LoopNest::count(int begin, int end) const {
  std::int64_t total = 1;
  for (int axis = begin; axis < end; ++axis) total *= sizes[at(axis)];
  return total;
}

void LoopNest::remove(int axis) {
  for (int i = axis; i + 1 < rank; ++i) sizes[at(i)] = sizes[at(i + 1)];
  for (int view = 0; view < num_views; ++view) {
    for (int i = axis; i + 1 < rank; ++i) strides[at(view)][at(i)] = strides[at(view)][at(i + 1)];
  }
  --rank;
}

bool LoopNest::can_merge(int axis) const {
  for (int view = 0; view < num_views; ++view) {
    const auto& s = strides[at(view)];
    if (s[at(axis)] != s[at(axis + 1)] * sizes[at(axis + 1)]) return false;
  }
  return true;
}

void LoopNest::merge(int axis) {
  const std::int64_t size = sizes[at(axis)] * sizes[at(axis + 1)];
  sizes[at(axis + 1)] = size;
  remove(axis);
}

int LoopNest::collapse(int begin, int end) {
  for (int axis = begin; axis < end;) {
    if (sizes[at(axis)] == 1) {
      remove(axis);
      --end;
    } else {
      ++axis;
    }
  }
  for (int axis = end - 2; axis >= begin; --axis) {
    if (can_merge(axis)) {
      merge(axis);
      --end;
    }
  }
  return end;
}

int LoopNest::collapse_rows(int shared) {
  int m_axis = collapse(0, rank - 2);
  while (m_axis > 0) {
    if (sizes[at(m_axis)] == 1 && strides[at(shared)][at(m_axis - 1)] == 0) {
      remove(m_axis);
    } else if (can_merge(m_axis - 1)) {
      merge(m_axis - 1);
    } else {
      break;
    }
    --m_axis;
  }
  return m_axis;
}

void LoopNest::insert_unit_axis(int axis) {
  TW_CHECK(rank < kMaxTensorRank, "ranks are limited");
  for (int i = rank; i > axis; --i) sizes[at(i)] = sizes[at(i - 1)];
  sizes[at(axis)] = 1;
  for (int view = 0; view < num_views; ++view) {
    auto& s = strides[at(view)];
    for (int i = rank; i > axis; --i) s[at(i)] = s[at(i - 1)];
    s[at(axis)] = 0;
  }
  ++rank;
}

void LoopNest::split(int axis, std::int64_t inner) {
  const std::int64_t size = sizes[at(axis)];
  insert_unit_axis(axis);
  sizes[at(axis)] = size / inner;
  sizes[at(axis + 1)] = inner;
  for (int view = 0; view < num_views; ++view) strides[at(view)][at(axis)] = strides[at(view)][at(axis + 1)] * inner;
}

void LoopNest::order_by_stride(int view) {
  const auto magnitude = [&](int axis) {
    const std::int64_t stride = strides[at(view)][at(axis)];
    return stride < 0 ? -stride : stride;
  };
  for (int i = 1; i < rank; ++i) {
    int place = i;
    while (place > 0 && magnitude(place - 1) < magnitude(i)) --place;
    if (place != i) move(i, place);
  }
}

void LoopNest::move(int from, int to) {
  const int step = from < to ? 1 : -1;
  const std::int64_t size = sizes[at(from)];
  for (int i = from; i != to; i += step) sizes[at(i)] = sizes[at(i + step)];
  sizes[at(to)] = size;
  for (int view = 0; view < num_views; ++view) {
    auto& s = strides[at(view)];
    const std::int64_t moved = s[at(from)];
    for (int i = from; i != to; i += step) s[at(i)] = s[at(i + step)];
    s[at(to)] = moved;
  }
}

}  // namespace tilewright::compiler
