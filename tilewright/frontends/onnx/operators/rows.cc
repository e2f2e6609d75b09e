// Softmax and norms over the last axes. Before opset 13 softmax saw its input as a matrix, split at `axis`.
#include "tilewright/frontends/onnx/operators.h"
#include "tilewright/frontends/onnx/types.h"

namespace tilewright::onnx {
namespace {

Dim product(std::span<const Dim> dims) {
  Dim out = 1;
  for (const Dim dim : dims) out = out * dim;
  return out;
}

// Applies `along` to x and the axis, or to the matrix that old opsets see.
template <typename Along>
Maybe along_rows(OnnxNode& n, Along along) {
  TW_ASSIGN(const TensorType type, n.type(0));
  const Shape& shape = type.shape;
  const bool is_new = n.version() >= 13;
  TW_ASSIGN(const std::int64_t axis, n.axis(n.integer("axis", is_new ? -1 : 1), shape.size()));
  if (is_new || axis + 1 == std::ssize(shape)) return along(n.input(0), axis);
  const auto split = static_cast<std::size_t>(axis);
  const Maybe matrix =
      n.reshape(n.input(0), {product(std::span(shape).first(split)), product(std::span(shape).subspan(split))});
  return n.reshape(along(matrix, 1), shape);
}

Ints last_axes(std::int64_t axis, std::size_t rank) {
  Ints axes;
  for (; axis < static_cast<std::int64_t>(rank); ++axis) axes.push_back(axis);
  return axes;
}

bool equal_shapes(std::span<const Dim> a, std::span<const Dim> b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end());
}

struct NormType {
  TensorType x;
  std::int64_t axis;
  DType wide;  // what the statistics are computed in
};

Result<NormType> norm_type(OnnxNode& n) {
  TW_ASSIGN(TensorType x, n.type(0));
  TW_ASSIGN(const std::int64_t axis, n.axis(n.integer("axis", -1), x.shape.size()));
  DType wide = x.dtype == DType::kF64 ? DType::kF64 : DType::kF32;
  if (n.has_attribute("stash_type")) {
    TW_ASSIGN(wide, n.dtype("stash_type"));
  }
  return NormType{std::move(x), axis, wide};
}

// Whether the parameters have just the shape that the composite takes.
Result<bool> fits_composite(OnnxNode& n, const NormType& norm) {
  const auto wanted = std::span(norm.x.shape).subspan(static_cast<std::size_t>(norm.axis));
  for (std::size_t i = 1; i < n.num_inputs(); ++i) {
    if (!n.has(i)) continue;
    TW_ASSIGN(const TensorType parameter, n.type(i));
    if (parameter.dtype != norm.x.dtype || !equal_shapes(parameter.shape, wanted)) return false;
  }
  return norm.wide == (norm.x.dtype == DType::kF64 ? DType::kF64 : DType::kF32);
}

}  // namespace

Maybe import_softmax(OnnxNode& n) {
  const Op op = n.op_type() == "Softmax" ? Op::kSoftmax : Op::kLogSoftmax;
  return along_rows(n, [&](const Maybe& x, std::int64_t axis) { return n.op(op, {x}, {{"axis", axis}}); });
}

// 1 at the first maximum, else 0.
Maybe import_hardmax(OnnxNode& n) {
  return along_rows(n, [&](const Maybe& x, std::int64_t axis) -> Maybe {
    TW_ASSIGN(const ValueId value, Maybe(x));
    const TensorType type = n.type_of(value);
    Shape row(type.shape.size(), Dim(1));
    row[static_cast<std::size_t>(axis)] = type.shape[static_cast<std::size_t>(axis)];
    const Maybe positions = n.op(Op::kIota, {}, {{"dtype", DType::kI64}, {"shape", row}, {"axis", axis}});
    const Maybe largest = n.op(Op::kArgMax, {value}, {{"axis", axis}, {"keepdim", true}});
    return n.cast(n.op(Op::kEq, {positions, largest}), type.dtype);
  });
}

Result<Results> import_layer_normalization(OnnxNode& n) {
  TW_ASSIGN(const NormType norm, norm_type(n));
  const Dim eps = Dim::real(n.real("epsilon", static_cast<double>(1e-5f)));
  const auto num_axes = std::ssize(norm.x.shape) - norm.axis;
  TW_ASSIGN(const bool fits, fits_composite(n, norm));
  if (fits && !n.wants(1) && !n.wants(2) && n.has(1)) {
    const Attrs attrs{{"num_axes", num_axes}, {"eps", eps}};
    return n.results({n.has(2) ? n.op(Op::kLayerNorm, {n.input(0), n.input(1), n.input(2)}, attrs)
                               : n.op(Op::kLayerNorm, {n.input(0), n.input(1)}, attrs)});
  }
  const Ints axes = last_axes(norm.axis, norm.x.shape.size());
  const Maybe x = n.cast(n.input(0), norm.wide);
  const Maybe mean = n.reduce(Op::kReduceMean, x, axes, true);
  const Maybe centered = n.op(Op::kSub, {x, mean});
  const Maybe variance = n.reduce(Op::kReduceMean, n.op(Op::kMul, {centered, centered}), axes, true);
  const Maybe inverse = n.op(Op::kRsqrt, {n.op(Op::kAdd, {variance, n.number(norm.wide, eps)})});
  Maybe y = n.cast(n.op(Op::kMul, {centered, inverse}), norm.x.dtype);
  if (n.has(1)) y = n.op(Op::kMul, {y, n.input(1)});
  if (n.has(2)) y = n.op(Op::kAdd, {y, n.input(2)});
  return n.results({y, mean, inverse});
}

Maybe import_rms_normalization(OnnxNode& n) {
  TW_ASSIGN(const NormType norm, norm_type(n));
  const Dim eps = Dim::real(n.real("epsilon", static_cast<double>(1e-5f)));
  TW_ASSIGN(const bool fits, fits_composite(n, norm));
  if (fits) {
    return n.op(Op::kRmsNorm, {n.input(0), n.input(1)},
                {{"num_axes", std::ssize(norm.x.shape) - norm.axis}, {"eps", eps}});
  }
  const Maybe x = n.cast(n.input(0), norm.wide);
  const Maybe square =
      n.reduce(Op::kReduceMean, n.op(Op::kMul, {x, x}), last_axes(norm.axis, norm.x.shape.size()), true);
  const Maybe inverse = n.op(Op::kRsqrt, {n.op(Op::kAdd, {square, n.number(norm.wide, eps)})});
  TW_ASSIGN(const TensorType scale, n.type(1));
  return n.op(Op::kMul, {n.cast(n.op(Op::kMul, {x, inverse}), scale.dtype), n.input(1)});
}

}  // namespace tilewright::onnx
