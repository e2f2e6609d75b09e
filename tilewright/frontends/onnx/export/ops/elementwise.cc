// Elementwise operators. What a graph op means for infinities, nan, zeros of both signs and wrapping integers decides
// the form; where ONNX has no operator, formulas keep the precision that the op promises.
#include <cmath>
#include <limits>

#include "tilewright/frontends/onnx/export/node.h"
#include "tilewright/frontends/onnx/types.h"

namespace tilewright::onnx {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

bool is_bool(const ExportNode& n) {
  return n.dtype(0) == DType::kBool;
}

Out exclusive_or(ExportNode& n, Out a, Out b) {
  return n.make("Xor", {a, b}, {}, DType::kBool);
}
Out either(ExportNode& n, Out a, Out b) {
  return n.make("Or", {a, b}, {}, DType::kBool);
}
Out both(ExportNode& n, Out a, Out b) {
  return n.make("And", {a, b}, {}, DType::kBool);
}

// Whether the sign bit is set; of -0 too.
Out is_negative(ExportNode& n, Out x) {
  const Out zero = n.equal(x, n.like(x, 0));
  const Out below = n.less(n.make("Reciprocal", {x}), n.like(x, 0));
  return either(n, n.less(x, n.like(x, 0)), both(n, zero, below));
}

Out truncated(ExportNode& n, Out x) {
  return n.where(n.less(x, n.like(x, 0)), n.make("Ceil", {x}), n.make("Floor", {x}));
}

// A divisor that is known and neither 0 nor -1 needs no care.
bool divides_safely(const ExportNode& n) {
  const Tensor* divisor = n.constant(1);
  if (divisor == nullptr) return false;
  const Tensor dense = divisor->contiguous();
  return visit(dense.dtype(), [&]<typename T>() {
    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
      for (std::int64_t i = 0; i < dense.count(); ++i) {
        const auto value = static_cast<std::int64_t>(dense.data_as<T>()[i]);
        if (value == 0 || value == -1) return false;
      }
    }
    return true;
  });
}

// Quotient (or remainder) of integers: 0 where b is 0, and without the division of the smallest integer by -1, both of
// which end a process.
template <typename Build>
Out guarded(ExportNode& n, bool is_quotient, Build build) {
  const Out a = n.input(0), b = n.input(1);
  if (divides_safely(n)) return build(a, b);
  const Out zero = n.like(a, 0), minus_one = n.equal(n.cast(b, DType::kI64), n.integer(DType::kI64, -1));
  const Out nothing = n.equal(b, zero);
  const Out safe = n.where(either(n, nothing, minus_one), n.like(a, 1), b);
  const Out plain = build(a, safe);
  const Out inner = n.where(minus_one, is_quotient ? n.make("Neg", {a}) : zero, plain);
  return n.where(nothing, zero, inner);
}

}  // namespace

Outs export_rounding(ExportNode& n) {
  const Out x = n.input(0);
  if (!is_float(x.dtype)) return {x};
  if (n.op() == Op::kTrunc) return {truncated(n, x)};
  return {n.make(n.op() == Op::kCeil ? "Ceil" : n.op() == Op::kFloor ? "Floor" : "Round", {x})};
}

Outs export_rsqrt(ExportNode& n) {
  return {n.make("Reciprocal", {n.make("Sqrt", {n.input(0)})})};
}

Outs export_exp2(ExportNode& n) {
  return {n.make("Pow", {n.like(n.input(0), 2), n.input(0)})};
}

// tanh(x / 2) keeps its relative precision near 0, where exp(x) - 1 loses it: exp(x) - 1 = 2 t / (1 - t).
Outs export_expm1(ExportNode& n) {
  const Out x = n.input(0), one = n.like(x, 1);
  const Out t = n.make("Tanh", {n.mul(x, n.like(x, 0.5))});
  const Out near = n.div(n.add(t, t), n.sub(one, t));
  const Out is_near = n.less(n.make("Abs", {x}), n.like(x, 0.5));
  return {n.where(is_near, near, n.sub(n.make("Exp", {x}), one))};
}

Outs export_log_of_base(ExportNode& n) {
  const Out x = n.input(0);
  const double factor = n.op() == Op::kLog2 ? M_LOG2E : M_LOG10E;
  return {n.mul(n.make("Log", {x}), n.like(x, factor))};
}

