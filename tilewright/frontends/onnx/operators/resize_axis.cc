// Positions are small f32 rows of the length of the result, as in onnxruntime; taps are gathers along the axis.
#include <array>

#include "tilewright/frontends/onnx/operators/resize.h"

namespace tilewright::onnx {

Dim as_real(Dim value) {
  return value.is_float() ? value : Dim::make(DimOp::kToFloat, std::array{value});
}

Dim divide(Dim a, Dim b) {
  return Dim::make(DimOp::kTrueDiv, std::array{as_real(a), as_real(b)});
}

namespace {

Maybe binary(OnnxNode& n, Op op, const Maybe& a, const Maybe& b) {
  return n.op(op, {a, b});
}

Maybe real(OnnxNode& n, Dim value) {
  return n.number(DType::kF32, as_real(value));
}

// ((position + before) * numerator) / denominator + after
struct Line {
  Dim before = Dim::real(0), numerator = Dim::real(1), denominator = Dim::real(1), after = Dim::real(0);
};

// `usual` where the result is longer than one element.
Dim if_many(Dim length, Dim usual, Dim otherwise) {
  return select(Dim::make(DimOp::kLt, std::array{Dim::real(1), length}), usual, otherwise);
}

Result<Line> source_line(const ResizeAxis& a, std::string_view mode) {
  const Dim half = Dim::real(0.5);
  const Dim one = Dim::real(1);
  const Line half_pixel{half, one, a.scale, Dim::real(-0.5)};
  const Dim last = as_real(a.size - 1);
  const Dim last_out = if_many(a.length, a.length - one, one);
  if (mode == "half_pixel") return half_pixel;
  if (mode == "asymmetric") return Line{.denominator = a.scale};
  if (mode == "tf_half_pixel_for_nn") return Line{.before = half, .denominator = a.scale};
  if (mode == "pytorch_half_pixel") {
    return Line{if_many(a.length, half, Dim::real(0)), one, a.scale, if_many(a.length, Dim::real(-0.5), Dim::real(0))};
  }
  if (mode == "align_corners") return Line{.numerator = last, .denominator = last_out};
  if (mode == "tf_crop_and_resize") {
    return Line{.numerator = (a.end - a.begin) * last,
                .denominator = last_out,
                .after = if_many(a.length, a.begin * last, half * (a.begin + a.end) * last)};
  }
  if (mode == "half_pixel_symmetric") {
    const Dim adjustment = divide(a.out, a.scale * as_real(a.size));
    return Line{half, one, a.scale, half * as_real(a.size) * (one - adjustment) - half};
  }
  return fail(ErrorKind::kUnsupported, "coordinate_transformation_mode '{}' is unknown", mode);
}

// f32[out]: where each element of the result lies on the axis of the input.
Maybe source_positions(OnnxNode& n, const ResizeAxis& a, std::string_view mode) {
  TW_ASSIGN(const Line line, source_line(a, mode));
  Maybe at = n.op(Op::kIota, {}, {{"dtype", DType::kF32}, {"shape", Shape{a.out}}, {"axis", std::int64_t{0}}});
  const auto is = [](Dim dim, double value) { return dim.real_constant() == value; };
  if (!is(line.before, 0)) at = binary(n, Op::kAdd, at, real(n, line.before));
  if (!is(line.numerator, 1)) at = binary(n, Op::kMul, at, real(n, line.numerator));
  if (!is(line.denominator, 1)) at = binary(n, Op::kDiv, at, real(n, line.denominator));
  if (!is(line.after, 0)) at = binary(n, Op::kAdd, at, real(n, line.after));
  return at;
}

// A whole number in f32 held within the axis, as an index.
Maybe held(OnnxNode& n, const Maybe& index, Dim size) {
  const Maybe low = binary(n, Op::kMax, n.cast(index, DType::kI64), n.number(DType::kI64, 0));
  return binary(n, Op::kMin, low, n.number(DType::kI64, size - 1));
}

Maybe nearest(OnnxNode& n, const Maybe& at, std::string_view mode) {
  const Maybe half = real(n, Dim::real(0.5));
  if (mode == "floor") return n.op(Op::kFloor, {at});
  if (mode == "ceil") return n.op(Op::kCeil, {at});
  if (mode == "round_prefer_ceil") return n.op(Op::kFloor, {binary(n, Op::kAdd, at, half)});
  if (mode == "round_prefer_floor") return n.op(Op::kCeil, {binary(n, Op::kSub, at, half)});
  return fail(ErrorKind::kUnsupported, "nearest_mode '{}' is unknown", mode);
}

// A row over the axis as something that broadcasts against x.
Maybe along(OnnxNode& n, const Maybe& row, const ResizeAxis& a, std::size_t rank, DType dtype) {
  Shape shape(rank, Dim(1));
  shape[static_cast<std::size_t>(a.axis)] = a.out;
  return n.cast(n.reshape(row, std::move(shape)), dtype);
}

// The weight of a tap at distance d >= 0: a triangle, or the cubic of Keys 1981.
Maybe kernel(OnnxNode& n, const Maybe& distance, const ResizeOptions& options) {
  const auto number = [&](double value) { return real(n, Dim::real(value)); };
  const Maybe& d = distance;
  if (options.mode == "linear") return binary(n, Op::kMax, binary(n, Op::kSub, number(1), d), number(0));
  const double a = options.cubic_a;
  // Horner: near ((a + 2) d - (a + 3)) d^2 + 1, far ((a d - 5 a) d + 8 a) d - 4 a.
  const Maybe inner = binary(n, Op::kSub, binary(n, Op::kMul, d, number(a + 2)), number(a + 3));
  const Maybe near = binary(n, Op::kAdd, binary(n, Op::kMul, inner, binary(n, Op::kMul, d, d)), number(1));
  const Maybe outer = binary(n, Op::kSub, binary(n, Op::kMul, d, number(a)), number(5 * a));
  const Maybe middle = binary(n, Op::kAdd, binary(n, Op::kMul, outer, d), number(8 * a));
  const Maybe far = binary(n, Op::kSub, binary(n, Op::kMul, middle, d), number(4 * a));
  const Maybe beyond = n.op(Op::kSelect, {binary(n, Op::kLt, d, number(2)), far, number(0)});
  return n.op(Op::kSelect, {binary(n, Op::kLe, d, number(1)), near, beyond});
}

struct Taps {
  Maybe index, weight;  // i64 and f32 [taps, out]
};

// Taps around each position; their number is an expression where antialias widens the kernel by 1 / scale.
Taps make_taps(OnnxNode& n, const Maybe& at, const ResizeAxis& a, const ResizeOptions& options) {
  const std::int64_t support = options.mode == "linear" ? 1 : 2;
  const auto minimum = [](Dim x, Dim y) { return Dim::make(DimOp::kMin, std::array{x, y}); };
  const Dim shrink = options.antialias ? minimum(a.scale, Dim::real(1)) : Dim::real(1);
  const Dim reach =
      options.antialias ? Dim::make(DimOp::kCeil, std::array{divide(Dim(support), shrink)}) : Dim(support);
  const Dim count = reach * 2;
  const Maybe offset = n.op(
      Op::kIota, {},
      {{"dtype", DType::kF32}, {"shape", Shape{count, Dim(1)}}, {"axis", std::int64_t{0}}, {"start", Dim(1) - reach}});
  const Maybe row = n.reshape(at, {Dim(1), a.out});
  const Maybe tap = binary(n, Op::kAdd, n.op(Op::kFloor, {row}), offset);
  Maybe distance = n.op(Op::kAbs, {binary(n, Op::kSub, tap, row)});
  if (options.antialias) distance = binary(n, Op::kMul, distance, real(n, shrink));
  Maybe weight = kernel(n, distance, options);
  if (options.exclude_outside) {
    const Maybe inside =
        binary(n, Op::kBitAnd, binary(n, Op::kGe, tap, real(n, Dim(0))), binary(n, Op::kLt, tap, real(n, a.size)));
    weight = n.op(Op::kSelect, {inside, weight, real(n, Dim(0))});
  }
  if (options.exclude_outside || options.antialias) {
    weight = binary(n, Op::kDiv, weight, n.reduce(Op::kReduceSum, weight, {0}, true));
  }
  return {held(n, tap, a.size), weight};
}

// The sum over taps: a gather for each where their number is fixed, else one gather of all and a reduction.
Maybe interpolated(OnnxNode& n, const Maybe& x, const Maybe& at, const ResizeAxis& a, const ResizeOptions& options) {
  TW_ASSIGN(const ValueId value, Maybe(x));
  const TensorType type = n.type_of(value);
  const std::size_t rank = type.shape.size();
  const Taps taps = make_taps(n, at, a, options);
  if (options.antialias) {
    const Maybe all = n.op(Op::kGather, {value, taps.index}, {{"axis", a.axis}});
    TW_ASSIGN(const ValueId weight, Maybe(taps.weight));
    Shape shape(rank + 1, Dim(1));
    shape[static_cast<std::size_t>(a.axis)] = n.type_of(weight).shape[0];
    shape[static_cast<std::size_t>(a.axis) + 1] = a.out;
    const Maybe weighted = binary(n, Op::kMul, all, n.cast(n.reshape(weight, std::move(shape)), type.dtype));
    return n.reduce(Op::kReduceSum, weighted, {a.axis}, false);
  }
  const std::int64_t count = options.mode == "linear" ? 2 : 4;
  Maybe sum = value;
  for (std::int64_t tap = 0; tap < count; ++tap) {
    const Maybe index = n.reshape(n.slice(taps.index, 0, tap, tap + 1), {a.out});
    const Maybe weight = along(n, n.slice(taps.weight, 0, tap, tap + 1), a, rank, type.dtype);
    const Maybe term = binary(n, Op::kMul, n.op(Op::kGather, {value, index}, {{"axis", a.axis}}), weight);
    sum = tap == 0 ? term : binary(n, Op::kAdd, sum, term);
  }
  return sum;
}

// Each element `times` times: what nearest neighbours are at a whole scale.
Maybe repeated(OnnxNode& n, const Maybe& x, std::int64_t axis, std::int64_t times) {
  TW_ASSIGN(const ValueId value, Maybe(x));
  Shape shape = n.type_of(value).shape;
  const auto at = static_cast<std::size_t>(axis);
  Shape spread(shape);
  spread.insert(spread.begin() + axis + 1, Dim(times));
  shape[at] = shape[at] * times;
  return n.reshape(n.expand(n.unsqueeze(value, {axis + 1}), std::move(spread)), std::move(shape));
}

// The whole number that the axis is repeated; 0: it is not that simple.
std::int64_t whole_scale(const ResizeAxis& a, const ResizeOptions& options) {
  const std::optional<double> scale = a.scale.real_constant();
  if (options.mode != "nearest" || !scale || *scale < 1 ||
      *scale != static_cast<double>(static_cast<std::int64_t>(*scale))) {
    return 0;
  }
  const bool floors = options.coordinates == "asymmetric" && options.nearest == "floor";
  const bool rounds = options.coordinates == "half_pixel" && options.nearest.starts_with("round");
  return (floors || rounds) && a.out == a.size * static_cast<std::int64_t>(*scale) ? static_cast<std::int64_t>(*scale)
                                                                                   : 0;
}

}  // namespace

Maybe resize_axis(OnnxNode& n, const Maybe& x, const ResizeAxis& axis, const ResizeOptions& options) {
  if (const std::int64_t times = whole_scale(axis, options); times > 0) return repeated(n, x, axis.axis, times);
  TW_ASSIGN(const ValueId value, Maybe(x));
  const TensorType type = n.type_of(value);
  TW_ASSIGN(const ValueId at, source_positions(n, axis, options.coordinates));
  const Maybe inside =
      options.mode == "nearest"
          ? n.op(Op::kGather, {value, held(n, nearest(n, at, options.nearest), axis.size)}, {{"axis", axis.axis}})
          : interpolated(n, value, at, axis, options);
  if (options.coordinates != "tf_crop_and_resize") return inside;
  const Maybe outside =
      binary(n, Op::kBitOr, binary(n, Op::kLt, at, real(n, Dim(0))), binary(n, Op::kGt, at, real(n, axis.size - 1)));
  return n.op(Op::kSelect, {along(n, outside, axis, type.shape.size(), DType::kBool),
                            n.number_like(value, options.outside), inside});
}

}  // namespace tilewright::onnx
