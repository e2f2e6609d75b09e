#include "tilewright/compiler/index_domain.h"

#include "tilewright/compiler/axis.h"

#include <algorithm>

namespace tilewright::compiler {
namespace {

using Strides = std::array<std::int64_t, kMaxTensorRank>;

// The strides of an index over the domain, whose axes begin .. begin + shared - 1 it broadcasts to.
Strides index_strides(const View& index, int begin, int shared) {
  Strides out{};
  const std::int64_t bytes = byte_size(index.dtype);
  for (int axis = 0; axis < index.rank; ++axis) {
    if (index.sizes[at(axis)] != 1) out[at(begin + shared - index.rank + axis)] = index.strides[at(axis)] * bytes;
  }
  return out;
}

void add(IndexDomain& domain, const Strides& strides) {
  domain.nest.add_strides({strides.data(), at(domain.nest.rank)});
}

// Where the axes of the index stand: at the first indexed axis if these are adjacent, else in front.
int index_place(std::span<const std::int64_t> axes) {
  const bool adjacent = axes.back() - axes.front() + 1 == static_cast<std::int64_t>(axes.size());
  return adjacent ? static_cast<int>(axes.front()) : 0;
}

bool contains(std::span<const std::int64_t> axes, int axis) {
  return std::find(axes.begin(), axes.end(), axis) != axes.end();
}

// Sizes of what indexing x reads.
View indexed_shape(const View& x, std::span<const View> indices, std::span<const std::int64_t> axes) {
  int shared = 0;
  Strides sizes{};
  for (const View& index : indices) shared = std::max<int>(shared, index.rank);
  std::fill_n(sizes.begin(), shared, 1);
  for (const View& index : indices) {
    for (int axis = 0; axis < index.rank; ++axis) {
      if (index.sizes[at(axis)] != 1) sizes[at(shared - index.rank + axis)] = index.sizes[at(axis)];
    }
  }
  const int place = index_place(axes);
  View out;
  out.dtype = x.dtype;
  const auto push = [&out](std::int64_t size) { out.sizes[at(out.rank++)] = size; };
  int kept = 0;
  for (int axis = 0; axis <= x.rank; ++axis) {
    if (kept == place) {
      for (int i = 0; i < shared; ++i) push(sizes[at(i)]);
      ++kept;
    }
    if (axis == x.rank || contains(axes, axis)) continue;
    push(x.sizes[at(axis)]);
    ++kept;
  }
  return out;
}

}  // namespace

IndexDomain indexed_domain(const View& x, const View& dense, std::span<const View> indices,
                           std::span<const std::int64_t> axes) {
  IndexDomain domain;
  domain.nest.rank = dense.rank;
  domain.nest.sizes = dense.sizes;
  const int place = index_place(axes);
  const int shared = dense.rank - (x.rank - static_cast<int>(axes.size()));
  Strides kept{};
  int next = 0;
  for (int axis = 0; axis < x.rank; ++axis) {
    if (contains(axes, axis)) continue;
    if (next == place) next += shared;
    kept[at(next++)] = x.sizes[at(axis)] == 1 ? 0 : x.strides[at(axis)] * byte_size(x.dtype);
  }
  add(domain, kept);
  domain.nest.add(dense);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    add(domain, index_strides(indices[i], place, shared));
    domain.pairs[at(domain.num_pairs++)] = {&indices[i], static_cast<int>(axes[i])};
  }
  for (int axis = place; axis < place + shared; ++axis) domain.indexed |= 1u << axis;
  return domain;
}

Result<IndexDomain> elements_domain(const View& x, const View& dense, const View& index, int axis) {
  IndexDomain domain;
  domain.nest.rank = index.rank;
  domain.nest.sizes = index.sizes;
  Strides kept{};
  for (int i = 0; i < x.rank; ++i) {
    if (i == axis) continue;
    if (index.sizes[at(i)] > x.sizes[at(i)]) {
      return fail(ErrorKind::kShapeMismatch, "the index is longer than x along axis {}: {} and {}", i,
                  index.sizes[at(i)], x.sizes[at(i)]);
    }
    kept[at(i)] = index.sizes[at(i)] == 1 ? 0 : x.strides[at(i)] * byte_size(x.dtype);
  }
  add(domain, kept);
  domain.nest.add(dense);
  domain.nest.add(index);
  domain.pairs[at(domain.num_pairs++)] = {&index, axis};
  domain.indexed = 1u << axis;
  return domain;
}

void write_index_streams(const IndexDomain& domain, const View& x, const View& dense, Emitter& out) {
  const int rank = domain.nest.rank - 1;
  const auto write = [&](const View& view, int number) {
    const auto& strides = domain.nest.strides[at(number)];
    out.stream(isa::Space::kBuffer, view.dtype, view.buffer, view.offset, strides[at(rank)],
               {strides.data(), at(rank)});
  };
  write(x, 0);
  write(dense, 1);
  const Strides none{};
  for (int i = 0; i < domain.num_pairs; ++i) {
    const IndexDomain::Pair& pair = domain.pairs[at(i)];
    write(*pair.index, 2 + i);
    out.stream(isa::Space::kIota, DType::kI64, 0, x.sizes[at(pair.axis)], x.strides[at(pair.axis)] * byte_size(x.dtype),
               {none.data(), at(rank)});
  }
}

View broadcast_to_indexed(const View& dense, const View& x, std::span<const View> indices,
                          std::span<const std::int64_t> axes) {
  const View shape = indexed_shape(x, indices, axes);
  View out = dense;
  out.rank = shape.rank;
  out.sizes = shape.sizes;
  out.strides = {};
  for (int axis = 0; axis < dense.rank; ++axis) {
    if (dense.sizes[at(axis)] != 1) out.strides[at(axis + shape.rank - dense.rank)] = dense.strides[at(axis)];
  }
  return out;
}

}  // namespace tilewright::compiler
