// Result types of late sizes, regions and effects: text in, types out.
#include "tilewright/graph/testing.h"

namespace tilewright {
namespace {

TEST(InferLate, NonzeroBindsItsCount) {
  EXPECT_EQ(result_types("x: bool[a, b]  y = nonzero(x) count=u0\n return y"), "i64[u0, 2]");
  expect_error("x: bool[a]  y = nonzero(x) count=7\n return y",
               "'y' = nonzero: 'count' must be a symbol that the node binds: 7");
}
TEST(InferLate, ItemBindsASymbolOfItsKind) {
  EXPECT_EQ(result_types("x: i64[]  item(x) symbol=u0\n y = iota() dtype=i64 shape=[u0] axis=0\n return y"), "i64[u0]");
  expect_error("x: f32[]  item(x) symbol=u0\n return", "item: 'symbol' must be an f64 symbol that the node binds: u0");
  expect_error("x: i64[2]  item(x) symbol=u0\n return", "item: a tensor of one element is needed: i64[2]");
}
TEST(InferLate, UniqueGivesThree) {
  EXPECT_EQ(result_types("x: f32[n]  v, i, c = unique(x) count=u0\n return v, i, c"), "f32[u0], i64[n], i64[u0]");
}

TEST(InferIf, ResultsOfEqualSize) {
  EXPECT_EQ(result_types(R"(
      c: bool[]
      x: f32[B, 4]
      y = if(c) {
        capture a = x
        n = neg(a)
        return n
      } {
        capture a = x
        return a
      }
      return y
  )"),
            "f32[B, 4]");
}
constexpr std::string_view kTwoSizes = R"( {
        capture a = x
        return a
      } {
        capture a = x
        b = concat(a, a) axis=0
        return b
      }
      return y
)";
TEST(InferIf, DifferentSizesNeedASymbol) {
  EXPECT_EQ(result_types("c: bool[]  x: f32[B]  y = if(c) late=[u0]" + std::string(kTwoSizes)), "f32[u0]");
  expect_error("c: bool[]  x: f32[B]  y = if(c)" + std::string(kTwoSizes),
               "'y' = if: the branches differ in size, so 'late' needs a symbol for it: f32[B] and f32[2*B]");
}
TEST(InferIf, DtypesAgree) {
  expect_error(
      "c: bool[]  x: f32[B]  y = if(c) { capture a = x  return a } { capture a = x  b = is_nan(a)  return b } return y",
      "'y' = if: results of the branches, number 0 differ in dtype or rank: f32[B] and bool[B]");
}
TEST(InferIf, TheConditionIsAScalar) {
  expect_error("c: bool[2]  y = if(c) { return } { return } return y",
               "'y' = if: the condition must be bool[]: bool[2]");
}

std::string loop(std::string_view initial, std::string_view carried, std::string_view next) {
  return fmt::format(R"(
      c: bool[]
      x: f32[{0}]
      y = while(x) {{
        s: f32[{1}]
        capture go = c
        return go
      }} {{
        s: f32[{1}]
        n = {2}
        return n
      }}
      return y
  )",
                     initial, carried, next);
}
TEST(InferWhile, CarriesAnInvariantSize) {
  EXPECT_EQ(result_types(loop("B, 4", "B, 4", "neg(s)")), "f32[B, 4]");
}
TEST(InferWhile, AGrowingSizeIsASymbolOfTheBody) {
  EXPECT_EQ(result_types(loop("B", "n", "concat(s, s) axis=0")), "f32[n]");
}
TEST(InferWhile, AnInvariantSizeMustNotChange) {
  expect_error(
      loop("4", "4", "concat(s, s) axis=0"),
      "'y' = while: carried value 0 changes its size: f32[4], f32[4], f32[8]; a size that changes is a symbol of the "
      "body's input");
}

TEST(InferCall, TheSizePassedReplacesTheParameter) {
  EXPECT_EQ(result_types(R"(
      x: f32[B, 4]
      y = call(x) {
        p: f32[n, 4]
        q = concat(p, p) axis=0
        return q
      }
      return y
  )"),
            "f32[2*B, 4]");
}
TEST(InferCall, InputsFit) {
  expect_error("x: f32[5]  y = call(x) { p: f32[4]  return p }  return y",
               "'y' = call: input 0 does not fit: f32[5] where the region takes f32[4]");
  expect_error("x: f32[5]  y = call(x) { return }  return y",
               "'y' = call: inputs of the region must number 1: 0 given");
}
TEST(InferCall, OneSymbolIsOneSize) {
  expect_error("x: f32[5]  z: f32[6]  y = call(x, z) { p: f32[n]  q: f32[n]  return p }  return y",
               "'y' = call: input 1 does not fit: f32[6] where the region takes f32[n]");
}
TEST(InferRegions, AreCounted) {
  expect_error("x: f32[5]  y = call(x)  return y", "'y' = call: 1 regions expected, 0 given");
}

TEST(InferHostCall, TypesAreWritten) {
  EXPECT_EQ(result_types("x: f32[B]  y: f32[B, 2] = host_call(x) target=3\n return y"), "f32[B, 2]");
  expect_error("x: f32[B]  y = host_call(x) target=3\n return y",
               "the type of 'y' must be written: it is the result of a host call");
}
TEST(InferAssign, TheValueFits) {
  expect_error("b: f32[4]  x: f32[5]  assign(b, x)  return",
               "assign: the value does not fit the buffer: f32[5] into f32[4]");
  expect_error("b: f32[4]  x: i32[4]  assign(b, x)  return",
               "assign: the value does not fit the buffer: i32[4] into f32[4]");
}

TEST(VerifyFused, AnAreaIsOneKernel) {
  const auto area = [](std::string_view kind, std::string_view region) {
    return fmt::format("x: f32[2]  y = fused(x) kind={} {{ {} }} return x", kind, region);
  };
  expect_error(area("sum", "v: f32[2] w = exp(v) return w"),
               "'y' = fused: 'sum' is no kind of area: map, rows, columns or matmul");
  expect_error(area("map", "v: f32[2] capture z = x w = add(v, z) return w"), "'y' = fused: a fused area captures 'z'");
  expect_error("x: f32[2] fused(x) kind=map { v: f32[2] return } return x", "fused: a fused area without results");
  expect_error(area("map", "v: f32[2] p = nonzero(v) count=u0 c = cast(p) dtype=f32 return v"),
               "'y' = fused: nonzero cannot stand in a fused area");
  expect_error(area("rows", "v: f32[2] w = call(v) { a: f32[2] return a } return w"),
               "'y' = fused: call cannot stand in a fused area");
}

}  // namespace
}  // namespace tilewright
