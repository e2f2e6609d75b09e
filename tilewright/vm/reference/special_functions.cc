#include "tilewright/vm/reference/special_functions.h"

#include <cmath>
#include <limits>
#include <numbers>

namespace tilewright::vm::reference {

double inverse_erf(double y) {
  if (std::isnan(y) || std::fabs(y) > 1) return std::numeric_limits<double>::quiet_NaN();
  if (std::fabs(y) == 1) return std::copysign(std::numeric_limits<double>::infinity(), y);
  if (y == 0) return y;
  const double target = std::fabs(y);
  // Start: Winitzki's closed form, good to about 2e-3. Then Halley steps on erf, or on erfc near 1, where erf has no
  // digits.
  constexpr double kA = 0.147;
  const double log_term = std::log1p(-target * target);
  const double part = 2 / (std::numbers::pi * kA) + log_term / 2;
  double x = std::sqrt(std::sqrt(part * part - log_term / kA) - part);
  for (int step = 0; step < 4; ++step) {
    const double error = target < 0.5 ? std::erf(x) - target : (1 - target) - std::erfc(x);
    const double newton = error / (2 * std::numbers::inv_sqrtpi * std::exp(-x * x));
    x -= newton / (1 + x * newton);
  }
  return std::copysign(x, y);
}

double log_gamma(double x) {
  int sign = 0;
  return ::lgamma_r(x, &sign);
}

double digamma(double x) {
  if (x == 0) return std::copysign(std::numeric_limits<double>::infinity(), -x);
  if (std::isinf(x)) return x > 0 ? x : std::numeric_limits<double>::quiet_NaN();
  if (x < 0) {
    const double fraction = x - std::nearbyint(x);  // from the nearest pole: next to it, digits count
    if (fraction == 0) return std::numeric_limits<double>::quiet_NaN();
    return digamma(1 - x) - std::numbers::pi / std::tan(std::numbers::pi * fraction);
  }
  // psi(x) = psi(x + n) - 1/x - 1/(x + 1) - .., summed from the smallest term on, where x + n >= 10 has the asymptotic
  // series (Abramowitz and Stegun 6.3.18).
  const int steps = x < 10 ? static_cast<int>(11 - x) : 0;
  const double top = x + steps;
  const double square = 1 / (top * top);
  const double series =
      square *
      (1.0 / 12 -
       square * (1.0 / 120 -
                 square * (1.0 / 252 -
                           square * (1.0 / 240 - square * (1.0 / 132 - square * (691.0 / 32760 - square / 12))))));
  double result = std::log(top) - 1 / (2 * top) - series;
  for (int step = steps - 1; step >= 0; --step) result -= 1 / (x + step);
  return result;
}

}  // namespace tilewright::vm::reference
