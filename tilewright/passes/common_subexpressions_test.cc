#include "tilewright/graph/testing.h"
#include "tilewright/passes/pass.h"

namespace tilewright::passes {
namespace {

void stays(std::string_view text) {
  expect_pass(common_subexpressions, text, text);
}

TEST(CommonSubexpressions, EqualChainsAreOne) {
  expect_pass(common_subexpressions, R"(
      x: f32[B]
      a = exp(x)
      b = exp(x)
      c = neg(a)
      d = neg(b)
      y = add(c, d)
      return y, b)",
              "x: f32[B] a = exp(x) c = neg(a) y = add(c, c) return y, a as b");
}

TEST(CommonSubexpressions, AttributesCount) {
  stays("x: f32[B, 2] a = reduce_sum(x) axes=[0] b = reduce_sum(x) axes=[1] return a, b");
  stays("x: f32[B] a = scalar() dtype=f32 value=1.0 b = scalar() dtype=f64 value=1.0 return a, b");
  stays("x: f32[B] a = scalar() dtype=f32 value=0.0 b = scalar() dtype=f32 value=-0.0 return a, b");
}

TEST(CommonSubexpressions, ConstantsAreComparedByTheirElements) {
  expect_pass(common_subexpressions,
              "a = constant() value=f32[2]{1, 2} b = constant() value=f32[2]{1, 2} y = add(a, b) return y",
              "a = constant() value=f32[2]{1, 2} y = add(a, a) return y");
  stays("a = constant() value=f32[2]{1, 2} b = constant() value=f32[2]{1, 3} y = add(a, b) return y");
}

TEST(CommonSubexpressions, EveryResultOfANodeIsReplaced) {
  expect_pass(common_subexpressions, "x: f32[B] a, i = sort(x) axis=0 b, j = sort(x) axis=0 return a, j",
              "x: f32[B] a, i = sort(x) axis=0 return a, i as j");
}

TEST(CommonSubexpressions, LateSizesAndRandomNumbersStay) {
  stays("x: f32[B] a = nonzero(x) count=u0 b = nonzero(x) count=u1 return a, b");
  stays("k: i64[2] a = random(k) dtype=f32 shape=[3] b = random(k) dtype=f32 shape=[3] return a, b");
}

}  // namespace
}  // namespace tilewright::passes
