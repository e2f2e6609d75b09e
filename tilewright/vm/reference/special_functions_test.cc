#include "tilewright/vm/reference/special_functions.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace tilewright::vm::reference {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST(InverseErf, UndoesErf) {
  for (double x = -2.5; x <= 2.5; x += 0.01) {
    const double y = std::erf(x);
    EXPECT_NEAR(std::erf(inverse_erf(y)), y, 4e-16) << x;
  }
  for (double x = 1e-300; x < 1e-3; x *= 10) EXPECT_NEAR(inverse_erf(x) / (x * 0.886226925452758), 1, 1e-6);
}

TEST(InverseErf, NearOneKeepsTheTail) {
  for (double tail = 1e-15; tail < 0.1; tail *= 3) {
    const double y = 1 - tail;
    EXPECT_NEAR(std::erfc(inverse_erf(y)) / (1 - y), 1, 1e-13) << tail;
  }
}

TEST(InverseErf, Borders) {
  EXPECT_EQ(inverse_erf(1), kInfinity);
  EXPECT_EQ(inverse_erf(-1), -kInfinity);
  EXPECT_EQ(inverse_erf(0), 0);
  EXPECT_TRUE(std::isnan(inverse_erf(1.5)));
}

TEST(Digamma, KnownValues) {
  constexpr double kEuler = 0.57721566490153286;
  EXPECT_NEAR(digamma(1), -kEuler, 1e-15);
  EXPECT_NEAR(digamma(0.5), -kEuler - 2 * std::log(2.0), 4e-15);
  EXPECT_NEAR(digamma(2), 1 - kEuler, 1e-15);
  EXPECT_NEAR(digamma(-0.5), 0.03648997397857652, 1e-14);
  EXPECT_NEAR(digamma(1e6), std::log(1e6) - 0.5e-6 - 1e-12 / 12, 1e-14);
}

TEST(Digamma, Borders) {
  EXPECT_EQ(digamma(0.0), -kInfinity);
  EXPECT_EQ(digamma(-0.0), kInfinity);
  EXPECT_TRUE(std::isnan(digamma(-3)));
  EXPECT_EQ(digamma(kInfinity), kInfinity);
}

}  // namespace
}  // namespace tilewright::vm::reference
