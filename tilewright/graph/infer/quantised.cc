// Quantised operators: integer products with zero points, scales per tensor, axis or block, 4-bit weights.
#include "tilewright/graph/infer/families.h"
#include "tilewright/graph/infer/rules.h"

namespace tilewright {
namespace {

bool is_byte(DType dtype) {
  return dtype == DType::kU8 || dtype == DType::kI8;
}

Status check_byte(const TensorType& type, std::string_view what) {
  if (is_byte(type.dtype)) return {};
  return fail(ErrorKind::kDTypeMismatch, "{} must be u8 or i8: {}", what, type);
}

Status check_zero(const TensorType& zero, DType dtype, std::string_view what) {
  if (zero.dtype == dtype) return {};
  return fail(ErrorKind::kDTypeMismatch, "{} must be {}: {}", what, dtype, zero);
}

// A scale or zero point of x: one element, [size of axis], or x's rank with one entry per block of axis.
Status check_parameter(const InferInput& in, const TensorType& parameter, std::string_view what) {
  const TensorType& x = in.types[0];
  const std::int64_t block = in.attrs.integer("block"), axis = in.attrs.integer("axis");
  const Shape& shape = parameter.shape;
  if (block < 0) return fail(ErrorKind::kInvalidArgument, "block {} is below 0", block);
  if (block == 0 && (shape.empty() || (shape.size() == 1 && shape[0].constant() == 1))) return {};
  TW_TRY(check_axis(x, axis));
  const auto at = static_cast<std::size_t>(axis);
  if (block == 0) {
    if (shape.size() == 1 && !provably_different(shape[0], x.shape[at], in.facts)) return {};
    return fail(ErrorKind::kShapeMismatch, "{} must have one element or {}: {}", what, x.shape[at], parameter);
  }
  Shape expected = x.shape;
  expected[at] = floordiv(x.shape[at] + Dim(block - 1), Dim(block));
  bool fits = shape.size() == expected.size();
  for (std::size_t i = 0; fits && i < shape.size(); ++i) fits = !provably_different(shape[i], expected[i], in.facts);
  if (fits) return {};
  return fail(ErrorKind::kShapeMismatch, "{} must have the shape {}: {}", what, shape_text(expected), parameter);
}

Status check_one_element(const TensorType& type, std::string_view what) {
  for (const Dim dim : type.shape) {
    if (dim.constant() != 1) return fail(ErrorKind::kShapeMismatch, "{} must have one element: {}", what, type);
  }
  return {};
}

Status check_blocks(const InferInput& in, std::int64_t block) {
  const Shape& q = in.types[1].shape;
  TW_TRY(check_rank(in.types[1], 3, "q"));
  if (block < 16 || block > 4096 || (block & (block - 1)) != 0) {
    return fail(ErrorKind::kInvalidArgument, "block {} is no power of two from 16 to 4096", block);
  }
  if (in.types[1].dtype != DType::kU8) return fail(ErrorKind::kDTypeMismatch, "q must be u8: {}", in.types[1]);
  if (provably_different(q[2], Dim(block / 2), in.facts)) {
    return fail(ErrorKind::kShapeMismatch, "q must have {} bytes a block: {}", block / 2, in.types[1]);
  }
  const Dim k = in.types[0].shape.back();
  if (in.facts.less(q[1] * Dim(block), k) == Answer::kYes) {
    return fail(ErrorKind::kShapeMismatch, "{} blocks of {} do not cover k = {}", q[1], block, k);
  }
  return {};
}

Status check_shape(const InferInput& in, std::size_t input, const Shape& expected, std::string_view what) {
  const Shape& shape = in.types[input].shape;
  bool fits = shape.size() == expected.size();
  for (std::size_t i = 0; fits && i < shape.size(); ++i) fits = !provably_different(shape[i], expected[i], in.facts);
  if (fits) return {};
  return fail(ErrorKind::kShapeMismatch, "{} must have the shape {}: {}", what, shape_text(expected), in.types[input]);
}

}  // namespace

Result<Types> infer_quantize_linear(const InferInput& in) {
  const TensorType& x = in.types[0];
  const DType dtype = in.attrs.dtype("dtype");
  TW_TRY(check_float(x));
  TW_TRY(check_equal_dtypes(std::span(in.types).first(2)));
  if (is_float(dtype) || dtype == DType::kBool || byte_size(dtype) > 2) {
    return fail(ErrorKind::kDTypeMismatch, "dtype must be an integer of 8 or 16 bits: {}", dtype);
  }
  TW_TRY(check_parameter(in, in.types[1], "scale"));
  if (in.types.size() > 2) {
    TW_TRY(check_zero(in.types[2], dtype, "zero"));
    TW_TRY(check_parameter(in, in.types[2], "zero"));
  }
  return Types{{dtype, x.shape}};
}

Result<Types> infer_dequantize_linear(const InferInput& in) {
  const TensorType& x = in.types[0];
  if (is_float(x.dtype) || x.dtype == DType::kBool || byte_size(x.dtype) > 4) {
    return fail(ErrorKind::kDTypeMismatch, "x must be an integer of 8, 16 or 32 bits: {}", x);
  }
  TW_TRY(check_float(in.types[1]));
  TW_TRY(check_parameter(in, in.types[1], "scale"));
  if (in.types.size() > 2) {
    TW_TRY(check_zero(in.types[2], x.dtype, "zero"));
    TW_TRY(check_parameter(in, in.types[2], "zero"));
  }
  return Types{{in.types[1].dtype, x.shape}};
}

Result<Types> infer_integer_matmul(const InferInput& in) {
  TW_TRY(check_byte(in.types[0], "a"));
  TW_TRY(check_byte(in.types[1], "b"));
  const Types product_types{{DType::kI32, in.types[0].shape}, {DType::kI32, in.types[1].shape}};
  TW_ASSIGN(Types out, infer_matmul({in.op, product_types, in.attrs, {}, in.facts}));
  const Shape& shape = out[0].shape;
  for (std::size_t i = 2; i < in.types.size(); ++i) {
    const bool left = i == 2;
    TW_TRY(check_zero(in.types[i], in.types[i - 2].dtype, left ? "a_zero" : "b_zero"));
    Shape large = shape;
    large[shape.size() - (left ? 1 : 2)] = Dim(1);
    TW_TRY(check_expands(in.types[i], large, in.facts));
  }
  return out;
}

Result<Types> infer_integer_conv(const InferInput& in) {
  TW_TRY(check_byte(in.types[0], "x"));
  TW_TRY(check_byte(in.types[1], "w"));
  const Types types{{DType::kI32, in.types[0].shape}, {DType::kI32, in.types[1].shape}};
  TW_ASSIGN(Types out, infer_conv({Op::kConv, types, in.attrs, {}, in.facts}));
  if (in.types.size() > 2) {
    TW_TRY(check_zero(in.types[2], in.types[0].dtype, "x_zero"));
    TW_TRY(check_one_element(in.types[2], "x_zero"));
  }
  if (in.types.size() > 3) {
    const TensorType& zero = in.types[3];
    TW_TRY(check_zero(zero, in.types[1].dtype, "w_zero"));
    if (!zero.shape.empty() && zero.shape != Shape{Dim(1)}) {
      TW_TRY(check_shape(in, 3, {in.types[1].shape[0]}, "w_zero"));
    }
  }
  return out;
}

Result<Types> infer_block_matmul(const InferInput& in) {
  const TensorType& a = in.types[0];
  const std::int64_t block = in.attrs.integer("block");
  TW_TRY(check_float(a));
  if (a.shape.size() < 2) return fail(ErrorKind::kShapeMismatch, "a must have the axes [.., m, k]: {}", a);
  TW_TRY(check_blocks(in, block));
  const Dim n = in.types[1].shape[0], blocks = in.types[1].shape[1];
  if (in.types[2].dtype != a.dtype) {
    return fail(ErrorKind::kDTypeMismatch, "scales must be {}: {}", a.dtype, in.types[2]);
  }
  TW_TRY(check_shape(in, 2, {n, blocks}, "scales"));
  if (in.types.size() > 3) {
    const bool packed = in.types[3].dtype == DType::kU8;
    if (!packed && in.types[3].dtype != a.dtype) {
      return fail(ErrorKind::kDTypeMismatch, "zeros must be u8 or {}: {}", a.dtype, in.types[3]);
    }
    TW_TRY(check_shape(in, 3, {n, packed ? floordiv(blocks + Dim(1), Dim(2)) : blocks}, "zeros"));
  }
  TensorType out = a;
  out.shape.back() = n;
  return Types{std::move(out)};
}

}  // namespace tilewright