// u = 1 + x is rounded; log(u) * x / (u - 1) takes the rounding back out. Kahan, in Higham 2002, section 1.14.1.
Outs export_log1p(ExportNode& n) {
  const Out x = n.input(0), one = n.like(x, 1);
  const Out u = n.add(x, one), rest = n.sub(u, one), log = n.make("Log", {u});
  const Out near = n.where(n.equal(rest, n.like(x, 0)), x, n.div(n.mul(log, x), rest));
  return {n.where(n.less(n.make("Abs", {x}), n.like(x, 0.5)), near, log)};
}

Outs export_relu(ExportNode& n) {
  const Out x = n.input(0);
  if (x.dtype == DType::kBool || x.dtype == DType::kU8) return {x};
  return {is_float(x.dtype) ? n.make("Relu", {x}) : n.make("Max", {x, n.like(x, 0)})};
}

Outs export_logical_not(ExportNode& n) {
  const Out x = n.input(0);
  return {is_bool(n) ? n.negate(x) : n.equal(x, n.like(x, 0))};
}

Outs export_bit_not(ExportNode& n) {
  const Out x = n.input(0);
  if (is_bool(n)) return {n.negate(x)};
  if (n.opset() >= 18) return {n.make("BitwiseNot", {x})};
  return {n.sub(n.like(x, x.dtype == DType::kU8 ? 255 : -1), x)};
}

Outs export_predicate(ExportNode& n) {
  const Out x = n.input(0);
  const bool real = is_float(x.dtype);
  if (n.op() == Op::kIsNan && real) return {n.make("IsNaN", {x})};
  if (n.op() == Op::kIsInf && real) return {n.make("IsInf", {x})};
  if (n.op() == Op::kIsFinite) return {real ? n.less(n.make("Abs", {x}), n.like(x, kInfinity)) : n.equal(x, x)};
  return {n.less(x, x)};
}

Outs export_cast(ExportNode& n) {
  return {n.cast(n.input(0), n.attrs().dtype("dtype"))};
}

Outs export_bitcast(ExportNode& n) {
  const DType dtype = n.attrs().dtype("dtype");
  return {n.make("BitCast", {n.input(0)}, {{"to", *elem_type_of(dtype)}}, dtype)};
}

Outs export_add(ExportNode& n) {
  return {is_bool(n) ? either(n, n.input(0), n.input(1)) : n.add(n.input(0), n.input(1))};
}

Outs export_sub(ExportNode& n) {
  return {is_bool(n) ? exclusive_or(n, n.input(0), n.input(1)) : n.sub(n.input(0), n.input(1))};
}

Outs export_mul(ExportNode& n) {
  return {is_bool(n) ? both(n, n.input(0), n.input(1)) : n.mul(n.input(0), n.input(1))};
}

Outs export_division(ExportNode& n) {
  const bool down = n.op() == Op::kFloorDiv;
  if (is_float(n.dtype(0))) {
    const Out quotient = n.div(n.input(0), n.input(1));
    return {down ? n.make("Floor", {quotient}) : truncated(n, quotient)};
  }
  return {guarded(n, true, [&](Out a, Out b) {
    const Out quotient = n.div(a, b);
    if (!down) return quotient;
    const Out rest = n.make("Mod", {a, b}, {{"fmod", std::int64_t{1}}}), zero = n.like(a, 0);
    const Out differ = exclusive_or(n, n.less(rest, zero), n.less(b, zero));
    const Out below = both(n, differ, n.negate(n.equal(rest, zero)));
    return n.where(below, n.sub(quotient, n.like(a, 1)), quotient);
  })};
}

Outs export_modulo(ExportNode& n) {
  const bool of_a = n.op() == Op::kRem;
  const Attributes fmod{{"fmod", std::int64_t{1}}};
  if (!is_float(n.dtype(0))) {
    return {guarded(n, false, [&](Out a, Out b) { return n.make("Mod", {a, b}, of_a ? fmod : Attributes{}); })};
  }
  const Out b = n.input(1), rest = n.make("Mod", {n.input(0), b}, fmod);
  if (of_a) return {rest};
  const Out zero = n.like(b, 0);
  const Out differ = exclusive_or(n, n.less(rest, zero), n.less(b, zero));
  return {n.where(both(n, differ, n.negate(n.equal(rest, zero))), n.add(rest, b), rest)};
}

Outs export_pow(ExportNode& n) {
  const Out a = n.input(0), b = n.input(1);
  if (is_float(a.dtype) || a.dtype == DType::kU8) return {n.make("Pow", {a, b})};
  const Out is_unit = n.equal(n.make("Abs", {a}), n.like(a, 1));
  const Out gone = both(n, n.less(b, n.like(b, 0)), n.negate(is_unit));
  return {n.where(gone, n.like(a, 0), n.make("Pow", {a, n.make("Abs", {b})}))};
}

