// Convolutions of bytes, kept integer. The rest of their geometry is that of Conv.
#include "tilewright/frontends/onnx/operators/quantization.h"
#include "tilewright/frontends/onnx/operators/windows.h"

namespace tilewright::onnx {
namespace {

// The i32 convolution of inputs x and w of the node.
Maybe integer_conv(OnnxNode& n, std::size_t x, std::size_t w, std::size_t x_zero, std::size_t w_zero) {
  TW_ASSIGN(const TensorType input, n.type(x));
  TW_ASSIGN(const TensorType weight, n.type(w));
  if (input.shape.size() < 3 || input.shape.size() != weight.shape.size()) {
    return fail(ErrorKind::kShapeMismatch, "ranks must be equal and at least 3: {} x {}", input, weight);
  }
  TW_ASSIGN(const Windows windows,
            read_windows(n, input.shape, Dims(weight.shape.begin() + 2, weight.shape.end()), Rounding::kFloor));
  const Attrs attrs{{"stride", windows.stride},
                    {"low", windows.low},
                    {"high", windows.high},
                    {"dilation", windows.dilation},
                    {"groups", n.integer("group", 1)}};
  if (!n.has(x_zero) && !n.has(w_zero)) return n.op(Op::kIntegerConv, {n.input(x), n.input(w)}, attrs);
  const auto zero = [&](std::size_t at, DType dtype) {
    return n.has(at) ? as_parameter(n, at) : n.number(dtype, Dim(0));
  };
  return n.op(Op::kIntegerConv, {n.input(x), n.input(w), zero(x_zero, input.dtype), zero(w_zero, weight.dtype)}, attrs);
}

// One number for each channel of a result [N, C, spatial..], or one for all.
Maybe along_channels(OnnxNode& n, const Maybe& parameter, std::size_t rank) {
  TW_ASSIGN(const ValueId value, Maybe(parameter));
  const Shape shape = n.type_of(value).shape;
  if (shape.empty()) return value;
  Shape column(rank - 1, Dim(1));
  column[0] = shape[0];
  return n.reshape(value, std::move(column));
}

}  // namespace

// x w x_zero w_zero
Maybe import_conv_integer(OnnxNode& n) {
  return integer_conv(n, 0, 1, 2, 3);
}

// x x_scale x_zero w w_scale w_zero y_scale y_zero bias: the bias is i32 in steps of x_scale * w_scale
Maybe import_qlinear_conv(OnnxNode& n) {
  TW_ASSIGN(const TensorType x, n.type(0));
  Maybe sum = integer_conv(n, 0, 3, 2, 5);
  if (n.has(8)) sum = n.op(Op::kAdd, {sum, along_channels(n, n.input(8), x.shape.size())});
  const Maybe scale = n.op(Op::kMul, {as_parameter(n, 1), as_parameter(n, 4)});
  const Maybe ratio = along_channels(n, n.op(Op::kDiv, {scale, as_parameter(n, 6)}), x.shape.size());
  return requantized(n, n.op(Op::kMul, {n.cast(sum, DType::kF32), ratio}), as_parameter(n, 7));
}

}  // namespace tilewright::onnx
