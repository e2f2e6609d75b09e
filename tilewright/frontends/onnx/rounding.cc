// A number is rounded to a multiple of the quantum at its exponent: x / quantum is exact, for quanta are powers of two,
// and Round takes ties to even. The quantum is made of the bits of x, so subnormal results need no case of their own.
#include "tilewright/frontends/onnx/rounding.h"

#include <cmath>
#include <limits>

namespace tilewright::onnx {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

struct Layout {
  DType wide;  // of the numbers
  DType bits;
  std::int64_t mantissa, bias, exponents;
};

Layout layout_of(DType wide) {
  if (wide == DType::kF64) return {wide, DType::kI64, 52, 1023, 2047};
  return {DType::kF32, DType::kI32, 23, 127, 255};
}

class Rounder {
 public:
  Rounder(OnnxNode& n, const Maybe& value, const Layout& layout)
      : n_(n), x_(value), layout_(layout), bits_(n.op(Op::kBitcast, {value}, {{"dtype", layout.bits}})) {}

  Maybe to_format(const FloatFormat& format, bool saturate) {
    const Maybe least = integer(layout_.bias + format.lowest_exponent);
    const Maybe quantum = from_exponent(sub(n_.op(Op::kMax, {exponent(), least}), integer(format.mantissa)));
    Maybe y = n_.op(Op::kMul, {n_.op(Op::kRound, {n_.op(Op::kDiv, {x_, quantum})}), quantum});
    const Maybe over = n_.op(Op::kGt, {n_.op(Op::kAbs, {y}), number(format.largest)});
    const double beyond = saturate ? format.largest : format.has_infinity ? INFINITY : kNan;
    y = n_.op(Op::kSelect, {over, n_.op(Op::kCopySign, {number(beyond), x_}), y});
    if (!format.has_negative_zero) {
      y = n_.op(Op::kSelect, {n_.op(Op::kEq, {y, number(0)}), number(0), y});
    }
    if (!format.has_nan) y = n_.op(Op::kSelect, {n_.op(Op::kIsNan, {x_}), number(0), y});
    return y;
  }

  // 2^-127 ... 2^127, of f64 numbers.
  Maybe to_power(const CastRules& rules) {
    const Maybe fraction = n_.op(Op::kBitAnd, {bits_, integer((std::int64_t{1} << layout_.mantissa) - 1)});
    Maybe power = exponent();
    if (rules.round_mode != "down") {
      const std::int64_t least = rules.round_mode == "nearest" ? std::int64_t{1} << (layout_.mantissa - 1) : 1;
      const Maybe up = n_.op(Op::kGe, {fraction, integer(least)});
      power = n_.op(Op::kAdd, {power, n_.cast(up, layout_.bits)});
    }
    const Maybe low = integer(layout_.bias - 127);
    const Maybe high = integer(layout_.bias + 127);
    const Maybe inside = n_.op(Op::kMin, {n_.op(Op::kMax, {power, low}), high});
    Maybe y = from_exponent(inside);
    if (!rules.saturate) y = n_.op(Op::kSelect, {n_.op(Op::kEq, {inside, power}), y, number(kNan)});
    return n_.op(Op::kSelect, {n_.op(Op::kIsNan, {x_}), number(kNan), y});
  }

 private:
  Maybe integer(std::int64_t value) { return n_.number(layout_.bits, Dim(value)); }
  Maybe number(double value) { return n_.number(layout_.wide, Dim::real(value)); }
  Maybe sub(const Maybe& a, const Maybe& b) { return n_.op(Op::kSub, {a, b}); }
  Maybe exponent() {
    return n_.op(Op::kBitAnd, {n_.op(Op::kShiftRight, {bits_, integer(layout_.mantissa)}), integer(layout_.exponents)});
  }
  Maybe from_exponent(const Maybe& biased) {
    const Maybe bits = n_.op(Op::kShiftLeft, {biased, integer(layout_.mantissa)});
    return n_.op(Op::kBitcast, {bits}, {{"dtype", layout_.wide}});
  }

  OnnxNode& n_;
  Maybe x_;
  Layout layout_;
  Maybe bits_;
};

}  // namespace

Maybe rounded_to(OnnxNode& n, const Maybe& value, Carried carried, const CastRules& rules) {
  if (carried == Carried::kF8E8M0) {
    return Rounder(n, n.cast(value, DType::kF64), layout_of(DType::kF64)).to_power(rules);
  }
  TW_ASSIGN(const ValueId id, Maybe(value));
  const bool saturate = rules.saturate || carried == Carried::kF4E2M1;
  return Rounder(n, id, layout_of(n.type_of(id).dtype)).to_format(format_of(carried), saturate);
}

}  // namespace tilewright::onnx