Outs export_fmax(ExportNode& n) {
  const Out a = n.input(0), b = n.input(1);
  const Out plain = n.make(n.op() == Op::kFmax ? "Max" : "Min", {a, b});
  return {n.where(n.make("IsNaN", {a}), b, n.where(n.make("IsNaN", {b}), a, plain))};
}

Outs export_copysign(ExportNode& n) {
  const Out size = n.make("Abs", {n.input(0)});
  return {n.where(is_negative(n, n.input(1)), n.make("Neg", {size}), size)};
}

// Where both are 0 or both infinite the quotient says nothing; there it is 0 or 1 with the signs of both.
Outs export_atan2(ExportNode& n) {
  const Out a = n.input(0), b = n.input(1), zero = n.like(a, 0), one = n.like(a, 1);
  const Out a_below = is_negative(n, a), b_below = is_negative(n, b);
  const Out zeros = both(n, n.equal(a, zero), n.equal(b, zero));
  const Out infinite =
      both(n, n.equal(n.make("Abs", {a}), n.like(a, kInfinity)), n.equal(n.make("Abs", {b}), n.like(a, kInfinity)));
  const Out sign = n.where(exclusive_or(n, a_below, b_below), n.like(a, -1), one);
  const Out quotient = n.where(zeros, n.mul(zero, sign), n.where(infinite, sign, n.div(a, b)));
  const Out turn = n.where(a_below, n.like(a, -M_PI), n.like(a, M_PI));
  const Out angle = n.make("Atan", {quotient});
  return {n.where(b_below, n.add(angle, turn), angle)};
}

Outs export_hypot(ExportNode& n) {
  const Out a = n.make("Abs", {n.input(0)}), b = n.make("Abs", {n.input(1)});
  const Out large = n.make("Max", {a, b}), small = n.make("Min", {a, b}), zero = n.like(a, 0);
  const Out ratio = n.where(n.equal(large, zero), zero, n.div(small, large));
  const Out finite = n.mul(large, n.make("Sqrt", {n.add(n.mul(ratio, ratio), n.like(a, 1))}));
  const Out infinite = either(n, n.equal(a, n.like(a, kInfinity)), n.equal(b, n.like(a, kInfinity)));
  return {n.where(infinite, n.like(a, kInfinity), finite)};
}

Outs export_bits(ExportNode& n) {
  const Out a = n.input(0), b = n.input(1);
  const bool is_and = n.op() == Op::kBitAnd, is_or = n.op() == Op::kBitOr;
  if (!is_bool(n)) return {n.make(is_and ? "BitwiseAnd" : is_or ? "BitwiseOr" : "BitwiseXor", {a, b})};
  return {is_and ? both(n, a, b) : is_or ? either(n, a, b) : exclusive_or(n, a, b)};
}

// BitShift takes unsigned integers and no count beyond their width. A shift to the right of a negative number is that
// of its complement, complemented.
Outs export_shift(ExportNode& n) {
  constexpr auto kU64 = static_cast<std::int64_t>(schema::TensorProtoDataType::kUINT64);
  const bool left = n.op() == Op::kShiftLeft;
  const Out x = n.cast(n.input(0), DType::kI64), by = n.cast(n.input(1), DType::kI64);
  const Out zero = n.like(x, 0), minus_one = n.like(x, -1);
  const std::int64_t last = left ? 8 * byte_size(n.dtype(0)) - 1 : 63;
  const Out outside = either(n, n.less(by, zero), n.less(n.like(x, static_cast<double>(last)), by));
  const Out count = n.where(outside, n.like(x, static_cast<double>(last)), by);
  const auto shift = [&](Out value) {
    const Out bits = n.cast_elem(value, kU64, DType::kI64), counts = n.cast_elem(count, kU64, DType::kI64);
    const Out moved = n.make("BitShift", {bits, counts}, {{"direction", std::string_view(left ? "LEFT" : "RIGHT")}});
    return n.cast_elem(moved, static_cast<std::int64_t>(schema::TensorProtoDataType::kINT64), DType::kI64);
  };
  if (left) return {n.cast(n.where(outside, zero, shift(x)), n.dtype(0))};
  const Out below = n.less(x, zero);
  const Out moved = shift(n.where(below, n.sub(minus_one, x), x));
  return {n.cast(n.where(below, n.sub(minus_one, moved), moved), n.dtype(0))};
}

Outs export_ne(ExportNode& n) {
  return {n.negate(n.equal(n.input(0), n.input(1)))};
}

}  // namespace tilewright::onnx
