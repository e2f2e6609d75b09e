// Ops that move elements and compute nothing. Each says, for every index of the result, which element of x stands
// there.
#include <algorithm>

#include "tilewright/graph/eval/families.h"

namespace tilewright {
namespace {

Result<Tensor> reshape(const Tensor& x, const Ints& sizes) {
  TW_TRY(check_sizes(sizes));
  if (product(sizes) != x.count()) {
    return fail(ErrorKind::kShapeMismatch, "element counts differ: {} and {}", x.count(), product(sizes));
  }
  std::int64_t next = 0;
  return copy_elements(x, sizes, [&](const Ints&) { return next++; });
}

Tensor transpose(const Tensor& x, const Ints& perm) {
  Ints sizes;
  for (const std::int64_t axis : perm) sizes.push_back(x.sizes()[static_cast<std::size_t>(axis)]);
  Ints source(x.rank());
  return copy_elements(x, sizes, [&](const Ints& index) {
    for (std::size_t i = 0; i < perm.size(); ++i) source[static_cast<std::size_t>(perm[i])] = index[i];
    return position(source, x.sizes());
  });
}

Result<Tensor> slice(const Tensor& x, const Ints& start, const Ints& stop, const Ints& step) {
  Ints sizes(x.rank());
  for (std::size_t axis = 0; axis < x.rank(); ++axis) {
    if (start[axis] < 0 || stop[axis] < start[axis] || stop[axis] > x.sizes()[axis]) {
      return fail(ErrorKind::kIndexOutOfRange, "slice {}:{} does not lie in axis {} of size {}", start[axis],
                  stop[axis], axis, x.sizes()[axis]);
    }
    const std::int64_t extent = stop[axis] - start[axis];
    sizes[axis] = extent / step[axis] + (extent % step[axis] != 0 ? 1 : 0);  // a huge step must not overflow
  }
  Ints source(x.rank());
  return copy_elements(x, sizes, [&](const Ints& index) {
    for (std::size_t axis = 0; axis < x.rank(); ++axis) source[axis] = start[axis] + index[axis] * step[axis];
    return position(source, x.sizes());
  });
}

// Where a pad mode takes position i of an axis of `size` from; i may lie outside.
std::int64_t reflected(std::string_view mode, std::int64_t i, std::int64_t size) {
  if (mode == "replicate") return std::clamp<std::int64_t>(i, 0, size - 1);
  if (mode == "circular") return i < 0 ? i + size : (i >= size ? i - size : i);
  return i < 0 ? -i : (i >= size ? 2 * (size - 1) - i : i);
}

Status check_pad(const Tensor& x, std::string_view mode, std::size_t axis, std::int64_t pad) {
  const std::int64_t size = x.sizes()[axis];
  if (mode == "constant") return {};
  const bool fits = mode == "reflect" ? pad < size : (mode == "circular" ? pad <= size : pad == 0 || size > 0);
  if (pad >= 0 && fits) return {};
  return fail(ErrorKind::kInvalidArgument, "a '{}' pad of {} does not fit axis {} of size {}", mode, pad, axis, size);
}

Result<Tensor> pad(const Tensor& x, const Tensor& value, const Ints& low, const Ints& high, std::string_view mode) {
  Ints sizes(x.rank());
  for (std::size_t axis = 0; axis < x.rank(); ++axis) {
    TW_TRY(check_pad(x, mode, axis, low[axis]));
    TW_TRY(check_pad(x, mode, axis, high[axis]));
    sizes[axis] = plus(plus(x.sizes()[axis], low[axis]), high[axis]);
  }
  TW_TRY(check_sizes(sizes));
  Tensor out(x.dtype(), sizes);
  std::int64_t to = 0;
  Ints source(x.rank());
  for_each_index(sizes, [&](const Ints& index) {
    bool inside = true;
    for (std::size_t axis = 0; axis < x.rank(); ++axis) {
      source[axis] = index[axis] - low[axis];
      if (mode != "constant") source[axis] = reflected(mode, source[axis], x.sizes()[axis]);
      inside = inside && source[axis] >= 0 && source[axis] < x.sizes()[axis];
    }
    copy_element(inside ? x : value, inside ? position(source, x.sizes()) : 0, out, to++);
  });
  return out;
}

Result<Tensor> concat(std::span<const Tensor> in, std::size_t axis) {
  Ints sizes = sizes_of(in[0]);
  for (const Tensor& tensor : in.subspan(1)) {
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      if (i == axis) {
        sizes[i] += tensor.sizes()[i];
      } else if (tensor.sizes()[i] != sizes[i]) {
        return fail(ErrorKind::kShapeMismatch, "sizes differ at axis {}: {} and {}", i, sizes[i], tensor.sizes()[i]);
      }
    }
  }
  Tensor out(in[0].dtype(), sizes);
  std::int64_t to = 0;
  Ints source;
  for_each_index(sizes, [&](const Ints& index) {
    source = index;
    std::size_t which = 0;
    while (source[axis] >= in[which].sizes()[axis]) source[axis] -= in[which++].sizes()[axis];
    copy_element(in[which], position(source, in[which].sizes()), out, to++);
  });
  return out;
}

Tensor flip(const Tensor& x, const Ints& axes) {
  Ints source;
  return copy_elements(x, sizes_of(x), [&](const Ints& index) {
    source = index;
    for (const std::int64_t entry : axes) {
      const auto axis = static_cast<std::size_t>(entry);
      source[axis] = x.sizes()[axis] - 1 - source[axis];
    }
    return position(source, x.sizes());
  });
}

Result<Tensor> move(const EvalCall& call) {
  const Tensor& x = call.in[0];
  const Attrs& attrs = call.attrs;
  switch (call.op) {
    case Op::kBitcast:
      return Tensor(attrs.dtype("dtype"), sizes_of(x), Ints(x.strides().begin(), x.strides().end()), x.data(),
                    x.owner());
    case Op::kTranspose:
      return transpose(x, attrs.ints("perm"));
    case Op::kConcat:
      return concat(call.in, call.axis());
    case Op::kFlip:
      return flip(x, attrs.ints("axes"));
    case Op::kReshape: {
      TW_ASSIGN(const Ints sizes, call.sizes("shape"));
      return reshape(x, sizes);
    }
    case Op::kExpand: {
      TW_ASSIGN(const Ints sizes, call.sizes("shape"));
      TW_TRY(check_sizes(sizes));
      return expand(x, sizes);
    }
    case Op::kSlice: {
      TW_ASSIGN(const Ints start, call.sizes("start"));
      TW_ASSIGN(const Ints stop, call.sizes("stop"));
      return slice(x, start, stop, attrs.ints("step"));
    }
    case Op::kPad: {
      TW_ASSIGN(const Ints low, call.sizes("low"));
      TW_ASSIGN(const Ints high, call.sizes("high"));
      const Tensor value = call.in.size() > 1 ? call.in[1] : Tensor::zeros(x.dtype(), {});
      return pad(x, value, low, high, attrs.text("mode"));
    }
    default:
      break;
  }
  TW_CHECK(false, info(call.op).text);
  return x;
}

}  // namespace

Results eval_movement(const EvalCall& call) {
  TW_ASSIGN(Tensor out, move(call));
  return std::vector<Tensor>{std::move(out)};
}

}  // namespace tilewright
