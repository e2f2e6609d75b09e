// concat, pad and update_slice: copies and fills of parts of the output, each element written once.
#include <algorithm>

#include "tilewright/compiler/axis.h"
#include "tilewright/compiler/copy.h"
#include "tilewright/compiler/kernels.h"

namespace tilewright::compiler {
namespace {

using Sizes = std::array<std::int64_t, kMaxTensorRank>;

Sizes bound_sizes(const BoundAttrs& attrs, std::string_view name) {
  Sizes out{};
  const auto given = attrs.integers(name);
  std::copy(given.begin(), given.end(), out.begin());
  return out;
}

Status check_pad(std::string_view mode, int axis, std::int64_t size, std::int64_t pad) {
  const bool fits = mode == "reflect" ? pad < size : mode == "circular" ? pad <= size : pad == 0 || size > 0;
  if (pad >= 0 && fits) return {};
  return fail(ErrorKind::kInvalidArgument, "a '{}' pad of {} does not fit axis {} of size {}", mode, pad, axis, size);
}

// The borders get the value: those of axis 0 over everything, those of a later axis between the borders of earlier
// ones.
Status pad_constant(const Kernel& kernel, const Sizes& low, const Sizes& high, Emitter& out) {
  View inside = kernel.inputs[0];
  View rest = kernel.outputs[0];
  View value = kernel.inputs.size() > 1 ? kernel.inputs[1] : View{};
  const auto fill = [&](const View& to) {
    if (kernel.inputs.size() < 2) return emit_fill(to, 0, *kernel.traits, out);
    View from = value;
    from.rank = to.rank;
    from.sizes = to.sizes;
    from.strides = {};
    return emit_copy(from, to, *kernel.traits, out);
  };
  for (int axis = 0; axis < rest.rank; ++axis) {
    const std::int64_t size = rest.sizes[at(axis)];
    const std::int64_t before = std::clamp<std::int64_t>(low[at(axis)], 0, size);
    const std::int64_t kept =
        std::clamp<std::int64_t>(size - before - std::max<std::int64_t>(high[at(axis)], 0), 0, size - before);
    TW_TRY(fill(slice_axis(rest, axis, 0, before)));
    TW_TRY(fill(slice_axis(rest, axis, before + kept, size - before - kept)));
    rest = slice_axis(rest, axis, before, kept);
    inside = slice_axis(inside, axis, std::max<std::int64_t>(-low[at(axis)], 0), kept);
  }
  return emit_copy(inside, rest, *kernel.traits, out);
}

// The part of `view` that is already filled when the borders of `axis` are: all of earlier axes, the inside of later
// ones.
View filled(View view, const View& x, const Sizes& low, int axis) {
  for (int later = axis + 1; later < view.rank; ++later)
    view = slice_axis(view, later, low[at(later)], x.sizes[at(later)]);
  return view;
}

// The inside, then axis by axis the borders, which read what is there already.
Status pad_from_inside(const Kernel& kernel, std::string_view mode, const Sizes& low, const Sizes& high, Emitter& out) {
  const View& x = kernel.inputs[0];
  const View& result = kernel.outputs[0];
  for (int axis = 0; axis < x.rank; ++axis) {
    TW_TRY(check_pad(mode, axis, x.sizes[at(axis)], low[at(axis)]));
    TW_TRY(check_pad(mode, axis, x.sizes[at(axis)], high[at(axis)]));
  }
  TW_TRY(emit_copy(x, filled(result, x, low, -1), *kernel.traits, out));
  for (int axis = 0; axis < x.rank; ++axis) {
    const View view = filled(result, x, low, axis);
    const std::int64_t size = x.sizes[at(axis)], before = low[at(axis)], after = high[at(axis)], end = before + size;
    struct Border {
      std::int64_t to, count, from, step;
    };
    Border borders[2];
    if (mode == "reflect") {
      borders[0] = {0, before, 2 * before, -1};
      borders[1] = {end, after, end - 2, -1};
    } else if (mode == "replicate") {
      borders[0] = {0, before, before, 0};
      borders[1] = {end, after, end - 1, 0};
    } else {
      borders[0] = {0, before, size, 1};
      borders[1] = {end, after, before, 1};
    }
    for (const Border& border : borders) {
      TW_TRY(emit_copy(slice_axis(view, axis, border.from, border.count, border.step),
                       slice_axis(view, axis, border.to, border.count), *kernel.traits, out));
    }
  }
  return {};
}

}  // namespace

Status emit_concat(const Kernel& kernel, Emitter& out) {
  const auto axis = static_cast<int>(kernel.attrs->integer("axis"));
  std::int64_t start = 0;
  for (const View& input : kernel.inputs) {
    const std::int64_t size = input.sizes[at(axis)];
    TW_TRY(emit_copy(input, slice_axis(kernel.outputs[0], axis, start, size), *kernel.traits, out));
    start += size;
  }
  return {};
}

Status emit_pad(const Kernel& kernel, Emitter& out) {
  const Sizes low = bound_sizes(*kernel.attrs, "low"), high = bound_sizes(*kernel.attrs, "high");
  const std::string& mode = kernel.attrs->text("mode");
  if (mode == "constant") return pad_constant(kernel, low, high, out);
  return pad_from_inside(kernel, mode, low, high, out);
}

Status emit_update_slice(const Kernel& kernel, Emitter& out) {
  const View& updates = kernel.inputs[1];
  const Sizes start = bound_sizes(*kernel.attrs, "start"), step = bound_sizes(*kernel.attrs, "step");
  View target = kernel.outputs[0];
  for (int axis = 0; axis < target.rank; ++axis) {
    const std::int64_t size = target.sizes[at(axis)], count = updates.sizes[at(axis)], first = start[at(axis)];
    const bool inside = first < size && count - 1 <= (size - 1 - first) / step[at(axis)];
    if (first < 0 || (count > 0 && !inside)) {
      return fail(ErrorKind::kIndexOutOfRange, "an update of {} from {} does not lie in axis {} of size {}", count,
                  first, axis, size);
    }
    target = slice_axis(target, axis, first, count, step[at(axis)]);
  }
  TW_TRY(emit_copy(kernel.inputs[0], kernel.outputs[0], *kernel.traits, out));
  return emit_copy(updates, target, *kernel.traits, out);
}

}  // namespace tilewright::compiler
