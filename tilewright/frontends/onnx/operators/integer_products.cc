// Products of bytes, kept integer: i32 sums of (a - a_zero) * (b - b_zero), then scaled to floats or to bytes.
#include "tilewright/frontends/onnx/operators/products.h"
#include "tilewright/frontends/onnx/operators/quantization.h"

namespace tilewright::onnx {
namespace {

// A parameter of the rows of a: one element, or [m] as [m, 1].
Maybe row_parameter(OnnxNode& n, std::size_t input) {
  TW_ASSIGN(const ValueId value, as_parameter(n, input));
  return n.type_of(value).shape.size() == 1 ? n.unsqueeze(value, {1}) : Maybe(value);
}

Maybe zero_or_none(OnnxNode& n, std::size_t input, bool rows, DType dtype) {
  if (!n.has(input)) return n.number(dtype, Dim(0));
  return rows ? row_parameter(n, input) : as_parameter(n, input);
}

// i32 product of a and b; a zero point is a scalar, [m, 1] or [.., m, 1] (a), [n] or [.., 1, n] (b).
Maybe integer_product(OnnxNode& n, const Maybe& a, const Maybe& b, const Maybe& a_zero, const Maybe& b_zero) {
  return vectors_as_matrices(n, a, b, [&](const Maybe& left, const Maybe& right) {
    return n.op(Op::kIntegerMatMul, {left, right, a_zero, b_zero});
  });
}

// The product of inputs a and b of the node with their zero points.
Maybe product_of(OnnxNode& n, std::size_t a, std::size_t b, std::size_t a_zero, std::size_t b_zero) {
  TW_ASSIGN(const TensorType left, n.type(a));
  TW_ASSIGN(const TensorType right, n.type(b));
  if (!n.has(a_zero) && !n.has(b_zero)) {
    return vectors_as_matrices(n, n.input(a), n.input(b), [&](const Maybe& x, const Maybe& y) {
      return n.op(Op::kIntegerMatMul, {x, y});
    });
  }
  return integer_product(n, n.input(a), n.input(b), zero_or_none(n, a_zero, true, left.dtype),
                         zero_or_none(n, b_zero, false, right.dtype));
}

// The product as floats, with an optional bias that is added to it.
Maybe scaled(OnnxNode& n, const Maybe& product, const Maybe& scale, std::size_t bias) {
  TW_ASSIGN(const ValueId factor, Maybe(scale));
  const Maybe y = n.op(Op::kMul, {n.cast(product, n.type_of(factor).dtype), factor});
  return n.has(bias) ? n.op(Op::kAdd, {y, n.input(bias)}) : y;
}

}  // namespace

Maybe import_matmul_integer(OnnxNode& n) {
  return product_of(n, 0, 1, 2, 3);
}

// a a_scale a_zero b b_scale b_zero y_scale y_zero
Maybe import_qlinear_matmul(OnnxNode& n) {
  const Maybe product = product_of(n, 0, 3, 2, 5);
  const Maybe scale = n.op(Op::kMul, {row_parameter(n, 1), as_parameter(n, 4)});
  const Maybe ratio = n.cast(n.op(Op::kDiv, {scale, as_parameter(n, 6)}), DType::kF32);
  return requantized(n, scaled(n, product, ratio, n.num_inputs()), as_parameter(n, 7));
}

// a b a_scale b_scale a_zero b_zero bias
Maybe import_matmul_integer_to_float(OnnxNode& n) {
  return scaled(n, product_of(n, 0, 1, 4, 5), n.op(Op::kMul, {row_parameter(n, 2), as_parameter(n, 3)}), 6);
}

// a b b_scale b_zero bias; a is quantised here
Maybe import_dynamic_quantize_matmul(OnnxNode& n) {
  TW_ASSIGN(const TensorType b, n.type(1));
  TW_ASSIGN(const DynamicallyQuantized a, quantize_dynamically(n, n.input(0)));
  const Maybe product = integer_product(n, a.y, n.input(1), a.zero, zero_or_none(n, 3, false, b.dtype));
  return scaled(n, product, n.op(Op::kMul, {a.scale, as_parameter(n, 2)}), 4);
}

// a a_scale a_zero b b_scale b_zero c y_scale y_zero: c is i32 in steps of alpha * a_scale * b_scale
Maybe import_qgemm(OnnxNode& n) {
  TW_ASSIGN(const TensorType a, n.type(0));
  TW_ASSIGN(const TensorType b, n.type(3));
  const auto side = [&](std::size_t input, std::string_view transposed) {
    return n.integer(transposed, 0) != 0 ? n.transpose(n.input(input), {1, 0}) : n.input(input);
  };
  Maybe sum = integer_product(n, side(0, "transA"), side(3, "transB"), zero_or_none(n, 2, true, a.dtype),
                              zero_or_none(n, 5, false, b.dtype));
  if (n.has(6)) sum = n.op(Op::kAdd, {sum, n.input(6)});
  Maybe scale = n.op(Op::kMul, {as_parameter(n, 1), as_parameter(n, 4)});
  scale = n.op(Op::kMul, {scale, n.number_like(scale, n.real("alpha", 1.0))});
  if (!n.has(7)) return scaled(n, sum, scale, n.num_inputs());
  const Maybe ratio = n.op(Op::kDiv, {scale, as_parameter(n, 7)});
  const Maybe zero = n.has(8) ? as_parameter(n, 8) : n.number(a.dtype, Dim(0));
  return requantized(n, scaled(n, sum, ratio, n.num_inputs()), zero);
}

}  // namespace tilewright::onnx
