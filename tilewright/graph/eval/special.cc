// Special functions in double precision. Each names the source of its formula.
#include "tilewright/graph/eval/special.h"

#include <cmath>
#include <limits>
#include <numbers>

namespace tilewright {

// Start: S. Winitzki, "A handy approximation for the error function and its inverse" (2008), relative error 2e-3.
// Then Halley's method on erf(y) - x; with erfc where |x| > 1/2, so that 1 - |x|, which is exact there, keeps all
// digits.
double erfinv(double x) {
  const double magnitude = std::fabs(x);
  if (!(magnitude <= 1)) return std::numeric_limits<double>::quiet_NaN();
  if (magnitude == 1) return std::copysign(std::numeric_limits<double>::infinity(), x);
  constexpr double kA = 0.147;
  const double log_term = std::log((1 - magnitude) * (1 + magnitude));
  const double half = 2 / (std::numbers::pi * kA) + log_term / 2;
  double y = std::sqrt(std::sqrt(half * half - log_term / kA) - half);
  for (int step = 0; step < 4; ++step) {
    const double error = magnitude > 0.5 ? (1 - magnitude) - std::erfc(y) : std::erf(y) - magnitude;
    const double newton = error / (2 * std::numbers::inv_sqrtpi * std::exp(-y * y));
    y -= newton / (1 + y * newton);
  }
  return std::copysign(y, x);
}

// The C library's function; the reentrant form, because the other one writes a global.
double lgamma(double x) {
  int sign = 0;
  return ::lgamma_r(x, &sign);
}

// Abramowitz and Stegun, "Handbook of Mathematical Functions": reflection 6.3.7, recurrence 6.3.5, asymptotic
// series 6.3.18.
double digamma(double x) {
  if (x == 0) return std::copysign(std::numeric_limits<double>::infinity(), -x);
  if (x < 0) {
    const double fraction = x - std::nearbyint(x);  // from the nearest pole: next to it, digits count
    if (!(fraction != 0)) return std::numeric_limits<double>::quiet_NaN();
    return digamma(1 - x) - std::numbers::pi / std::tan(std::numbers::pi * fraction);
  }
  double sum = 0;
  for (; x < 10; x += 1) sum -= 1 / x;
  if (std::isinf(x)) return x;
  // B(2n) / (2n x**2n), n = 1..7
  constexpr double kTerms[] = {1.0 / 12, -1.0 / 120, 1.0 / 252, -1.0 / 240, 1.0 / 132, -691.0 / 32760, 1.0 / 12};
  const double square = 1 / (x * x);
  double power = square;
  double series = 0;
  for (const double term : kTerms) {
    series += term * power;
    power *= square;
  }
  return sum + std::log(x) - 0.5 / x - series;
}

}  // namespace tilewright
