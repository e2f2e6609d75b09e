#include "tilewright/runtime/views.h"

#include "tilewright/compiler/axis.h"

namespace tilewright::runtime {

using compiler::at;

namespace {

// Wraps where sizes ask for more than any memory: whoever asks for that memory gets the error.
std::int64_t times(std::int64_t a, std::int64_t b) {
  std::int64_t product;
  static_cast<void>(__builtin_mul_overflow(a, b, &product));
  return product;
}

}  // namespace

void set_contiguous(View& view) {
  std::int64_t stride = 1;
  for (int axis = view.rank - 1; axis >= 0; --axis) {
    view.strides[at(axis)] = stride;
    stride = times(stride, view.sizes[at(axis)]);
  }
}

void drop_idle_strides(View& view) {
  std::int64_t stride = 1;
  for (int axis = view.rank - 1; axis >= 0; --axis) {
    if (view.sizes[at(axis)] == 1) view.strides[at(axis)] = stride;
    stride = times(view.strides[at(axis)], view.sizes[at(axis)]);
  }
}

bool is_contiguous(const View& view) {
  std::int64_t stride = 1;
  for (int axis = view.rank - 1; axis >= 0; --axis) {
    if (view.sizes[at(axis)] != 1 && view.strides[at(axis)] != stride) return false;
    stride = times(stride, view.sizes[at(axis)]);
  }
  return true;
}

bool reshape_view(const View& from, View& to) {
  to.buffer = from.buffer;
  to.offset = from.offset;
  if (from.count() == 0) {
    set_contiguous(to);
    return true;
  }
  // Walk both shapes from the last axis: a group of target axes must cover a run of source axes that is one loop.
  int target = to.rank - 1;
  int source = from.rank - 1;
  while (source >= 0) {
    if (from.sizes[at(source)] == 1) {
      --source;
      continue;
    }
    std::int64_t run = from.sizes[at(source)];
    const std::int64_t inner_stride = from.strides[at(source)];
    std::int64_t outer_stride = inner_stride * run;
    --source;
    while (source >= 0 && (from.sizes[at(source)] == 1 || from.strides[at(source)] == outer_stride)) {
      run *= from.sizes[at(source)];
      if (from.sizes[at(source)] != 1) outer_stride *= from.sizes[at(source)];
      --source;
    }
    std::int64_t stride = inner_stride;
    while (run > 1) {
      if (target < 0) return false;
      const std::int64_t size = to.sizes[at(target)];
      if (run % size != 0) return false;
      to.strides[at(target)] = stride;
      stride *= size;
      run /= size;
      --target;
    }
  }
  for (; target >= 0; --target) {
    if (to.sizes[at(target)] != 1) return false;
    to.strides[at(target)] = target + 1 < to.rank ? to.strides[at(target + 1)] * to.sizes[at(target + 1)] : 1;
  }
  return true;
}

void transpose_view(const View& from, std::span<const std::int64_t> perm, View& to) {
  to.buffer = from.buffer;
  to.offset = from.offset;
  for (std::size_t axis = 0; axis < perm.size(); ++axis) to.strides[axis] = from.strides[at(perm[axis])];
}

void expand_view(const View& from, View& to) {
  to.buffer = from.buffer;
  to.offset = from.offset;
  for (int axis = 0; axis < to.rank; ++axis) {
    const int own = axis - (to.rank - from.rank);
    const bool moves = own >= 0 && (from.sizes[at(own)] != 1 || to.sizes[at(axis)] == 1);
    to.strides[at(axis)] = moves ? from.strides[at(own)] : 0;
  }
}

void slice_view(const View& from, std::span<const std::int64_t> start, std::span<const std::int64_t> step, View& to) {
  to.buffer = from.buffer;
  to.offset = from.offset;
  const std::int64_t bytes = byte_size(from.dtype);
  for (std::size_t axis = 0; axis < start.size(); ++axis) {
    to.strides[axis] = from.strides[axis] * step[axis];
    if (to.sizes[axis] > 0) to.offset += start[axis] * from.strides[axis] * bytes;
  }
}

void flip_view(const View& from, std::span<const std::int64_t> axes, View& to) {
  to.buffer = from.buffer;
  to.offset = from.offset;
  to.strides = from.strides;
  const std::int64_t bytes = byte_size(from.dtype);
  for (std::int64_t axis : axes) {
    if (from.sizes[at(axis)] > 0) to.offset += (from.sizes[at(axis)] - 1) * from.strides[at(axis)] * bytes;
    to.strides[at(axis)] = -from.strides[at(axis)];
  }
}

bool apply_fixed_view(const Node& node, const View& from, View& to) {
  switch (node.op) {
    case Op::kReshape:
      return reshape_view(from, to);
    case Op::kTranspose:
      transpose_view(from, node.attrs.ints("perm"), to);
      return true;
    case Op::kExpand:
      expand_view(from, to);
      return true;
    case Op::kFlip:
      flip_view(from, node.attrs.ints("axes"), to);
      return true;
    case Op::kSlice: {
      std::array<std::int64_t, compiler::kMaxTensorRank> start{};
      const Dims& given = node.attrs.dims("start");
      for (std::size_t axis = 0; axis < given.size(); ++axis) {
        if (!given[axis].constant()) return false;
        start[axis] = *given[axis].constant();
      }
      slice_view(from, {start.data(), given.size()}, node.attrs.ints("step"), to);
      return true;
    }
    default:
      return false;
  }
}

}  // namespace tilewright::runtime
