// Fourier transforms as products with a table of cosines and sines of any length, and mel filters.
#include <array>
#include <numbers>

#include "tilewright/frontends/onnx/operators.h"

namespace tilewright::onnx {
namespace {

Maybe positions(OnnxNode& n, DType dtype, Shape shape, std::int64_t axis) {
  return n.op(Op::kIota, {}, {{"dtype", dtype}, {"shape", std::move(shape)}, {"axis", axis}});
}

// [rows, columns] of f(2 pi / period * row * column). Products are reduced to one turn while they are integers.
Maybe turns(OnnxNode& n, Op f, Dim rows, Dim columns, Dim period, DType dtype) {
  const Maybe product =
      n.op(Op::kMul, {positions(n, DType::kI64, {rows, Dim(1)}, 0), positions(n, DType::kI64, {Dim(1), columns}, 1)});
  const Maybe step = n.op(Op::kMod, {product, n.number(DType::kI64, period)});
  const Dim turn = Dim::make(DimOp::kTrueDiv, std::array{Dim::real(2 * std::numbers::pi), period});
  return n.cast(n.op(f, {n.op(Op::kMul, {n.cast(step, DType::kF64), n.number(DType::kF64, turn)})}), dtype);
}

struct Complex {
  Maybe real;
  std::optional<Maybe> imaginary;
};

struct Transform {
  Dim length;  // of the signal and of the period
  Dim bins;    // that are kept
  bool inverse;
};

// Along the last axis of parts [.., length].
Complex transform(OnnxNode& n, const Complex& x, const Transform& t, DType dtype) {
  const Maybe cos = turns(n, Op::kCos, t.length, t.bins, t.length, dtype);
  const Maybe sin = turns(n, Op::kSin, t.length, t.bins, t.length, dtype);
  const auto product = [&](const Maybe& a, const Maybe& table) { return n.op(Op::kMatMul, {a, table}); };
  Maybe real = product(x.real, cos);
  Maybe imaginary = product(x.real, sin);
  if (!t.inverse) imaginary = n.op(Op::kNeg, {imaginary});
  if (x.imaginary) {
    const Maybe crossed = product(*x.imaginary, sin);
    real = n.op(t.inverse ? Op::kSub : Op::kAdd, {real, crossed});
    imaginary = n.op(Op::kAdd, {imaginary, product(*x.imaginary, cos)});
  }
  if (!t.inverse) return {real, imaginary};
  const Maybe count = n.cast(n.number(DType::kI64, t.length), dtype);
  return {n.op(Op::kDiv, {real, count}), n.op(Op::kDiv, {imaginary, count})};
}

// x cut or filled with zeros to `size` along its last axis.
Maybe fitted(OnnxNode& n, const Maybe& x, Dim size) {
  TW_ASSIGN(const ValueId value, Maybe(x));
  const Shape shape = n.type_of(value).shape;
  if (n.facts().same(shape.back(), size) == Answer::kYes) return value;
  const Dim kept = min(shape.back(), size);
  const Dims low(shape.size(), Dim(0));
  Dims high = low;
  high.back() = size - kept;
  const Maybe cut = n.slice(value, std::ssize(shape) - 1, Dim(0), kept);
  return n.op(Op::kPad, {cut, n.number_like(cut, 0.0)}, {{"low", low}, {"high", high}});
}

// x [.., 1 or 2] as parts, with `axis` moved to the end.
Result<Complex> parts_along(OnnxNode& n, const Maybe& x, std::int64_t axis) {
  TW_ASSIGN(const ValueId value, Maybe(x));
  const Shape shape = n.type_of(value).shape;
  const auto rank = std::ssize(shape);
  if (rank < 2 || axis == rank - 1)
    return fail(ErrorKind::kShapeMismatch, "no signal along axis {} of {}", axis, n.type_of(value));
  TW_ASSIGN(const std::int64_t parts, n.number_of_size(shape.back()));
  if (parts != 1 && parts != 2) {
    return fail(ErrorKind::kShapeMismatch, "the last axis must have 1 or 2 elements: {}", n.type_of(value));
  }
  Ints perm;
  for (std::int64_t i = 0; i + 1 < rank; ++i) {
    if (i != axis) perm.push_back(i);
  }
  perm.push_back(axis);
  const Shape whole(shape.begin(), shape.end() - 1);
  const auto part = [&](std::int64_t i) {
    return n.transpose(n.reshape(n.slice(value, rank - 1, Dim(i), Dim(i + 1)), whole), perm);
  };
  if (parts == 1) return Complex{part(0), std::nullopt};
  return Complex{part(0), part(1)};
}

// The last axis moved back to `axis`, the parts side by side behind it.
Maybe joined(OnnxNode& n, const Complex& x, std::int64_t axis) {
  TW_ASSIGN(const ValueId real, Maybe(x.real));
  const auto rank = std::ssize(n.type_of(real).shape);
  Ints perm;
  for (std::int64_t i = 0; i + 1 < rank; ++i) perm.push_back(i);
  perm.insert(perm.begin() + axis, rank - 1);
  const Maybe first = n.unsqueeze(n.transpose(real, perm), {rank});
  if (!x.imaginary) return first;
  return n.op(Op::kConcat, {first, n.unsqueeze(n.transpose(*x.imaginary, perm), {rank})}, {{"axis", rank}});
}

// The other half of a spectrum of which the first `length / 2 + 1` bins are given: x[k] = conj(x[length - k]).
Complex whole_spectrum(OnnxNode& n, const Complex& x, Dim length, std::int64_t last) {
  const Dim half = floordiv(length, Dim(2)) + Dim(1);
  const Dim mirrored = length - half;  // bins half .. length - 1 mirror 1 .. mirrored
  const auto both = [&](const Maybe& part, bool negated) {
    const Maybe given = fitted(n, part, half);
    Maybe rest = n.op(Op::kFlip, {n.slice(given, last, Dim(1), Dim(1) + mirrored)}, {{"axes", Ints{last}}});
    if (negated) rest = n.op(Op::kNeg, {rest});
    return n.op(Op::kConcat, {given, rest}, {{"axis", last}});
  };
  Complex out{both(x.real, false), std::nullopt};
  if (x.imaginary) out.imaginary = both(*x.imaginary, true);
  return out;
}

Maybe dft(OnnxNode& n, std::int64_t axis, bool has_length) {
  TW_ASSIGN(const TensorType type, n.type(0));
  const bool inverse = n.integer("inverse", 0) != 0, onesided = n.integer("onesided", 0) != 0;
  // In f64: a bin that cancels to 0 keeps 0 to the last digits of the dtype of x.
  TW_ASSIGN(Complex x, parts_along(n, n.cast(n.input(0), DType::kF64), axis));
  const Dim given = type.shape[static_cast<std::size_t>(axis)];
  const auto last = std::ssize(type.shape) - 2;
  Dim length = inverse && onesided ? (given - Dim(1)) * Dim(2) : given;
  if (has_length) {
    TW_ASSIGN(length, n.scalar(1));
  }
  if (inverse && onesided) {
    x = whole_spectrum(n, x, length, last);
  } else {
    x.real = fitted(n, x.real, length);
    if (x.imaginary) x.imaginary = fitted(n, *x.imaginary, length);
  }
  const Dim bins = onesided && !inverse ? floordiv(length, Dim(2)) + Dim(1) : length;
  Complex y = transform(n, x, {.length = length, .bins = bins, .inverse = inverse}, DType::kF64);
  if (inverse && onesided) y.imaginary.reset();
  return n.cast(joined(n, y, axis), type.dtype);
}

}  // namespace

// Before opset 20 the axis is an attribute.
Maybe import_dft_attribute(OnnxNode& n) {
  TW_ASSIGN(const TensorType type, n.type(0));
  TW_ASSIGN(const std::int64_t axis, n.axis(n.integer("axis", 1), type.shape.size()));
  return dft(n, axis, n.has(1));
}

Maybe import_dft(OnnxNode& n) {
  TW_ASSIGN(const TensorType type, n.type(0));
  Ints given{-2};
  if (n.has(2)) {
    TW_ASSIGN(given, n.constant_integers(2));
  }
  TW_ASSIGN(const std::int64_t axis, n.axis(given.at(0), type.shape.size()));
  return dft(n, axis, n.has(1));
}

// signal [B, T, 1 or 2], step, window, frame length -> [B, frames, bins, 2]
Maybe import_stft(OnnxNode& n) {
  TW_ASSIGN(const TensorType type, n.type(0));
  if (type.shape.size() != 3 && type.shape.size() != 2) {
    return fail(ErrorKind::kShapeMismatch, "the signal must have 3 axes: {}", type);
  }
  const Maybe signal = type.shape.size() == 2 ? n.unsqueeze(n.input(0), {2}) : n.input(0);
  TW_ASSIGN(const Dim step, n.scalar(1));
  Dim length = 0;
  if (n.has(3)) {
    TW_ASSIGN(length, n.scalar(3));
  } else {
    TW_ASSIGN(const TensorType window, n.type(2));
    length = window.shape.at(0);
  }
  const Dim frames = floordiv(type.shape[1] - length, step) + Dim(1);
  const Maybe starts = n.op(Op::kMul, {positions(n, DType::kI64, {frames, Dim(1)}, 0), n.number(DType::kI64, step)});
  const Maybe places = n.op(Op::kAdd, {starts, positions(n, DType::kI64, {Dim(1), length}, 1)});
  Maybe framed = n.op(Op::kGather, {signal, places}, {{"axis", std::int64_t{1}}});
  if (n.has(2)) framed = n.op(Op::kMul, {framed, n.reshape(n.input(2), {length, Dim(1)})});
  TW_ASSIGN(const Complex x, parts_along(n, framed, 2));
  const bool onesided = n.integer("onesided", 1) != 0;
  const Dim bins = onesided ? floordiv(length, Dim(2)) + Dim(1) : length;
  return joined(n, transform(n, x, {.length = length, .bins = bins, .inverse = false}, type.dtype), 2);
}

// Triangles of mel filters: [dft_length / 2 + 1, num_mel_bins]. Edges are bins of the spectrum, rounded down.
Maybe import_mel_weight_matrix(OnnxNode& n) {
  TW_ASSIGN(const Dim filters, n.scalar(0));
  TW_ASSIGN(const Dim length, n.scalar(1));
  DType dtype = DType::kF32;
  if (n.has_attribute("output_datatype")) {
    TW_ASSIGN(dtype, n.dtype("output_datatype"));
  }
  const DType f = DType::kF64;
  const auto real = [&](std::size_t input) { return n.reshape(n.cast(n.input(input), f), {}); };
  const auto num = [&](double value) { return n.number(f, Dim::real(value)); };
  const auto mel = [&](const Maybe& hertz) {
    const Maybe ratio = n.op(Op::kAdd, {num(1.0), n.op(Op::kDiv, {hertz, num(700.0)})});
    return n.op(Op::kMul, {num(2595.0), n.op(Op::kLog10, {ratio})});
  };
  const Maybe low = mel(real(3));
  const Maybe width = n.op(Op::kDiv, {n.op(Op::kSub, {mel(real(4)), low}), n.number(f, filters + Dim(2))});
  const auto edge = [&](std::int64_t first) {
    const Maybe at = n.op(Op::kAdd, {positions(n, f, {Dim(1), filters}, 1), num(static_cast<double>(first))});
    const Maybe mels = n.op(Op::kDiv, {n.op(Op::kAdd, {n.op(Op::kMul, {at, width}), low}), num(2595.0)});
    const Maybe hertz = n.op(Op::kMul, {num(700.0), n.op(Op::kSub, {n.op(Op::kPow, {num(10.0), mels}), num(1.0)})});
    const Maybe scaled = n.op(Op::kMul, {n.number(f, length + Dim(1)), hertz});
    return n.op(Op::kFloor, {n.op(Op::kDiv, {scaled, real(2)})});
  };
  const Maybe lower = edge(0), centre = edge(1), upper = edge(2);
  const Maybe bin = positions(n, f, {floordiv(length, Dim(2)) + Dim(1), Dim(1)}, 0);
  const Maybe rise = n.op(Op::kSub, {centre, lower}), fall = n.op(Op::kSub, {upper, centre});
  const auto both = [&](const Maybe& a, const Maybe& b) { return n.op(Op::kBitAnd, {a, b}); };
  const Maybe rising = both(n.op(Op::kGe, {bin, lower}), n.op(Op::kLe, {bin, centre}));
  const Maybe slope = n.op(
      Op::kSelect, {n.op(Op::kEq, {rise, num(0.0)}), num(1.0), n.op(Op::kDiv, {n.op(Op::kSub, {bin, lower}), rise})});
  const Maybe falling = both(n.op(Op::kGe, {bin, centre}), n.op(Op::kLt, {bin, upper}));
  const Maybe descent = n.op(Op::kDiv, {n.op(Op::kSub, {upper, bin}), fall});
  const Maybe left = n.op(Op::kSelect, {rising, slope, num(0.0)});
  return n.cast(n.op(Op::kSelect, {falling, descent, left}), dtype);
}

}  // namespace tilewright::onnx
