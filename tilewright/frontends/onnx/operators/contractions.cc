// Matrix products.
#include "tilewright/frontends/onnx/operators/products.h"

namespace tilewright::onnx {

Maybe import_matmul(OnnxNode& n) {
  return vectors_as_matrices(n, n.input(0), n.input(1), [&](const Maybe& left, const Maybe& right) {
    return n.op(Op::kMatMul, {left, right});
  });
}

// alpha * a' b' + beta * c
Maybe import_gemm(OnnxNode& n) {
  const auto side = [&](std::size_t input, std::string_view transposed) {
    return n.integer(transposed, 0) != 0 ? n.transpose(n.input(input), {1, 0}) : n.input(input);
  };
  TW_ASSIGN(const TensorType type, n.type(0));
  Maybe y = n.op(Op::kMatMul, {side(0, "transA"), side(1, "transB")});
  const double alpha = n.real("alpha", 1.0);
  const double beta = n.real("beta", 1.0);
  const auto scaled = [&](const Maybe& value, double factor) {
    if (factor == 1.0) return value;
    if (is_float(type.dtype)) return n.op(Op::kMul, {value, n.number_like(value, factor)});
    const Maybe wide = n.cast(value, DType::kF64);
    return n.cast(n.op(Op::kMul, {wide, n.number_like(wide, factor)}), type.dtype);
  };
  y = scaled(y, alpha);
  if (!n.has(2) || beta == 0.0) return y;
  return n.op(Op::kAdd, {y, scaled(n.input(2), beta)});
}

}  // namespace tilewright::onnx
