#include "tilewright/graph/testing.h"
#include "tilewright/passes/pass.h"

namespace tilewright::passes {
namespace {

void pass(Graph& graph) {
  remove_no_ops(graph);
  remove_dead_nodes(graph);
}
// `body` computes y from `inputs`; the pass makes it `left` (a value of the text).
void becomes(std::string_view inputs, std::string_view body, std::string_view left) {
  expect_pass(pass, fmt::format("{} {} z = exp(y) return z", inputs, body),
              fmt::format("{} z = exp({}) return z", inputs, left));
}
void stays(std::string_view text) {
  expect_pass(pass, text, text);
}

TEST(RemoveNoOps, ACastToTheSameDtype) {
  becomes("x: f32[B]", "y = cast(x) dtype=f32", "x");
}
TEST(RemoveNoOps, ThereAndBackThroughAWiderDtype) {
  becomes("x: f16[B]", "a = cast(x) dtype=f32 y = cast(a) dtype=f16", "x");
}
TEST(RemoveNoOps, ThereAndBackThroughANarrowerDtypeRounds) {
  stays("x: f32[B] a = cast(x) dtype=f16 y = cast(a) dtype=f32 return y");
  stays("x: i32[B] a = cast(x) dtype=f32 y = cast(a) dtype=i32 return y");
  stays("x: f32[B] a = cast(x) dtype=i64 y = cast(a) dtype=f32 return y");
}
TEST(RemoveNoOps, AWholeSlice) {
  becomes("x: f32[B, 4]", "y = slice(x) start=[0,0] stop=[B,4] step=[1,1]", "x");
}
TEST(RemoveNoOps, ASliceThatMayCutStays) {
  stays("x: f32[B] z: f32[C] y = slice(x) start=[0] stop=[C] step=[1] return y");
}
TEST(RemoveNoOps, APadOfNothing) {
  becomes("x: f32[B]", "y = pad(x) low=[0] high=[0]", "x");
}
TEST(RemoveNoOps, AConcatOfOne) {
  becomes("x: f32[B]", "y = concat(x) axis=0", "x");
}
TEST(RemoveNoOps, AFlipOfOneElement) {
  becomes("x: f32[B, 1]", "y = flip(x) axes=[1]", "x");
}
TEST(RemoveNoOps, DoubleNegation) {
  becomes("x: f32[B]", "a = neg(x) y = neg(a)", "x");
}
TEST(RemoveNoOps, RoundingAnInteger) {
  expect_pass(pass, "x: i32[B] y = floor(x) z = neg(y) return z", "x: i32[B] z = neg(x) return z");
}
TEST(RemoveNoOps, TimesOne) {
  becomes("x: f32[B]", "c = scalar() dtype=f32 value=1.0 y = mul(c, x)", "x");
}
TEST(RemoveNoOps, DividedByOnes) {
  becomes("x: f32[B, 2]", "c = constant() value=f32[2]{1, 1} y = div(x, c)", "x");
}
TEST(RemoveNoOps, OneDividedByXStays) {
  stays("x: f32[B] c = scalar() dtype=f32 value=1.0 y = div(c, x) return y");
}
TEST(RemoveNoOps, AnIntegerPlusZero) {
  expect_pass(pass, "x: i32[B] c = scalar() dtype=i32 value=0 y = add(x, c) z = neg(y) return z",
              "x: i32[B] z = neg(x) return z");
}
TEST(RemoveNoOps, AFloatPlusZeroStaysBecauseOfMinusZero) {
  stays("x: f32[B] c = scalar() dtype=f32 value=0.0 y = add(x, c) return y");
}
TEST(RemoveNoOps, AFloatPlusMinusZero) {
  becomes("x: f32[B]", "c = scalar() dtype=f32 value=-0.0 y = add(x, c)", "x");
}
TEST(RemoveNoOps, AFloatMinusZero) {
  becomes("x: f32[B]", "c = scalar() dtype=f32 value=0.0 y = sub(x, c)", "x");
}
TEST(RemoveNoOps, AFloatMinusMinusZeroStays) {
  stays("x: f32[B] c = scalar() dtype=f32 value=-0.0 y = sub(x, c) return y");
}
TEST(RemoveNoOps, ZeroMinusXStays) {
  stays("x: f32[B] c = scalar() dtype=f32 value=0.0 y = sub(c, x) return y");
}
TEST(RemoveNoOps, ANeutralNumberThatBroadcastsStays) {
  stays("x: f32[4] c = constant() value=f32[3, 1]{1, 1, 1} y = mul(x, c) return y");
}
TEST(RemoveNoOps, AnUnknownScalarStays) {
  stays("scalar n x: i64[B] c = scalar() dtype=i64 value=n y = mul(x, c) return y");
}

TEST(RemoveNoOps, AnUpdateOfEverything) {
  becomes("x: f32[B, 3] u: f32[B, 3]", "y = update_slice(x, u) start=[0, 0] step=[1, 1]", "u");
}
TEST(RemoveNoOps, AnUpdateOfAPartStays) {
  stays("x: f32[B, 3] u: f32[B, 2] y = update_slice(x, u) start=[0, 0] step=[1, 1] return y");
  stays("x: f32[B] u: f32[b] y = update_slice(x, u) start=[0] step=[1] return y");
}

}  // namespace
}  // namespace tilewright::passes
