// Scalar functions that libm lacks, or has with other rules: integer division and powers, remainders, the inverse of
// erf, digamma, and activations of f64. Own code with internal linkage: nothing shared may be emitted by the objects of
// a level.
#pragma once

#include <cmath>
#include <cstdint>

#include "tilewright/vm/cpu/level/vec.h"

namespace tilewright::vm::cpu::TW_LEVEL {

template <typename T>
TW_INLINE T wrapping_product(T a, T b) {
  using U = typename VectorOf<T>::UnsignedElement;
  return static_cast<T>(static_cast<U>(a) * static_cast<U>(b));
}
template <typename T>
TW_INLINE T wrapping_negative(T a) {
  using U = typename VectorOf<T>::UnsignedElement;
  return static_cast<T>(U{0} - static_cast<U>(a));
}
template <typename T>
TW_INLINE T integer_trunc_div(T a, T b) {
  if (b == 0) return 0;
  return b == -1 ? wrapping_negative(a) : static_cast<T>(a / b);
}
template <typename T>
TW_INLINE T integer_rem(T a, T b) {
  return b == 0 || b == -1 ? T{0} : static_cast<T>(a % b);
}
template <typename T>
TW_INLINE T integer_floor_div(T a, T b) {
  return static_cast<T>(integer_trunc_div(a, b) - (integer_rem(a, b) != 0 && (a < 0) != (b < 0) ? 1 : 0));
}
template <typename T>
TW_INLINE T integer_mod(T a, T b) {
  const T rest = integer_rem(a, b);
  return rest != 0 && (rest < 0) != (b < 0) ? static_cast<T>(rest + b) : rest;
}
template <typename T>
TW_INLINE T integer_pow(T a, T exponent) {
  if (exponent < 0) return a == 1 ? T{1} : a == -1 ? (exponent % 2 == 0 ? T{1} : T{-1}) : T{0};
  T result = 1;
  for (; exponent > 0; exponent = static_cast<T>(exponent >> 1)) {
    if ((exponent & 1) != 0) result = wrapping_product(result, a);
    a = wrapping_product(a, a);
  }
  return result;
}

// Start: Winitzki's closed form, good to about 2e-3. Then Halley steps on erf, or on erfc near 1, where erf has no
// digits.
static inline double inverse_erf(double y) {
  const double target = __builtin_fabs(y);
  if (!(target <= 1)) return __builtin_nan("");
  if (target == 1) return __builtin_copysign(__builtin_inf(), y);
  if (target == 0) return y;
  constexpr double kA = 0.147, kPi = 3.14159265358979324;
  const double logarithm = __builtin_log1p(-target * target);
  const double part = 2 / (kPi * kA) + logarithm / 2;
  double x = __builtin_sqrt(__builtin_sqrt(part * part - logarithm / kA) - part);
  for (int step = 0; step < 4; ++step) {
    const double error = target < 0.5 ? __builtin_erf(x) - target : (1 - target) - __builtin_erfc(x);
    const double newton = error / (1.1283791670955126 * __builtin_exp(-x * x));  // 2 / sqrt(pi)
    x -= newton / (1 + x * newton);
  }
  return __builtin_copysign(x, y);
}

// psi(x) = psi(x + n) - 1/x - 1/(x + 1) - .., summed from the smallest term on, where x + n >= 10 has the asymptotic
// series (Abramowitz and Stegun 6.3.18); reflection below 0.
static inline double digamma(double x) {
  constexpr double kPi = 3.14159265358979324;
  if (x == 0) return __builtin_copysign(__builtin_inf(), -x);
  double reflected = 0;
  if (x < 0) {
    const double fraction = x - __builtin_rint(x);  // from the nearest pole: next to it, digits count
    if (!(fraction != 0)) return __builtin_nan("");
    reflected = kPi / __builtin_tan(kPi * fraction);
    x = 1 - x;
  }
  const int steps = x < 10 ? static_cast<int>(11 - x) : 0;
  const double top = x + steps, s = 1 / (top * top);
  const double series =
      s *
      (1.0 / 12 - s * (1.0 / 120 - s * (1.0 / 252 - s * (1.0 / 240 - s * (1.0 / 132 - s * (691.0 / 32760 - s / 12))))));
  double result = __builtin_log(top) - 1 / (2 * top) - series;
  for (int step = steps - 1; step >= 0; --step) result -= 1 / (x + step);
  return result - reflected;
}

static inline double log_gamma(double x) {
  int sign = 0;  // lgamma itself writes a global
  return ::lgamma_r(x, &sign);
}

// x * e ** (u + rest) where u is far below 0: e ** u itself may be too small for a normal number.
static inline double times_exp(double x, double u, double rest) {
  const double half = __builtin_exp(u / 2);
  return (x * half) * half * (1 + rest);
}
// Arguments whose e ** u is a normal number, and vanishes beside 1 where u is below.
constexpr double kSmallExponent = -700;

static inline double sigmoid(double x) {
  if (!(x < 0)) return 1 / (1 + __builtin_exp(-x));
  const double e = __builtin_exp(x);
  return e / (1 + e);
}
static inline double silu(double x) {
  return x < kSmallExponent ? times_exp(x, x, 0) : x * sigmoid(x);
}

// x * erfc(y) / 2, y = -x / sqrt(2). Where x is far below 0, an error d of y is one of 2 y d of the result, so y has
// two words and the second enters by the derivative. Below -37 erfc(y) loses digits: there from its asymptotic series.
static inline double gelu(double x) {
  constexpr double kSqrtHalf = 0.7071067811865476, kRest = -4.833646656726457e-17, kInverseSqrtPi = 0.56418958354775629;
  const double y = -x * kSqrtHalf;
  if (!(y > 1)) return x * (__builtin_erfc(y) / 2);
  if (y > 30) return x * 0.0;
  const double rest = __builtin_fma(-x, kSqrtHalf, -y) - x * kRest;
  if (y < 26) return x * ((__builtin_erfc(y) - 2 * kInverseSqrtPi * rest * __builtin_exp(-y * y)) / 2);
  // e ** -y**2 = e ** (-x**2 / 2), and the series 1 - 1/x**2 + 3/x**4 - 15/x**6 + ..
  const double square = x * x, s = 1 / square;
  const double series = 1 - s * (1 - 3 * s * (1 - 5 * s * (1 - 7 * s * (1 - 9 * s * (1 - 11 * s * (1 - 13 * s))))));
  const double scale = -kInverseSqrtPi * kSqrtHalf * series;
  return times_exp(scale, square / -2, __builtin_fma(x, x, -square) / -2);
}

// x / (1 + e ** -u), u = 2 sqrt(2 / pi) (x + 0.044715 x**3), in two words as above.
static inline double gelu_tanh(double x) {
  constexpr double kSlope = 1.5957691216057308, kSlopeRest = -9.96930880911092e-17;
  constexpr double kCubic = 0.07135481627260025, kCubicRest = -6.175149918155315e-19;
  const double square = x * x, square_rest = __builtin_fma(x, x, -square);
  const double cubic = kCubic * square;
  const double cubic_rest = __builtin_fma(kCubic, square, -cubic) + kCubic * square_rest + kCubicRest * square;
  const double factor = kSlope + cubic;
  const double larger = cubic > kSlope ? cubic : kSlope, smaller = cubic > kSlope ? kSlope : cubic;
  const double factor_rest = (larger - factor) + smaller + kSlopeRest + cubic_rest;
  const double u = x * factor;
  if (!(u < -1)) return x / (1 + __builtin_exp(-u));
  if (u < -800) return x * 0.0;
  const double rest = __builtin_fma(x, factor, -u) + x * factor_rest;
  if (u < kSmallExponent) return times_exp(x, u, rest);
  const double e = __builtin_exp(u);
  return x * ((e + e * rest) / (1 + e));
}

}  // namespace tilewright::vm::cpu::TW_LEVEL
