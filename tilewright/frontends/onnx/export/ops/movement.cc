// Operators that move elements. Sizes that the ONNX operator can find by itself are left to it (a 0 or a -1 of Reshape,
// a 1 of Expand), where that is right for every size, 0 included. Before opset 14 a Reshape cannot be told that a size
// which is computed is 0.
#include <algorithm>

#include "tilewright/frontends/onnx/export/node.h"

namespace tilewright::onnx {
namespace {

// What Reshape takes if it needs no arithmetic: a known size, 0 for that of the same axis, one -1 for what is left.
std::optional<Ints> simple_shape(const ExportNode& n, const Shape& from, const Shape& to) {
  Ints out;
  bool copies_maybe_zero = false;
  int rest = 0;
  for (std::size_t axis = 0; axis < to.size(); ++axis) {
    const auto number = n.known(to[axis]);
    if (number && *number == 0) return std::nullopt;
    if (number) {
      out.push_back(*number);
    } else if (axis < from.size() && n.facts().same(from[axis], to[axis]) == Answer::kYes) {
      out.push_back(0);
      copies_maybe_zero = copies_maybe_zero || n.facts().range(to[axis]).low < 1;
    } else {
      out.push_back(-1);
      ++rest;
    }
  }
  if (rest > 1 || (rest == 1 && copies_maybe_zero)) return std::nullopt;
  return out;
}

// The axes of `large` that are 1 and that `small` does not have, if that is all in which they differ.
std::optional<Ints> added_ones(const ExportNode& n, const Shape& small, const Shape& large) {
  Ints added;
  std::size_t next = 0;
  for (std::size_t axis = 0; axis < large.size(); ++axis) {
    const bool same = next < small.size() && n.facts().same(small[next], large[axis]) == Answer::kYes;
    if (same) {
      ++next;
    } else if (large[axis].constant() == 1) {
      added.push_back(static_cast<std::int64_t>(axis));
    } else {
      return std::nullopt;
    }
  }
  return next == small.size() ? std::optional(added) : std::nullopt;
}

bool is_empty(const Shape& shape) {
  return std::any_of(shape.begin(), shape.end(), [](Dim dim) { return dim.constant() == 0; });
}

// x[:start] or x[stop:] of an axis; nothing if it is empty for sure.
std::optional<Out> side(ExportNode& n, Out x, std::int64_t axis, Dim start, Dim stop) {
  if (n.facts().same(start, stop) == Answer::kYes) return std::nullopt;
  return n.slice(x, axis, start, stop);
}

// A circular pad of one axis.
Out wrap(ExportNode& n, Out x, std::int64_t axis, Dim size, Dim low, Dim high) {
  Outs parts;
  if (const auto before = side(n, x, axis, size - low, size)) parts.push_back(*before);
  parts.push_back(x);
  if (const auto after = side(n, x, axis, Dim(0), high)) parts.push_back(*after);
  return n.concat(parts, axis);
}

Out updated(ExportNode& n, Out x, Out update, std::size_t axis);

// x with `update` along `axis`, where it covers all of the axes before.
Out updated_along(ExportNode& n, Out x, Out inner, std::size_t axis) {
  const Dim size = n.shape(0)[axis], count = n.shape(1)[axis], start = n.attrs().dims("start")[axis];
  const std::int64_t step = n.attrs().ints("step")[axis];
  const auto at = static_cast<std::int64_t>(axis);
  if (step == 1) {
    Outs parts;
    if (const auto before = side(n, x, at, Dim(0), start)) parts.push_back(*before);
    parts.push_back(inner);
    if (const auto after = side(n, x, at, start + count, size)) parts.push_back(*after);
    return n.concat(parts, at);
  }
  const Out range =
      n.make("Range", {n.integer(DType::kI64, 0), n.scalar(count, DType::kI64), n.integer(DType::kI64, 1)});
  Out index = n.add(n.mul(range, n.integer(DType::kI64, step)), n.scalar(start, DType::kI64));
  Ints column;
  for (std::size_t i = axis + 1; i < n.shape(0).size(); ++i) column.push_back(static_cast<std::int64_t>(i - axis));
  index = n.unsqueeze(index, column);
  const Out shape = n.make("Shape", {inner}, {}, DType::kI64);
  index = n.make("Expand", {index, shape}, {}, DType::kI64);
  return n.make("ScatterElements", {x, index, inner}, {{"axis", at}});
}

Out updated(ExportNode& n, Out x, Out update, std::size_t axis) {
  const Shape& shape = n.shape(0);
  while (axis < shape.size() && n.attrs().dims("start")[axis].constant() == 0 && n.attrs().ints("step")[axis] == 1 &&
         n.facts().same(n.shape(1)[axis], shape[axis]) == Answer::kYes) {
    ++axis;
  }
  if (axis == shape.size()) return update;
  const Dim start = n.attrs().dims("start")[axis], count = n.shape(1)[axis];
  const std::int64_t step = n.attrs().ints("step")[axis];
  bool is_last = true;
  for (std::size_t i = axis + 1; i < shape.size(); ++i) {
    is_last = is_last && n.attrs().dims("start")[i].constant() == 0 && n.attrs().ints("step")[i] == 1 &&
              n.facts().same(n.shape(1)[i], shape[i]) == Answer::kYes;
  }
  if (is_last) return updated_along(n, x, update, axis);
  const Out part = n.make("Slice", {x, n.size(start), n.size(start + (count - Dim(1)) * Dim(step) + Dim(1)),
                                    n.ints({static_cast<std::int64_t>(axis)}), n.ints({step})});
  return updated_along(n, x, updated(n, part, update, axis + 1), axis);
}

}  // namespace

Out ExportNode::reshape(Out value, const Shape& from, const Shape& to) {
  if (from == to) return value;
  if (from.size() < to.size()) {
    if (const auto added = added_ones(*this, from, to)) return unsqueeze(value, *added);
  } else if (const auto removed = added_ones(*this, to, from); removed && !removed->empty()) {
    return make("Squeeze", {value, ints(*removed)});
  }
  if (is_empty(to) && opset() < 14) return make("Expand", {like(value, 0), sizes(to)}, {}, value.dtype);
  if (const auto simple = simple_shape(*this, from, to)) return make("Reshape", {value, ints(*simple)});
  const Out shape = sizes(to);
  if (opset() < 14) return make("Reshape", {value, shape});
  return make("Reshape", {value, shape}, {{"allowzero", std::int64_t{1}}});
}

// A 1 leaves the size that is there.
Out ExportNode::expand(Out value, const Shape& from, const Shape& to) {
  Shape wanted = to;
  const std::size_t added = to.size() - from.size();
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (facts().same(from[i], to[added + i]) == Answer::kYes) wanted[added + i] = Dim(1);
  }
  const auto is_one = [](Dim dim) { return dim.constant() == 1; };
  if (added == 0 && std::all_of(wanted.begin(), wanted.end(), is_one)) return value;
  return make("Expand", {value, sizes(wanted)}, {}, value.dtype);
}

