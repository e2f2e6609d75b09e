// Matrix products.
#include "tilewright/frontends/onnx/operators.h"

namespace tilewright::onnx {

// A vector is a matrix of one row (left) or one column (right), whose axis is gone from the result.
Maybe import_matmul(OnnxNode& n) {
  TW_ASSIGN(const TensorType a, n.type(0));
  TW_ASSIGN(const TensorType b, n.type(1));
  if (a.shape.empty() || b.shape.empty()) return fail(ErrorKind::kShapeMismatch, "a product of {} and {}", a, b);
  const bool row = a.shape.size() == 1;
  const bool column = b.shape.size() == 1;
  const Maybe left = row ? n.unsqueeze(n.input(0), {0}) : n.input(0);
  const Maybe right = column ? n.unsqueeze(n.input(1), {1}) : n.input(1);
  TW_ASSIGN(const ValueId product, n.op(Op::kMatMul, {left, right}));
  if (!row && !column) return product;
  Shape shape = n.type_of(product).shape;
  if (column) shape.pop_back();
  if (row) shape.erase(shape.end() - (column ? 1 : 2));
  return n.reshape(product, std::move(shape));
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
