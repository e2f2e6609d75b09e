#include "tilewright/graph/eval/eval.h"
#include "tilewright/graph/testing.h"
#include "tilewright/passes/pass.h"

#include <cmath>

namespace tilewright::passes {
namespace {

void pass(Graph& graph) {
  simple_powers(graph);
  remove_dead_nodes(graph);
}
void stays(std::string_view text) {
  expect_pass(pass, text, text);
}

TEST(SimplePowers, ASquareIsAProduct) {
  expect_pass(pass, "x: f32[B] c = scalar() dtype=f32 value=2.0 y = pow(x, c) return y",
              "x: f32[B] y = mul(x, x) return y");
}

TEST(SimplePowers, ACubeOfIntegers) {
  expect_pass(pass, "x: i64[B] c = scalar() dtype=i64 value=3 y = pow(x, c) return y",
              "x: i64[B] s = mul(x, x) y = mul(s, x) return y");
}

TEST(SimplePowers, AConstantTensorThatBroadcasts) {
  expect_pass(pass, "x: f32[B, 2] c = constant() value=f32[2]{-1, -1} y = pow(x, c) return y",
              "x: f32[B, 2] y = reciprocal(x) return y");
}

TEST(SimplePowers, OtherExponentsStay) {
  stays("x: f32[B] c = scalar() dtype=f32 value=2.5 y = pow(x, c) return y");
  stays("x: f32[B] c: f32[] y = pow(x, c) return y");
  stays("x: i64[B] c = scalar() dtype=i64 value=-1 y = pow(x, c) return y");
}

TEST(SimplePowers, AnExponentThatBroadcastsTheBaseStays) {
  stays("x: f32[1] c = constant() value=f32[2]{2, 2} y = pow(x, c) return y");
}

TEST(SimplePowers, ACubeOfHalvesWouldBeRoundedTwice) {
  stays("x: f16[B] c = scalar() dtype=f16 value=3.0 y = pow(x, c) return y");
}

TEST(SimplePowers, SpecialValuesAreThoseOfThePower) {
  const double infinity = std::numeric_limits<double>::infinity(), nan = std::nan("");
  Tensor x(DType::kF64, {8});
  const double values[] = {0.0, -0.0, infinity, -infinity, nan, -1.0, 2.0, 1e-320};
  std::copy(std::begin(values), std::end(values), x.data_as<double>());
  for (const double exponent : {1.0, 2.0, 3.0, 4.0, 0.5, -1.0}) {
    const auto graph =
        parse_or_die(fmt::format("x: f64[8] c = scalar() dtype=f64 value={:.1f} y = pow(x, c) return y", exponent));
    const Tensor before = (*eval(*graph, {&x, 1}))[0];
    ASSERT_TRUE(simple_powers(*graph));
    const Tensor after = (*eval(*graph, {&x, 1}))[0];
    for (int i = 0; i < 8; ++i) {
      const double a = before.data_as<double>()[i], b = after.data_as<double>()[i];
      EXPECT_TRUE((std::isnan(a) && std::isnan(b)) || (a == b && std::signbit(a) == std::signbit(b)) ||
                  std::abs(a - b) <= 1e-15 * std::abs(a))
          << values[i] << " to the power " << exponent << ": " << a << ", " << b;
    }
  }
}

}  // namespace
}  // namespace tilewright::passes
