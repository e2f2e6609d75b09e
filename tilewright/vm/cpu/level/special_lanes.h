// Scalar functions that libm lacks, or has with other rules: integer division and powers, remainders, the inverse of
// erf and digamma. Own code with internal linkage: nothing shared may be emitted by the objects of a level.
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

// psi(x) = psi(x + 1) - 1/x up to 10, then the asymptotic series (Abramowitz and Stegun 6.3.18); reflection below 0.
static inline double digamma(double x) {
  constexpr double kPi = 3.14159265358979324;
  if (x == 0) return __builtin_copysign(__builtin_inf(), -x);
  double reflected = 0;
  if (x < 0) {
    const double fraction = x - __builtin_trunc(x);
    if (!(fraction != 0)) return __builtin_nan("");
    reflected = kPi / __builtin_tan(kPi * fraction);
    x = 1 - x;
  }
  double result = 0;
  for (; x < 10; x += 1) result -= 1 / x;
  const double s = 1 / (x * x);
  const double series =
      s *
      (1.0 / 12 - s * (1.0 / 120 - s * (1.0 / 252 - s * (1.0 / 240 - s * (1.0 / 132 - s * (691.0 / 32760 - s / 12))))));
  return (result + __builtin_log(x) - 1 / (2 * x) - series) - reflected;
}

static inline double log_gamma(double x) {
  int sign = 0;  // lgamma itself writes a global
  return ::lgamma_r(x, &sign);
}

}  // namespace tilewright::vm::cpu::TW_LEVEL
