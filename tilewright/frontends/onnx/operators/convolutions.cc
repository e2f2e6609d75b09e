// Convolutions and their transposes over one to three spatial axes.
#include "tilewright/frontends/onnx/operators.h"
#include "tilewright/frontends/onnx/operators/windows.h"

namespace tilewright::onnx {
namespace {

struct Operands {
  TensorType x, w;
  DType wide;
  std::vector<ValueId> inputs;  // in `wide`
};

Result<Operands> read_operands(OnnxNode& n) {
  Operands out{};
  TW_ASSIGN(out.x, n.type(0));
  TW_ASSIGN(out.w, n.type(1));
  if (out.x.shape.size() < 3 || out.x.shape.size() != out.w.shape.size()) {
    return fail(ErrorKind::kShapeMismatch, "ranks must be equal and at least 3: {} x {}", out.x, out.w);
  }
  out.wide = window_dtype(out.x.dtype);
  for (std::size_t i = 0; i < 3; ++i) {
    if (!n.has(i)) break;
    TW_ASSIGN(const ValueId value, n.cast(n.input(i), out.wide));
    out.inputs.push_back(value);
  }
  return out;
}

// The size of the result is given: pads are what is left, and where they would be negative the result is longer.
Status fit_output(const OnnxNode& n, const Shape& x, const Dims& wanted, const Ints& output_pad, Windows& windows) {
  if (wanted.size() != windows.size.size()) {
    return fail(ErrorKind::kInvalidArgument, "output_shape has {} entries for {} axes", wanted.size(),
                windows.size.size());
  }
  const bool more_below = n.text("auto_pad", "NOTSET") != "SAME_UPPER";
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const Dim natural = (x[i + 2] - 1) * windows.stride[i] + (windows.size[i] - 1) * windows.dilation[i] + 1;
    const Dim total = natural + output_pad[i] - wanted[i];
    const Dim less = floordiv(total, 2);
    windows.low[i] = more_below ? total - less : less;
    windows.high[i] = more_below ? less : total - less;
  }
  return {};
}

// What output_shape says, with or without batch and channels, or what auto_pad means; empty: the pads hold.
Dims wanted_sizes(const OnnxNode& n, const Shape& x, const Ints& stride) {
  Dims wanted;
  if (const auto given = n.integers_of("output_shape"); given && !given->empty()) {
    wanted.assign(given->begin(), given->end());
    if (wanted.size() == x.size()) wanted.erase(wanted.begin(), wanted.begin() + 2);
  } else if (n.text("auto_pad", "NOTSET").starts_with("SAME")) {
    for (std::size_t i = 0; i < stride.size(); ++i) wanted.push_back(x[i + 2] * stride[i]);
  }
  return wanted;
}

}  // namespace

Maybe import_conv(OnnxNode& n) {
  TW_ASSIGN(const Operands in, read_operands(n));
  TW_ASSIGN(const Windows windows,
            read_windows(n, in.x.shape, Dims(in.w.shape.begin() + 2, in.w.shape.end()), Rounding::kFloor));
  return n.cast(n.op(Op::kConv, in.inputs,
                     {{"stride", windows.stride},
                      {"low", windows.low},
                      {"high", windows.high},
                      {"dilation", windows.dilation},
                      {"groups", n.integer("group", 1)}}),
                in.x.dtype);
}

Maybe import_conv_transpose(OnnxNode& n) {
  TW_ASSIGN(const Operands in, read_operands(n));
  const Dims size(in.w.shape.begin() + 2, in.w.shape.end());
  TW_ASSIGN(Windows windows, read_windows(n, in.x.shape, size, Rounding::kFloor));
  TW_ASSIGN(const Ints output_pad, read_spatial(n, "output_padding", size.size(), 0));
  if (const Dims wanted = wanted_sizes(n, in.x.shape, windows.stride); !wanted.empty()) {
    TW_TRY(fit_output(n, in.x.shape, wanted, output_pad, windows));
  }
  return n.cast(n.op(Op::kConvTranspose, in.inputs,
                     {{"stride", windows.stride},
                      {"low", windows.low},
                      {"high", windows.high},
                      {"dilation", windows.dilation},
                      {"output_pad", output_pad},
                      {"groups", n.integer("group", 1)}}),
                in.x.dtype);
}

}  // namespace tilewright::onnx
