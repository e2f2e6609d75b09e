// One evaluation of one Dim operation, used by constant folding and by DimProgram so that both always agree. A row of
// dim_ops.def without a function here does not compile. Hot: no allocation, no throw.
#pragma once

#include <cmath>
#include <cstdint>

#include "tilewright/base/check.h"
#include "tilewright/tensor/dim_program.h"

namespace tilewright {

// Why an operation has no result.
enum class DimFault : std::uint8_t {
  kNone,
  kOverflow,
  kDivisionByZero,
  kBroadcast,
  kNegativeExponent,
  kNegativeShift,
};

namespace on_integers {

struct In {
  std::int64_t a, b, c;
};
using Out = std::int64_t&;

inline DimFault overflow_if(bool overflowed) {
  return overflowed ? DimFault::kOverflow : DimFault::kNone;
}
inline DimFault store(Out out, std::int64_t value) {
  out = value;
  return DimFault::kNone;
}
inline DimFault never(In, Out) {
  TW_CHECK(false, "an operation that has no integer form");
  return DimFault::kNone;
}
inline constexpr auto Const = never, FloatConst = never, Symbol = never, FloatSymbol = never, TrueDiv = never,
                      Sqrt = never, Exp = never, Log = never, Sin = never, Cos = never, Tanh = never, ToFloat = never;

inline DimFault itself(In in, Out out) {
  return store(out, in.a);
}
inline constexpr auto Floor = itself, Ceil = itself, Round = itself, Trunc = itself;

inline DimFault Add(In in, Out out) {
  return overflow_if(__builtin_add_overflow(in.a, in.b, &out));
}
inline DimFault Mul(In in, Out out) {
  return overflow_if(__builtin_mul_overflow(in.a, in.b, &out));
}
inline DimFault FloorDiv(In in, Out out) {
  if (in.b == 0) return DimFault::kDivisionByZero;
  if (in.b == -1) return overflow_if(__builtin_sub_overflow(std::int64_t{0}, in.a, &out));
  const std::int64_t quotient = in.a / in.b;
  return store(out, quotient - ((in.a % in.b != 0 && (in.a < 0) != (in.b < 0)) ? 1 : 0));
}
inline DimFault Mod(In in, Out out) {
  if (in.b == 0) return DimFault::kDivisionByZero;
  if (in.b == -1) return store(out, 0);
  const std::int64_t remainder = in.a % in.b;
  return store(out, remainder != 0 && (remainder < 0) != (in.b < 0) ? remainder + in.b : remainder);
}
inline DimFault Min(In in, Out out) {
  return store(out, in.b < in.a ? in.b : in.a);
}
inline DimFault Max(In in, Out out) {
  return store(out, in.b > in.a ? in.b : in.a);
}
inline DimFault Broadcast(In in, Out out) {
  out = in.a == 1 ? in.b : in.a;
  return in.a == in.b || in.a == 1 || in.b == 1 ? DimFault::kNone : DimFault::kBroadcast;
}
inline DimFault Pow(In in, Out out) {
  if (in.b < 0) return DimFault::kNegativeExponent;
  std::int64_t result = 1, base = in.a;
  for (std::int64_t exponent = in.b;;) {
    if ((exponent & 1) != 0 && __builtin_mul_overflow(result, base, &result)) return DimFault::kOverflow;
    exponent >>= 1;
    if (exponent == 0) return store(out, result);
    if (__builtin_mul_overflow(base, base, &base)) return DimFault::kOverflow;
  }
}
inline DimFault Abs(In in, Out out) {
  if (in.a >= 0) return store(out, in.a);
  return overflow_if(__builtin_sub_overflow(std::int64_t{0}, in.a, &out));
}
inline DimFault Eq(In in, Out out) {
  return store(out, in.a == in.b);
}
inline DimFault Ne(In in, Out out) {
  return store(out, in.a != in.b);
}
inline DimFault Lt(In in, Out out) {
  return store(out, in.a < in.b);
}
inline DimFault Le(In in, Out out) {
  return store(out, in.a <= in.b);
}
inline DimFault And(In in, Out out) {
  return store(out, in.a != 0 && in.b != 0);
}
inline DimFault Or(In in, Out out) {
  return store(out, in.a != 0 || in.b != 0);
}
inline DimFault Not(In in, Out out) {
  return store(out, in.a == 0);
}
inline DimFault Select(In in, Out out) {
  return store(out, in.a != 0 ? in.b : in.c);
}
inline DimFault BitAnd(In in, Out out) {
  return store(out, in.a & in.b);
}
inline DimFault BitOr(In in, Out out) {
  return store(out, in.a | in.b);
}
inline DimFault BitXor(In in, Out out) {
  return store(out, in.a ^ in.b);
}
inline DimFault ShiftLeft(In in, Out out) {
  if (in.b < 0) return DimFault::kNegativeShift;
  if (in.a == 0) return store(out, 0);
  if (in.b > 62) return in.a == -1 && in.b == 63 ? store(out, INT64_MIN) : DimFault::kOverflow;
  return overflow_if(__builtin_mul_overflow(in.a, std::int64_t{1} << in.b, &out));
}
inline DimFault ShiftRight(In in, Out out) {
  if (in.b < 0) return DimFault::kNegativeShift;
  return store(out, in.a >> (in.b > 63 ? 63 : in.b));
}

}  // namespace on_integers

namespace on_floats {

struct In {
  DimValue a, b, c;
};
using Out = DimValue&;

inline DimFault store(Out out, double value) {
  out.real = value;
  return DimFault::kNone;
}
inline DimFault store(Out out, bool value) {
  out.integer = value ? 1 : 0;
  return DimFault::kNone;
}
// A whole number as an integer, if int64 holds it.
inline DimFault store_whole(Out out, double value) {
  if (!(value >= -0x1p63 && value < 0x1p63)) return DimFault::kOverflow;
  out.integer = static_cast<std::int64_t>(value);
  return DimFault::kNone;
}
inline DimFault never(In, Out) {
  TW_CHECK(false, "an operation that has no f64 form");
  return DimFault::kNone;
}
inline constexpr auto Const = never, FloatConst = never, Symbol = never, FloatSymbol = never, Broadcast = never,
                      And = never, Or = never, Not = never, BitAnd = never, BitOr = never, BitXor = never,
                      ShiftLeft = never, ShiftRight = never;

inline DimFault Add(In in, Out out) {
  return store(out, in.a.real + in.b.real);
}
inline DimFault Mul(In in, Out out) {
  return store(out, in.a.real * in.b.real);
}
inline DimFault FloorDiv(In in, Out out) {
  if (in.b.real == 0) return DimFault::kDivisionByZero;
  return store(out, std::floor(in.a.real / in.b.real));
}
inline DimFault Mod(In in, Out out) {
  if (in.b.real == 0) return DimFault::kDivisionByZero;
  const double remainder = std::fmod(in.a.real, in.b.real);
  if (remainder == 0) return store(out, std::copysign(0.0, in.b.real));
  return store(out, (remainder < 0) != (in.b.real < 0) ? remainder + in.b.real : remainder);
}
inline DimFault Min(In in, Out out) {
  return store(out, in.b.real < in.a.real ? in.b.real : in.a.real);
}
inline DimFault Max(In in, Out out) {
  return store(out, in.b.real > in.a.real ? in.b.real : in.a.real);
}
inline DimFault TrueDiv(In in, Out out) {
  if (in.b.real == 0) return DimFault::kDivisionByZero;
  return store(out, in.a.real / in.b.real);
}
inline DimFault Pow(In in, Out out) {
  return store(out, std::pow(in.a.real, in.b.real));
}
inline DimFault Sqrt(In in, Out out) {
  return store(out, std::sqrt(in.a.real));
}
inline DimFault Exp(In in, Out out) {
  return store(out, std::exp(in.a.real));
}
inline DimFault Log(In in, Out out) {
  return store(out, std::log(in.a.real));
}
inline DimFault Sin(In in, Out out) {
  return store(out, std::sin(in.a.real));
}
inline DimFault Cos(In in, Out out) {
  return store(out, std::cos(in.a.real));
}
inline DimFault Tanh(In in, Out out) {
  return store(out, std::tanh(in.a.real));
}
inline DimFault Abs(In in, Out out) {
  return store(out, std::fabs(in.a.real));
}
inline DimFault Floor(In in, Out out) {
  return store_whole(out, std::floor(in.a.real));
}
inline DimFault Ceil(In in, Out out) {
  return store_whole(out, std::ceil(in.a.real));
}
inline DimFault Round(In in, Out out) {
  return store_whole(out, std::nearbyint(in.a.real));
}
inline DimFault Trunc(In in, Out out) {
  return store_whole(out, std::trunc(in.a.real));
}
inline DimFault ToFloat(In in, Out out) {
  return store(out, static_cast<double>(in.a.integer));
}
inline DimFault Eq(In in, Out out) {
  return store(out, in.a.real == in.b.real);
}
inline DimFault Ne(In in, Out out) {
  return store(out, in.a.real != in.b.real);
}
inline DimFault Lt(In in, Out out) {
  return store(out, in.a.real < in.b.real);
}
inline DimFault Le(In in, Out out) {
  return store(out, in.a.real <= in.b.real);
}
inline DimFault Select(In in, Out out) {
  return store(out, in.a.integer != 0 ? in.b.real : in.c.real);
}

}  // namespace on_floats

inline DimFault apply_integer(DimOp op, on_integers::In in, std::int64_t& out) {
  switch (op) {
#define DIM_OP(Name, ...) \
  case DimOp::k##Name:    \
    return on_integers::Name(in, out);
#include "tilewright/tensor/dim_ops.def"
#undef DIM_OP
  }
  __builtin_unreachable();
}

// The result is out.integer for operations whose row gives 'i', out.real for the rest.
inline DimFault apply_float(DimOp op, on_floats::In in, DimValue& out) {
  switch (op) {
#define DIM_OP(Name, ...) \
  case DimOp::k##Name:    \
    return on_floats::Name(in, out);
#include "tilewright/tensor/dim_ops.def"
#undef DIM_OP
  }
  __builtin_unreachable();
}

// True if the operation computes in f64: it has an f64 result or an f64 operand.
inline bool computes_in_float(bool is_float, std::span<const Dim> operands) {
  bool any = is_float;
  for (const Dim operand : operands) any = any || operand.is_float();
  return any;
}

}  // namespace tilewright
