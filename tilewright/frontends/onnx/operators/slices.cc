// Slice and Pad: bounds that may be negative, out of range, or known only at a call.
#include <algorithm>
#include <array>

#include "tilewright/frontends/onnx/operators.h"

namespace tilewright::onnx {
namespace {

constexpr std::int64_t kFarAway = INT32_MAX;  // exporters write such a stop for "to the end"

struct Bounds {
  Dims starts, ends;
  Ints axes, steps;
};

Result<Bounds> read_bounds(OnnxNode& n, std::size_t rank) {
  Bounds out;
  if (const auto starts = n.integers_of("starts")) {
    const Ints ends = n.integers_of("ends").value_or(Ints());
    out.starts.assign(starts->begin(), starts->end());
    out.ends.assign(ends.begin(), ends.end());
    out.axes = n.integers_of("axes").value_or(Ints());
  } else {
    TW_ASSIGN(out.starts, n.integers(1));
    TW_ASSIGN(out.ends, n.integers(2));
    if (n.has(3)) {
      TW_ASSIGN(out.axes, n.constant_integers(3));
    }
    if (n.has(4)) {
      TW_ASSIGN(out.steps, n.constant_integers(4));
    }
  }
  if (out.axes.empty()) {
    for (std::size_t axis = 0; axis < out.starts.size(); ++axis) out.axes.push_back(static_cast<std::int64_t>(axis));
  }
  if (out.steps.empty()) out.steps.assign(out.starts.size(), 1);
  TW_ASSIGN(out.axes, n.axes(out.axes, rank));
  const std::size_t count = out.starts.size();
  if (out.ends.size() != count || out.axes.size() != count || out.steps.size() != count) {
    return fail(ErrorKind::kInvalidArgument, "{} starts, {} ends, {} axes, {} steps", count, out.ends.size(),
                out.axes.size(), out.steps.size());
  }
  return out;
}

Dim smaller(Dim a, Dim b, const Facts& facts) {
  if (facts.less_equal(a, b) == Answer::kYes) return a;
  return facts.less_equal(b, a) == Answer::kYes ? b : min(a, b);
}

Dim larger(Dim a, Dim b, const Facts& facts) {
  if (facts.less_equal(a, b) == Answer::kYes) return b;
  return facts.less_equal(b, a) == Answer::kYes ? a : max(a, b);
}

// A bound counted from the front and held in [low, high].
Dim clamped(Dim at, Dim size, Dim low, Dim high, const Facts& facts) {
  if (const auto number = at.constant(); number && *number >= kFarAway) return high;
  if (const auto number = at.constant(); number && *number <= -kFarAway) return low;
  if (facts.less(at, Dim(0)) == Answer::kYes) {
    at = at + size;
  } else if (facts.less_equal(Dim(0), at) != Answer::kYes) {
    at = select(Dim::make(DimOp::kLt, std::array{at, Dim(0)}), at + size, at);
  }
  return smaller(larger(at, low, facts), high, facts);
}

struct Range {
  Dim start = 0, stop = 0;
};

// Of an axis read forwards, or of the axis flipped if the step is negative.
Range forward_range(Dim start, Dim end, std::int64_t step, Dim size, const Facts& facts) {
  if (step > 0) {
    const Dim first = clamped(start, size, 0, size, facts);
    return {first, larger(first, clamped(end, size, 0, size, facts), facts)};
  }
  const Dim last = size - 1;
  const Dim first = last - clamped(start, size, -1, last, facts);
  return {first, larger(first, last - clamped(end, size, -1, last, facts), facts)};
}

}  // namespace

Maybe import_slice(OnnxNode& n) {
  TW_ASSIGN(const TensorType type, n.type(0));
  TW_ASSIGN(const Bounds bounds, read_bounds(n, type.shape.size()));
  Dims starts(type.shape.size(), Dim(0));
  Dims stops(type.shape);
  Ints steps(type.shape.size(), 1);
  Ints flipped;
  for (std::size_t i = 0; i < bounds.axes.size(); ++i) {
    const auto axis = static_cast<std::size_t>(bounds.axes[i]);
    const std::int64_t step = bounds.steps[i];
    if (step == 0 || step < -kFarAway) return fail(ErrorKind::kInvalidArgument, "a step of {}", step);
    const Range range = forward_range(bounds.starts[i], bounds.ends[i], step, type.shape[axis], n.facts());
    starts[axis] = range.start;
    stops[axis] = range.stop;
    steps[axis] = std::abs(step);
    if (step < 0) flipped.push_back(bounds.axes[i]);
  }
  Maybe x = n.input(0);
  if (!flipped.empty()) x = n.op(Op::kFlip, {x}, {{"axes", flipped}});
  return n.op(Op::kSlice, {x}, {{"start", starts}, {"stop", stops}, {"step", steps}});
}

Maybe import_pad(OnnxNode& n) {
  TW_ASSIGN(const TensorType type, n.type(0));
  const std::size_t rank = type.shape.size();
  Dims pads;
  if (const auto given = n.integers_of(n.version() < 2 ? "paddings" : "pads")) {
    pads.assign(given->begin(), given->end());
  } else {
    TW_ASSIGN(pads, n.integers(1));
  }
  Ints axes;
  if (n.has(3)) {
    TW_ASSIGN(const Ints given, n.constant_integers(3));
    TW_ASSIGN(axes, n.axes(given, rank));
  } else {
    for (std::size_t axis = 0; axis < rank; ++axis) axes.push_back(static_cast<std::int64_t>(axis));
  }
  if (pads.size() != 2 * axes.size()) {
    return fail(ErrorKind::kInvalidArgument, "{} pads for {} axes", pads.size(), axes.size());
  }
  Dims low(rank, Dim(0));
  Dims high(rank, Dim(0));
  for (std::size_t i = 0; i < axes.size(); ++i) {
    low[static_cast<std::size_t>(axes[i])] = pads[i];
    high[static_cast<std::size_t>(axes[i])] = pads[axes.size() + i];
  }
  const std::string_view mode = n.text("mode", "constant");
  if (mode != "constant") {
    const std::string name = mode == "edge" ? "replicate" : mode == "wrap" ? "circular" : std::string(mode);
    return n.op(Op::kPad, {n.input(0)}, {{"low", low}, {"high", high}, {"mode", name}});
  }
  const Maybe x = n.input(0);
  const Maybe value = n.has(2)                     ? n.reshape(n.input(2), {})
                      : type.dtype == DType::kBool ? n.cast(n.number(DType::kI64, Dim(0)), DType::kBool)
                                                   : n.number_like(x, n.real("value", 0.0));
  return n.op(Op::kPad, {x, value}, {{"low", low}, {"high", high}});
}

}  // namespace tilewright::onnx
