// Result types of scan: text in, types out.
#include "tilewright/graph/testing.h"

namespace tilewright {
namespace {

TEST(InferScan, CarriesReadsSlicesAndStacks) {
  EXPECT_EQ(result_types(R"(
      h: f32[B, 4]
      x: f32[T, B, 4]
      last, all = scan(h, x) carried=1 trips=T {
        i: i64[]
        s: f32[B, 4]
        slice: f32[B, 4]
        n = add(s, slice)
        m = neg(n)
        return n, m
      }
      return last, all
  )"),
            "f32[B, 4], f32[T, B, 4]");
}
TEST(InferScan, AConditionBindsTheCount) {
  EXPECT_EQ(result_types(R"(
      go: bool[]
      n, all = scan(go) carried=0 trips=100 conditional=1 count=[u0] {
        i: i64[]
        ten = scalar() dtype=i64 value=10
        more = lt(i, ten)
        return more, i, i
      }
      y = iota() dtype=i64 shape=[u0] axis=0
      return n, all, y
  )"),
            "i64[u0], i64[u0], i64[u0]");
}
TEST(InferScan, ANumberOfTripsThatMayBeNegativeCountsAsNone) {
  EXPECT_EQ(result_types(R"(
      m: i64[]
      item(m) symbol=u0
      fact u0 in [-5, 100]
      all = scan() carried=0 trips=u0 { i: i64[]  return i }
      return all
  )"),
            "i64[max(u0, 0)]");
}
constexpr std::string_view kFilter = R"( {
        i: i64[]
        slice: f32[N]
        p = nonzero(slice) count=c
        return p
      }
      return all
)";
TEST(InferScan, ASizeThatOnlyTheRegionKnowsNeedsASymbol) {
  const std::string head = "x: f32[T, N]  all = scan(x) carried=0 trips=T";
  EXPECT_EQ(result_types(head + " late=[u0]" + std::string(kFilter)), "i64[T, u0, 1]");
  expect_error(head + std::string(kFilter),
               "'all' = scan: 'late' needs a symbol for c, a size of the element i64[c, 1]");
}
TEST(InferScan, ASymbolOfASliceStandsForTheSizePassed) {
  EXPECT_EQ(result_types("x: f32[T, N]  all = scan(x) carried=0 trips=T { i: i64[]  s: f32[m]  n = concat(s, s) axis=0 "
                         "return n }  return all"),
            "f32[T, 2*N]");
}
TEST(InferScan, ACarriedSizeMayGrow) {
  EXPECT_EQ(result_types("x: f32[N]  last, all = scan(x) carried=1 trips=5 late=[u0] { i: i64[]  s: f32[m]  n = "
                         "concat(s, s) axis=0  return n, s }  return last, all"),
            "f32[m], f32[5, u0]");
}
TEST(InferScan, SaysWhatDoesNotFit) {
  expect_error("x: f32[8, N]  all = scan(x) carried=0 trips=7 { i: i64[]  s: f32[N]  return s }  return all",
               "'all' = scan: scanned input 0 has 8 slices for 7 trips");
  expect_error("x: f32[T, N]  all = scan(x) carried=0 trips=T { i: i64[]  s: f32[T, N]  return s }  return all",
               "'all' = scan: the body takes f32[T, N] as a slice of scanned input 0, f32[T, N]");
  expect_error(
      "x: f32[4]  y = scan(x) carried=1 trips=2 { i: i64[]  s: f32[4]  n = concat(s, s) axis=0  return n } "
      "return y",
      "'y' = scan: carried value 0 changes its size: f32[4], f32[4], f32[8]; a size that changes is a symbol of "
      "the body's input");
  expect_error("all = scan() carried=0 trips=2 { i: i32[]  return i }  return all",
               "'all' = scan: the trip number must be i64[]: i32[]");
  expect_error("all = scan() carried=0 trips=2 count=[u0] { i: i64[]  return i }  return all",
               "'all' = scan: symbols in 'count' must number 0: 1 given");
  expect_error("all = scan() carried=1 trips=2 { i: i64[]  return i }  return all",
               "'all' = scan: 'carried' is 1 for 0 inputs");
}

}  // namespace
}  // namespace tilewright