Outs export_reshape(ExportNode& n) {
  return {n.reshape(n.input(0), n.shape(0), n.attrs().dims("shape"))};
}

Outs export_transpose(ExportNode& n) {
  return {n.transpose(n.input(0), n.attrs().ints("perm"))};
}

Outs export_expand(ExportNode& n) {
  return {n.expand(n.input(0), n.shape(0), n.attrs().dims("shape"))};
}

Outs export_slice(ExportNode& n) {
  const Dims &start = n.attrs().dims("start"), &stop = n.attrs().dims("stop");
  const Ints& step = n.attrs().ints("step");
  Dims starts, stops;
  Ints axes, steps;
  for (std::size_t axis = 0; axis < start.size(); ++axis) {
    const bool whole = start[axis].constant() == 0 && n.facts().same(stop[axis], n.shape(0)[axis]) == Answer::kYes;
    if (whole && step[axis] == 1) continue;
    starts.push_back(start[axis]);
    stops.push_back(n.facts().same(stop[axis], n.shape(0)[axis]) == Answer::kYes ? Dim(INT64_MAX) : stop[axis]);
    axes.push_back(static_cast<std::int64_t>(axis));
    steps.push_back(step[axis]);
  }
  if (axes.empty()) return {n.input(0)};
  const bool by_one = std::all_of(steps.begin(), steps.end(), [](std::int64_t one) { return one == 1; });
  const Out skip = by_one ? Out{} : n.ints(steps);
  return {n.make("Slice", {n.input(0), n.sizes(starts), n.sizes(stops), n.ints(axes), skip})};
}

Outs export_pad(ExportNode& n) {
  const Dims &low = n.attrs().dims("low"), &high = n.attrs().dims("high");
  const std::string_view mode = n.attrs().text("mode");
  if (mode == "circular" && n.opset() < 19) {
    Out out = n.input(0);
    for (std::size_t axis = 0; axis < low.size(); ++axis) {
      out = wrap(n, out, static_cast<std::int64_t>(axis), n.shape(0)[axis], low[axis], high[axis]);
    }
    return {out};
  }
  Dims pads = low;
  pads.insert(pads.end(), high.begin(), high.end());
  const std::string_view name = mode == "replicate" ? "edge" : mode == "circular" ? "wrap" : mode;
  const Attributes attributes{{"mode", name}};
  if (n.num_inputs() == 1) return {n.make("Pad", {n.input(0), n.sizes(pads)}, attributes)};
  const Out x = n.input(0), value = n.input(1);
  if (x.dtype == DType::kI16 || x.dtype == DType::kBool || x.dtype == DType::kBF16) {
    const DType wide = is_float(x.dtype) ? DType::kF32 : DType::kI32;
    return {n.cast(n.make("Pad", {n.cast(x, wide), n.sizes(pads), n.cast(value, wide)}, attributes), x.dtype)};
  }
  return {n.make("Pad", {x, n.sizes(pads), value}, attributes)};
}

Outs export_concat(ExportNode& n) {
  Outs inputs;
  for (std::size_t i = 0; i < n.num_inputs(); ++i) inputs.push_back(n.input(i));
  return {n.concat(inputs, n.integer("axis"))};
}

Outs export_flip(ExportNode& n) {
  const Ints& axes = n.attrs().ints("axes");
  if (axes.empty()) return {n.input(0)};
  const Ints back(axes.size(), -1), end(axes.size(), INT64_MIN);
  return {n.make("Slice", {n.input(0), n.ints(back), n.ints(end), n.ints(axes), n.ints(back)})};
}

Outs export_update_slice(ExportNode& n) {
  return {updated(n, n.input(0), n.input(1), 0)};
}

Outs export_definition(ExportNode& n) {
  return n.definition();
}

}  // namespace tilewright::onnx
