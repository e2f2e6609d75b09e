// AffineGrid and GridSample. Positions are normalised: -1 and 1 are the centers of the outermost elements if
// align_corners, else their outer edges.
#include "tilewright/frontends/onnx/operators.h"
#include "tilewright/frontends/onnx/operators/sampling.h"
#include "tilewright/frontends/onnx/operators/windows.h"

namespace tilewright::onnx {
namespace {

struct Sampling {
  std::string_view mode, padding;
  bool align;
};

Maybe real(OnnxNode& n, DType dtype, Dim value) {
  return n.cast(n.number(DType::kI64, value), dtype);
}

// Reflected at the borders until it lies between them; with a single element and align_corners there is one place.
Maybe reflected(OnnxNode& n, const Maybe& at, Dim size, bool align) {
  TW_ASSIGN(const ValueId value, Maybe(at));
  const DType dtype = n.type_of(value).dtype;
  const double low = align ? 0 : -0.5;
  const Maybe range = real(n, dtype, align ? max(size - 1, Dim(1)) : size);
  const Maybe shifted = binary(n, Op::kSub, value, low);
  const Maybe phase = binary(n, Op::kMod, shifted, binary(n, Op::kMul, range, 2));
  const Maybe away = n.op(Op::kAbs, {binary(n, Op::kSub, phase, range)});
  const Maybe folded = binary(n, Op::kAdd, binary(n, Op::kSub, range, away), low);
  if (!align) return folded;
  return binary(n, Op::kMin, folded, real(n, dtype, size - 1));
}

// Position on an axis of `size` elements, brought inside where the padding asks for it; a cubic stays where it is and
// only its neighbours are held inside, as in onnxruntime and torch.
Maybe denormalised(OnnxNode& n, const Maybe& given, Dim size, const Sampling& how) {
  TW_ASSIGN(const ValueId value, Maybe(given));
  const DType dtype = n.type_of(value).dtype;
  const Maybe up = binary(n, Op::kAdd, value, 1);
  Maybe at = how.align
                 ? binary(n, Op::kMul, binary(n, Op::kMul, up, 0.5), real(n, dtype, size - 1))
                 : binary(n, Op::kMul, binary(n, Op::kSub, binary(n, Op::kMul, up, real(n, dtype, size)), 1), 0.5);
  if (how.mode == "nearest") at = n.op(Op::kRound, {at});
  if (how.padding == "border" && how.mode != "cubic") {
    at = binary(n, Op::kMin, binary(n, Op::kMax, at, 0), real(n, dtype, size - 1));
  } else if (how.padding == "reflection") {
    at = reflected(n, at, size, how.align);
  }
  return at;
}

// Keys' cubic at the four neighbours, with its factor -3/4.
std::vector<Maybe> cubic_weights(OnnxNode& n, const Maybe& part) {
  constexpr double a = -0.75;
  const auto near = [&](const Maybe& d) {
    const Maybe inner = binary(n, Op::kSub, binary(n, Op::kMul, d, a + 2), a + 3);
    return binary(n, Op::kAdd, binary(n, Op::kMul, inner, binary(n, Op::kMul, d, d)), 1);
  };
  const auto far = [&](const Maybe& d) {
    const Maybe outer = binary(n, Op::kSub, binary(n, Op::kMul, d, a), 5 * a);
    const Maybe middle = binary(n, Op::kAdd, binary(n, Op::kMul, outer, d), 8 * a);
    return binary(n, Op::kSub, binary(n, Op::kMul, middle, d), 4 * a);
  };
  const Maybe rest = binary(n, Op::kSub, n.number_like(part, 1), part);
  return {far(binary(n, Op::kAdd, part, 1)), near(part), near(rest), far(binary(n, Op::kAdd, rest, 1))};
}

// A neighbour at a whole number: outside it is zero, the nearest inside, or its mirror image.
Tap place_tap(OnnxNode& n, const Maybe& whole, const Maybe& weight, Dim size, const Sampling& how) {
  if (how.padding == "border") return {clamped_index(n, whole, size), weight};
  if (how.padding == "reflection") {
    return {clamped_index(n, n.op(Op::kTrunc, {reflected(n, whole, size, how.align)}), size), weight};
  }
  const Maybe index = n.cast(whole, DType::kI64);
  const Maybe inside = binary(n, Op::kBitAnd, binary(n, Op::kGe, index, n.number(DType::kI64, 0)),
                              binary(n, Op::kLt, index, n.number(DType::kI64, size)));
  return {clamped_index(n, whole, size), n.op(Op::kSelect, {inside, weight, n.number_like(weight, 0)})};
}

std::vector<Tap> axis_taps(OnnxNode& n, const Maybe& at, Dim size, const Sampling& how) {
  if (how.mode == "nearest") return {place_tap(n, at, n.number_like(at, 1), size, how)};
  const Maybe below = n.op(Op::kFloor, {at});
  const Maybe part = binary(n, Op::kSub, at, below);
  std::vector<Tap> taps;
  if (how.mode == "linear") {
    const Maybe rest = binary(n, Op::kSub, n.number_like(part, 1), part);
    taps.push_back(place_tap(n, below, rest, size, how));
    taps.push_back(place_tap(n, binary(n, Op::kAdd, below, 1), part, size, how));
    return taps;
  }
  const std::vector<Maybe> weights = cubic_weights(n, part);
  for (std::size_t i = 0; i < weights.size(); ++i) {
    taps.push_back(place_tap(n, binary(n, Op::kAdd, below, static_cast<double>(i) - 1), weights[i], size, how));
  }
  return taps;
}

Result<Sampling> read_sampling(const OnnxNode& n) {
  Sampling out{n.text("mode", n.version() >= 20 ? "linear" : "bilinear"), n.text("padding_mode", "zeros"),
               n.integer("align_corners", 0) != 0};
  if (out.mode == "bilinear") out.mode = "linear";
  if (out.mode == "bicubic") out.mode = "cubic";
  if (out.mode != "nearest" && out.mode != "linear" && out.mode != "cubic") {
    return fail(ErrorKind::kUnsupported, "mode '{}' is unknown", out.mode);
  }
  if (out.padding != "zeros" && out.padding != "border" && out.padding != "reflection") {
    return fail(ErrorKind::kUnsupported, "padding_mode '{}' is unknown", out.padding);
  }
  return out;
}

// The normalised positions of the elements of an axis, shaped to stand at `axis` of `rank`.
Maybe axis_positions(OnnxNode& n, Dim size, bool align, std::int64_t axis, std::size_t rank) {
  Shape shape(rank, Dim(1));
  shape[static_cast<std::size_t>(axis)] = size;
  const Maybe at = n.op(Op::kIota, {}, {{"dtype", DType::kF32}, {"shape", std::move(shape)}, {"axis", axis}});
  const Maybe twice = binary(n, Op::kMul, at, 2);
  if (!align) {
    const Maybe count = real(n, DType::kF32, size);
    return binary(n, Op::kDiv, binary(n, Op::kSub, binary(n, Op::kAdd, twice, 1), count), count);
  }
  const Maybe last = real(n, DType::kF32, size - 1);
  return binary(n, Op::kDiv, binary(n, Op::kSub, twice, last), real(n, DType::kF32, max(size - 1, Dim(1))));
}

}  // namespace

Maybe import_grid_sample(OnnxNode& n) {
  TW_ASSIGN(const TensorType x, n.type(0));
  TW_ASSIGN(const TensorType grid, n.type(1));
  TW_ASSIGN(const Sampling how, read_sampling(n));
  const std::size_t spatial = x.shape.size() < 3 ? 0 : x.shape.size() - 2;
  if (spatial == 0 || grid.shape.size() != spatial + 2) {
    return fail(ErrorKind::kShapeMismatch, "a grid {} for an input {}", grid, x);
  }
  const auto last = static_cast<std::int64_t>(spatial) + 1;
  const Shape samples(grid.shape.begin(), grid.shape.end() - 1);
  const DType wide = window_dtype(x.dtype);
  std::vector<std::vector<Tap>> taps;
  for (std::size_t axis = 0; axis < spatial; ++axis) {
    const auto column = static_cast<std::int64_t>(spatial - 1 - axis);
    const Maybe given = n.reshape(n.slice(n.cast(n.input(1), wide), last, column, column + 1), samples);
    taps.push_back(axis_taps(n, denormalised(n, given, x.shape[axis + 2], how), x.shape[axis + 2], how));
  }
  Shape row(samples.size(), Dim(1));
  row[0] = x.shape[0];
  const Maybe batch = n.op(Op::kIota, {}, {{"dtype", DType::kI64}, {"shape", row}, {"axis", std::int64_t{0}}});
  Ints perm{0, last};
  for (std::int64_t axis = 1; axis < last; ++axis) perm.push_back(axis);
  return n.cast(n.transpose(weighted_samples(n, n.cast(n.input(0), wide), batch, taps), std::move(perm)), x.dtype);
}

// theta[N, r, r + 1] applied to the positions of all elements of an image of the given size.
Maybe import_affine_grid(OnnxNode& n) {
  TW_ASSIGN(const TensorType theta, n.type(0));
  TW_ASSIGN(const Dims size, n.integers(1));
  const std::size_t spatial = size.size() < 4 ? 0 : size.size() - 2;
  if (spatial < 2 || spatial > 3 || theta.shape.size() != 3) {
    return fail(ErrorKind::kShapeMismatch, "theta {} for a size of {} entries", theta, size.size());
  }
  const bool align = n.integer("align_corners", 0) != 0;
  const std::size_t rank = spatial + 1;
  Shape full{size[0]};
  full.insert(full.end(), size.begin() + 2, size.end());
  full.emplace_back(1);
  const auto entry = [&](std::int64_t i, std::int64_t j) {
    Shape shape(rank, Dim(1));
    shape[0] = theta.shape[0];
    const Maybe matrix = n.cast(n.input(0), DType::kF32);
    return n.reshape(n.slice(n.slice(matrix, 1, i, i + 1), 2, j, j + 1), std::move(shape));
  };
  std::vector<ValueId> parts;
  const auto count = static_cast<std::int64_t>(spatial);
  for (std::int64_t i = 0; i < count; ++i) {
    Maybe sum = entry(i, count);
    for (std::int64_t j = 0; j < count; ++j) {
      const std::int64_t axis = count - j;  // the first coordinate is that of the last axis
      const Maybe at = axis_positions(n, size[static_cast<std::size_t>(axis) + 1], align, axis, rank);
      sum = binary(n, Op::kAdd, sum, binary(n, Op::kMul, entry(i, j), at));
    }
    TW_ASSIGN(const ValueId part, n.expand(n.unsqueeze(sum, {static_cast<std::int64_t>(rank)}), full));
    parts.push_back(part);
  }
  return n.cast(n.op(Op::kConcat, parts, {{"axis", static_cast<std::int64_t>(rank)}}), theta.dtype);
}

}  // namespace tilewright::onnx
