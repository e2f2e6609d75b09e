#include "tilewright/frontends/onnx/operators/windows.h"

namespace tilewright::onnx {
namespace {

struct Pads {
  Dim low = 0, high = 0;
};

// Pads that make the result as long as the input, divided by the stride and rounded up.
Pads same_pads(Dim size, Dim reach, std::int64_t stride, bool more_below) {
  const Dim needed = max((ceildiv(size, stride) - 1) * stride + reach - size, Dim(0));
  const Dim less = floordiv(needed, 2);
  return more_below ? Pads{needed - less, less} : Pads{less, needed - less};
}

// The last window may reach beyond the pads, but begins before them.
Pads rounded_up(Dim size, Dim reach, std::int64_t stride, Pads pads) {
  const Dim steps = ceildiv(size + pads.low + pads.high - reach, stride);
  const Dim last = min(steps, floordiv(size + pads.low - 1, stride));
  return {pads.low, last * stride + reach - size - pads.low};
}

}  // namespace

Result<Ints> read_spatial(const OnnxNode& n, std::string_view name, std::size_t count, std::int64_t missing) {
  Ints given = n.integers_of(name).value_or(Ints(count, missing));
  if (given.empty()) given.assign(count, missing);
  if (given.size() == count) return given;
  return fail(ErrorKind::kInvalidArgument, "{} has {} entries for {} axes", name, given.size(), count);
}

Result<Ints> read_kernel_shape(const OnnxNode& n, const Shape& x) {
  const std::optional<Ints> given = n.integers_of("kernel_shape");
  if (given && x.size() > 2 && given->size() + 2 == x.size()) return *given;
  return fail(ErrorKind::kInvalidArgument, "kernel_shape has {} entries for an input of rank {}",
              given ? given->size() : 0, x.size());
}

Result<Windows> read_windows(OnnxNode& n, const Shape& x, Dims size, Rounding rounding) {
  const std::size_t count = size.size();
  if (count == 0 || x.size() != count + 2) {
    return fail(ErrorKind::kShapeMismatch, "a window of {} axes for an input of rank {}", count, x.size());
  }
  Windows out;
  TW_ASSIGN(out.stride, read_spatial(n, "strides", count, 1));
  TW_ASSIGN(out.dilation, read_spatial(n, "dilations", count, 1));
  TW_ASSIGN(const Ints given, read_spatial(n, "pads", 2 * count, 0));
  const std::string_view mode = n.text("auto_pad", "NOTSET");
  if (mode != "NOTSET" && mode != "VALID" && mode != "SAME_UPPER" && mode != "SAME_LOWER" && !mode.empty()) {
    return fail(ErrorKind::kInvalidArgument, "auto_pad is '{}'", mode);
  }
  for (std::size_t i = 0; i < count; ++i) {
    const Dim reach = (size[i] - 1) * out.dilation[i] + 1;
    if (out.stride[i] < 1) return fail(ErrorKind::kInvalidArgument, "a stride of {}", out.stride[i]);
    Pads pads;
    if (mode.starts_with("SAME")) {
      pads = same_pads(x[i + 2], reach, out.stride[i], mode == "SAME_LOWER");
    } else if (mode != "VALID") {
      pads = {given[i], given[count + i]};
    }
    if (rounding == Rounding::kCeil && !mode.starts_with("SAME"))
      pads = rounded_up(x[i + 2], reach, out.stride[i], pads);
    if (rounding == Rounding::kTowardsZero) {
      const Dim missing = reach - x[i + 2] - pads.low;
      if (n.facts().less_equal(missing, pads.high) != Answer::kYes) pads.high = max(pads.high, missing);
    }
    out.low.push_back(pads.low);
    out.high.push_back(pads.high);
  }
  out.size = std::move(size);
  return out;
}

DType window_dtype(DType dtype) {
  return dtype == DType::kF64 ? DType::kF64 : DType::kF32;
}

}  // namespace tilewright::onnx
