// Norms over channels, planes or groups of an input [N, C, ..].
#include "tilewright/frontends/onnx/operators.h"
#include "tilewright/frontends/onnx/operators/windows.h"

namespace tilewright::onnx {
namespace {

constexpr double kDefaultEpsilon = static_cast<double>(1e-5F);

Dim product(std::span<const Dim> sizes) {
  Dim out = 1;
  for (const Dim size : sizes) out = out * size;
  return out;
}

Maybe add(OnnxNode& n, const Maybe& a, const Maybe& b) {
  return n.op(Op::kAdd, {a, b});
}

Maybe multiply(OnnxNode& n, const Maybe& a, const Maybe& b) {
  return n.op(Op::kMul, {a, b});
}

Status check_channels(const TensorType& type) {
  if (type.shape.size() >= 2) return {};
  return fail(ErrorKind::kShapeMismatch, "the input must have a batch and a channel axis: {}", type);
}

// A parameter over channels, or over all axes but the batch, that broadcasts against an input of `rank`.
Maybe over_channels(OnnxNode& n, const Maybe& parameter, std::size_t rank) {
  TW_ASSIGN(const ValueId value, Maybe(parameter));
  Shape shape = n.type_of(value).shape;
  if (shape.size() != 1) return value;
  shape.resize(rank - 1, Dim(1));
  return n.reshape(value, std::move(shape));
}

struct BatchStatistics {
  Maybe mean, variance;  // over channels
};

BatchStatistics batch_statistics(OnnxNode& n, const Maybe& x, std::size_t rank) {
  Ints axes{0};
  for (std::size_t axis = 2; axis < rank; ++axis) axes.push_back(static_cast<std::int64_t>(axis));
  return {n.reduce(Op::kReduceMean, x, axes, false),
          n.op(Op::kVariance, {x}, {{"axes", axes}, {"keepdim", false}, {"correction", Dim(0)}})};
}

// (x - mean) / sqrt(variance + eps) * scale + bias, computed in the dtype of x.
Maybe normalized(OnnxNode& n, const Maybe& x, std::size_t rank, const BatchStatistics& by) {
  TW_ASSIGN(const ValueId value, Maybe(x));
  const DType wide = n.type_of(value).dtype;
  const auto parameter = [&](const Maybe& given) { return over_channels(n, n.cast(given, wide), rank); };
  const Maybe eps = n.number(wide, Dim::real(n.real("epsilon", kDefaultEpsilon)));
  const Maybe inverse = n.op(Op::kRsqrt, {add(n, parameter(by.variance), eps)});
  const Maybe scale = multiply(n, inverse, parameter(n.input(1)));
  return add(n, multiply(n, n.op(Op::kSub, {value, parameter(by.mean)}), scale), parameter(n.input(2)));
}

// The composite, where the parameters have its types.
Maybe inference(OnnxNode& n, const TensorType& type) {
  bool fits = type.dtype == window_dtype(type.dtype);
  for (std::size_t i = 1; i < 5; ++i) {
    TW_ASSIGN(const TensorType parameter, n.type(i));
    fits = fits && parameter.dtype == type.dtype && parameter.shape.size() == 1;
  }
  if (fits) {
    return n.op(Op::kBatchNorm, {n.input(0), n.input(1), n.input(2), n.input(3), n.input(4)},
                {{"eps", Dim::real(n.real("epsilon", kDefaultEpsilon))}});
  }
  const Maybe x = n.cast(n.input(0), window_dtype(type.dtype));
  return n.cast(normalized(n, x, type.shape.size(), {n.input(3), n.input(4)}), type.dtype);
}

// old * momentum + now * (1 - momentum), in the dtype of old.
Maybe running(OnnxNode& n, const Maybe& old, const Maybe& now) {
  TW_ASSIGN(const ValueId value, Maybe(now));
  const DType wide = n.type_of(value).dtype;
  const double momentum = n.real("momentum", static_cast<double>(0.9F));
  const Maybe kept = multiply(n, n.cast(old, wide), n.number(wide, Dim::real(momentum)));
  const Maybe sum = add(n, kept, multiply(n, value, n.number(wide, Dim::real(1 - momentum))));
  TW_ASSIGN(const ValueId before, Maybe(old));
  return n.cast(sum, n.type_of(before).dtype);
}

bool is_training(const OnnxNode& n) {
  if (n.version() >= 14) return n.integer("training_mode", 0) != 0;
  return n.version() >= 7 ? n.wants(1) : n.integer("is_test", 0) == 0;
}

// Statistics over the last axis of [N, rows, elements of a row], without parameters.
Maybe normalized_rows(OnnxNode& n, const Maybe& x, const Shape& rows) {
  return n.op(Op::kLayerNorm, {n.reshape(x, rows)},
              {{"num_axes", std::int64_t{1}}, {"eps", Dim::real(n.real("epsilon", kDefaultEpsilon))}});
}

}  // namespace

Result<Results> import_batch_normalization(OnnxNode& n) {
  TW_ASSIGN(const TensorType type, n.type(0));
  TW_TRY(check_channels(type));
  if (!is_training(n)) return n.results({inference(n, type)});
  const std::size_t rank = type.shape.size();
  const Maybe x = n.cast(n.input(0), window_dtype(type.dtype));
  const BatchStatistics now = batch_statistics(n, x, rank);
  const Maybe y = n.cast(normalized(n, x, rank, now), type.dtype);
  const Maybe mean = running(n, n.input(3), now.mean);
  const Maybe variance = running(n, n.input(4), now.variance);
  if (n.version() >= 14) return n.results({y, mean, variance});
  return n.results({y, mean, variance, n.cast(now.mean, type.dtype), n.cast(now.variance, type.dtype)});
}

Maybe import_instance_normalization(OnnxNode& n) {
  TW_ASSIGN(const TensorType type, n.type(0));
  TW_TRY(check_channels(type));
  const Shape& shape = type.shape;
  const DType wide = window_dtype(type.dtype);
  const Maybe rows =
      normalized_rows(n, n.cast(n.input(0), wide), {shape[0], shape[1], product(std::span(shape).subspan(2))});
  const auto parameter = [&](std::size_t i) { return over_channels(n, n.cast(n.input(i), wide), shape.size()); };
  return n.cast(add(n, multiply(n, n.reshape(rows, shape), parameter(1)), parameter(2)), type.dtype);
}

// Scale and bias are over groups before opset 21, over channels since then.
Maybe import_group_normalization(OnnxNode& n) {
  TW_ASSIGN(const TensorType type, n.type(0));
  TW_TRY(check_channels(type));
  const Shape& shape = type.shape;
  const std::int64_t groups = n.integer("num_groups", 0);
  if (groups < 1) return fail(ErrorKind::kInvalidArgument, "num_groups is {}", groups);
  const DType wide = window_dtype(type.dtype);
  const auto parameter = [&](std::size_t i) { return n.cast(n.input(i), wide); };
  const Maybe x = n.cast(n.input(0), wide);
  if (n.version() >= 21) {
    const Attrs attrs{{"groups", groups}, {"eps", Dim::real(n.real("epsilon", kDefaultEpsilon))}};
    return n.cast(n.op(Op::kGroupNorm, {x, parameter(1), parameter(2)}, attrs), type.dtype);
  }
  const Dim width = floordiv(product(std::span(shape).subspan(1)), groups);
  const auto column = [&](std::size_t i) { return n.reshape(parameter(i), {Dim(groups), Dim(1)}); };
  const Maybe rows = normalized_rows(n, x, {shape[0], Dim(groups), width});
  return n.cast(n.reshape(add(n, multiply(n, rows, column(1)), column(2)), shape), type.dtype);
}

// x / (bias + alpha * mean of squares of the channels around)^beta
Maybe import_lrn(OnnxNode& n) {
  TW_ASSIGN(const TensorType type, n.type(0));
  TW_TRY(check_channels(type));
  const Shape& shape = type.shape;
  const std::int64_t size = n.integer("size", 0);
  if (size < 1) return fail(ErrorKind::kInvalidArgument, "size is {}", size);
  const DType wide = window_dtype(type.dtype);
  const Maybe x = n.cast(n.input(0), wide);
  const Maybe squares =
      n.reshape(multiply(n, x, x), {shape[0], Dim(1), shape[1], product(std::span(shape).subspan(2))});
  const std::int64_t low = (size - 1) / 2;
  const Maybe means = n.op(Op::kAvgPool, {squares},
                           {{"window", Ints{size, 1}},
                            {"stride", Ints{1, 1}},
                            {"low", Dims{Dim(low), Dim(0)}},
                            {"high", Dims{Dim(size - 1 - low), Dim(0)}}});
  const auto number = [&](std::string_view name, double missing) {
    return n.number(wide, Dim::real(n.real(name, missing)));
  };
  const Maybe base = add(n, multiply(n, n.reshape(means, shape), number("alpha", 1e-4)), number("bias", 1.0));
  return n.cast(n.op(Op::kDiv, {x, n.op(Op::kPow, {base, number("beta", 0.75)})}), type.dtype);
}

// x over the sum of |x| (p = 1) or the root of the sum of squares (p = 2) along an axis; 0 where that is 0.
Maybe import_lp_normalization(OnnxNode& n) {
  TW_ASSIGN(const TensorType type, n.type(0));
  TW_ASSIGN(const std::int64_t axis, n.axis(n.integer("axis", -1), type.shape.size()));
  const std::int64_t p = n.integer("p", 2);
  if (p != 1 && p != 2) return fail(ErrorKind::kInvalidArgument, "p is {}, not 1 or 2", p);
  const Maybe x = n.cast(n.input(0), window_dtype(type.dtype));
  const Maybe terms = p == 1 ? n.op(Op::kAbs, {x}) : multiply(n, x, x);
  Maybe norm = n.reduce(Op::kReduceSum, terms, {axis}, true);
  if (p == 2) norm = n.op(Op::kSqrt, {norm});
  const Maybe zero = n.number_like(x, 0);
  return n.cast(n.op(Op::kSelect, {n.op(Op::kEq, {norm, zero}), zero, n.op(Op::kDiv, {x, norm})}), type.dtype);
}

}  // namespace tilewright::onnx
