#include "tilewright/graph/eval/special.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numbers>

namespace tilewright {
namespace {

TEST(Special, ErfinvInvertsErf) {
  for (double y = -5; y <= 5; y += 0.01) {
    const double x = std::erf(y);
    // Near 1 the inverse is ill-conditioned: one step of x moves y by derivative times epsilon.
    const double slack = 1e-15 * std::fabs(y) + 2.3e-16 * std::exp(y * y);
    EXPECT_NEAR(erfinv(x), y, slack) << y;
  }
}

TEST(Special, ErfinvOfTinyAndExtreme) {
  EXPECT_EQ(erfinv(0), 0);
  EXPECT_NEAR(erfinv(1e-300) / 1e-300, std::sqrt(std::numbers::pi) / 2, 1e-15);
  EXPECT_EQ(erfinv(1), std::numeric_limits<double>::infinity());
  EXPECT_EQ(erfinv(-1), -std::numeric_limits<double>::infinity());
  EXPECT_TRUE(std::isnan(erfinv(1.5)));
  EXPECT_TRUE(std::isnan(erfinv(std::numeric_limits<double>::quiet_NaN())));
  EXPECT_NEAR(erfinv(1 - 0x1p-53), 5.8635847487551676, 1e-12);
}

TEST(Special, DigammaAtKnownPoints) {
  constexpr double kEuler = std::numbers::egamma;
  EXPECT_NEAR(digamma(1), -kEuler, 1e-15);
  EXPECT_NEAR(digamma(2), 1 - kEuler, 1e-15);
  EXPECT_NEAR(digamma(0.5), -kEuler - 2 * std::numbers::ln2, 4e-15);
  EXPECT_NEAR(digamma(100), 4.6001618527380874, 1e-14);
  EXPECT_NEAR(digamma(-0.5), 0.036489973978576520, 2e-15);
}

TEST(Special, DigammaAtPoles) {
  EXPECT_EQ(digamma(0.0), -std::numeric_limits<double>::infinity());
  EXPECT_EQ(digamma(-0.0), std::numeric_limits<double>::infinity());
  EXPECT_TRUE(std::isnan(digamma(-3)));
}

TEST(Special, LgammaOfIntegersIsLogFactorial) {
  EXPECT_EQ(lgamma(1), 0);
  EXPECT_NEAR(lgamma(6), std::log(120.0), 1e-14);
  EXPECT_NEAR(lgamma(-0.5), 1.2655121234846454, 1e-14);
  EXPECT_EQ(lgamma(-2), std::numeric_limits<double>::infinity());
}

}  // namespace
}  // namespace tilewright
