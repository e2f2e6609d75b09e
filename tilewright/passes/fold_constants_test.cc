#include "tilewright/graph/testing.h"
#include "tilewright/passes/pass.h"

namespace tilewright::passes {
namespace {

void pass(Graph& graph) {
  fold_constants(graph);
  remove_dead_nodes(graph);
}
void stays(std::string_view text) {
  expect_pass(pass, text, text);
}

TEST(FoldConstants, AChainOfConstantsIsOne) {
  expect_pass(pass, R"(
      x: f32[B, 2]
      a = constant() value=f32[2]{1, 2}
      b = constant() value=f32[2]{3, 5}
      c = add(a, b)
      d = transpose(c) perm=[0]
      y = mul(x, d)
      return y)",
              "x: f32[B, 2] c = constant() value=f32[2]{4, 7} y = mul(x, c) return y");
}

TEST(FoldConstants, AReductionOfAConstant) {
  expect_pass(pass, "x: f32[B] a = constant() value=f32[3]{1, 2, 4} s = reduce_sum(a) axes=[0] y = mul(x, s) return y",
              "x: f32[B] s = scalar() dtype=f32 value=7.0 y = mul(x, s) return y");
}

TEST(FoldConstants, AnExpandStaysAView) {
  stays("a = constant() value=f32[1]{2} y = expand(a) shape=[100] return y");
}

TEST(FoldConstants, EqualElementsReadElementwiseAreAScalar) {
  expect_pass(pass, "x: f32[B, 3] c = constant() value=f32[1]{0.5} y = mul(x, c) return y",
              "x: f32[B, 3] c = scalar() dtype=f32 value=0.5 y = mul(x, c) return y");
}

TEST(FoldConstants, EqualElementsThatMakeTheShapeStay) {
  stays("x: f32[3] c = constant() value=f32[2, 1]{1, 1} y = add(x, c) return y");
}

TEST(FoldConstants, AConstantOfManyBytesStays) {
  const auto graph = parse_or_die("return");
  Builder builder(*graph);
  const ValueId big = builder.must(Op::kConstant, {}, {{"value", Tensor::zeros(DType::kF32, {1 << 20})}});
  const ValueId y = builder.must(Op::kExp, {big});
  graph->set_outputs({y});
  EXPECT_FALSE(fold_constants(*graph));
}

TEST(FoldConstants, AnErrorStaysForTheCall) {
  stays("a = constant() value=f32[2]{1, 2} i = constant() value=i64[1]{7} y = gather(a, i) axis=0 return y");
}

TEST(FoldConstants, NumbersRoundAsTheirDtype) {
  expect_pass(pass,
              "x: f32[B] a = scalar() dtype=f32 value=0.1 b = scalar() dtype=f32 value=0.2 c = add(a, b) y = mul(x, c) "
              "return y",
              "x: f32[B] c = scalar() dtype=f32 value=0.30000001192092896 y = mul(x, c) return y");
}

TEST(FoldConstants, ArithmeticOnSizesIsADim) {
  expect_pass(pass, R"(
      x: f32[B, S]
      b = scalar() dtype=i64 value=B
      s = scalar() dtype=i64 value=S
      one = scalar() dtype=i64 value=1
      n = mul(b, s)
      m = sub(n, one)
      f = cast(b) dtype=f32
      y = mul(x, f)
      return y, m)",
              R"(
      x: f32[B, S]
      f = scalar() dtype=f32 value=B
      y = mul(x, f)
      m = scalar() dtype=i64 value=B*S-1
      return y, m)");
}

TEST(FoldConstants, ACastThatMayRoundTwiceStays) {
  stays("scalar n x: f32[B] a = scalar() dtype=i64 value=n f = cast(a) dtype=f32 y = mul(x, f) return y");
}

TEST(FoldConstants, AScalarOfTheCallerMayOverflowAndStays) {
  stays("scalar n one = scalar() dtype=i64 value=1 a = scalar() dtype=i64 value=n b = add(a, one) return b");
}

TEST(FoldConstants, DivisionByASizeThatMayBeZeroStays) {
  stays("x: f32[B, S] a = scalar() dtype=i64 value=B b = scalar() dtype=i64 value=S c = floor_div(a, b) return c");
}

TEST(FoldConstants, F32ArithmeticOnUnknownScalarsStays) {
  stays("scalar %f a = scalar() dtype=f32 value=%f b = scalar() dtype=f32 value=0.1 c = add(a, b) return c");
}

TEST(FoldConstants, AnF32ScalarThatWidensStays) {
  stays("scalar %f a = scalar() dtype=f32 value=%f b = cast(a) dtype=f64 return b");
}

TEST(FoldConstants, F64ArithmeticOnUnknownScalars) {
  expect_pass(pass,
              "scalar %f a = scalar() dtype=f64 value=%f b = scalar() dtype=f64 value=0.1 c = add(a, b) d = cast(c) "
              "dtype=f32 return d",
              "scalar %f d = scalar() dtype=f32 value=%f+0.1 return d");
}

}  // namespace
}  // namespace tilewright::passes
