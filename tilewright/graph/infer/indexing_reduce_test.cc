// Result types of indexing, reductions, scans and sorting: text in, types out.
#include "tilewright/graph/testing.h"

namespace tilewright {
namespace {

TEST(InferGather, ReplacesTheAxis) {
  EXPECT_EQ(result_types("w: f32[1000, 64]  i: i64[B, S]  y = gather(w, i) axis=0\n return y"), "f32[B, S, 64]");
  EXPECT_EQ(result_types("w: f32[5, 6]  i: i32[]  y = gather(w, i) axis=1\n return y"), "f32[5]");
}
TEST(InferGather, AnIndexIsAnInteger) {
  expect_error("w: f32[5]  i: f32[2]  y = gather(w, i) axis=0\n return y",
               "'y' = gather: an index must be i32 or i64: f32[2]");
}
TEST(InferGather, ARankZeroTensorHasNoAxis) {
  expect_error("w: f32[]  i: i64[2]  y = gather(w, i) axis=0\n return y",
               "'y' = gather: axis 0 is out of range: f32[] has rank 0");
}
TEST(InferGatherElements, HasTheShapeOfTheIndex) {
  EXPECT_EQ(result_types("x: f32[4, n]  i: i64[3, m]  y = gather_elements(x, i) axis=1\n return y"), "f32[3, m]");
  expect_error("x: f32[4, 2]  i: i64[5, 2]  y = gather_elements(x, i) axis=1\n return y",
               "'y' = gather_elements: the index is longer than x along axis 0: f32[4, 2] x i64[5, 2]");
}
TEST(InferIndex, AdjacentAxesStayInPlace) {
  EXPECT_EQ(result_types("x: f32[a, b, c, d]  i: i64[n, 1]  j: i64[7]  y = index(x, i, j) axes=[1,2]\n return y"),
            "f32[a, n, 7, d]");
}
TEST(InferIndex, SeparatedAxesGoToTheFront) {
  EXPECT_EQ(result_types("x: f32[a, b, c]  i: i64[5]  y = index(x, i, i) axes=[0,2]\n return y"), "f32[5, b]");
}
TEST(InferIndex, OneIndexPerAxis) {
  expect_error("x: f32[a, b]  i: i64[5]  y = index(x, i) axes=[0,1]\n return y",
               "'y' = index: 'axes' must have 1 entries: 2 given");
  expect_error("x: f32[a, b]  i: i64[5]  y = index(x, i, i) axes=[1,0]\n return y",
               "'y' = index: 'axes' must increase: 0 after 1");
}
TEST(InferIndexPut, ValuesBroadcastToThePositions) {
  EXPECT_EQ(result_types("x: f32[a, 3]  v: f32[3]  i: i64[5]  y = index_put(x, v, i) axes=[0]\n return y"),
            "f32[a, 3]");
  expect_error("x: f32[a, 3]  v: f32[4]  i: i64[5]  y = index_put(x, v, i) axes=[0]\n return y",
               "'y' = index_put: f32[4] does not broadcast to [5, 3]");
}
TEST(InferScatterElements, UpdatesMatchTheIndex) {
  EXPECT_EQ(result_types("x: f32[9]  i: i64[n]  u: f32[n]  y = scatter_elements(x, i, u) axis=0 reduce=add\n return y"),
            "f32[9]");
  expect_error("x: f32[9]  i: i64[2]  u: f32[3]  y = scatter_elements(x, i, u) axis=0\n return y",
               "'y' = scatter_elements: index and updates differ in shape: i64[2] x f32[3]");
  expect_error("x: f32[9]  i: i64[2]  u: f32[2]  y = scatter_elements(x, i, u) axis=0 reduce=sum\n return y",
               "'y' = scatter_elements: 'reduce' must be one of none, add, mul, min, max, mean: 'sum' given");
}
TEST(InferUpdateSlice, TheUpdateLiesInside) {
  EXPECT_EQ(result_types("x: f32[9]  u: f32[3]  y = update_slice(x, u) start=[6] step=[1]\n return y"), "f32[9]");
  EXPECT_EQ(result_types("x: f32[9]  u: f32[n]  scalar p  y = update_slice(x, u) start=[p] step=[1]\n return y"),
            "f32[9]");
  expect_error("x: f32[9]  u: f32[3]  y = update_slice(x, u) start=[7] step=[1]\n return y",
               "'y' = update_slice: an update of 3 from 7 does not lie in axis 0 of f32[9]");
  expect_error("x: f32[9]  u: f32[3]  y = update_slice(x, u) start=[5] step=[2]\n return y",
               "'y' = update_slice: an update of 3 from 5 does not lie in axis 0 of f32[9]");
}
TEST(InferUpdateSlice, NothingFitsAnywhere) {
  EXPECT_EQ(result_types("x: f32[9]  u: f32[0]  y = update_slice(x, u) start=[9] step=[1]\n return y"), "f32[9]");
}

TEST(InferReduce, DropsOrKeepsAxes) {
  EXPECT_EQ(result_types("x: f32[a, b, c]  y = reduce_sum(x) axes=[0,2]\n return y"), "f32[b]");
  EXPECT_EQ(result_types("x: f32[a, b, c]  y = reduce_max(x) axes=[2,0] keepdim=true\n return y"), "f32[1, b, 1]");
}
TEST(InferReduce, AxesAreDistinctAndInRange) {
  expect_error("x: f32[a]  y = reduce_sum(x) axes=[0,0]\n return y", "'y' = reduce_sum: axis 0 is given twice");
  expect_error("x: f32[a]  y = reduce_sum(x) axes=[-1]\n return y",
               "'y' = reduce_sum: axis -1 is out of range: f32[a] has rank 1");
}
TEST(InferReduce, AnyTakesBool) {
  EXPECT_EQ(result_types("x: bool[a]  y = reduce_any(x) axes=[0]\n return y"), "bool[]");
  expect_error("x: f32[a]  y = reduce_any(x) axes=[0]\n return y", "'y' = reduce_any: the input must be bool: f32[a]");
}
TEST(InferReduce, AMeanOfIntegersIsAnError) {
  expect_error("x: i32[a]  y = reduce_mean(x) axes=[0]\n return y",
               "'y' = reduce_mean: a floating-point dtype is needed: i32[a]");
}
TEST(InferArg, GivesPositions) {
  EXPECT_EQ(result_types("x: f32[a, b]  y = argmax(x) axis=0\n return y"), "i64[b]");
  EXPECT_EQ(result_types("x: f32[a, b]  y = argmin(x) axis=1 keepdim=true\n return y"), "i64[a, 1]");
}
TEST(InferArg, OfNothingIsAnError) {
  expect_error("x: f32[2, 0]  y = argmax(x) axis=1\n return y", "'y' = argmax: axis 1 has no elements: f32[2, 0]");
}
TEST(InferScan, AxesExist) {
  EXPECT_EQ(result_types("x: f32[a]  y = cumsum(x) axis=0\n return y"), "f32[a]");
  expect_error("x: f32[a]  y = cumsum(x) axis=1\n return y", "'y' = cumsum: axis 1 is out of range: f32[a] has rank 1");
}
TEST(InferScan, ExtremesHavePositions) {
  EXPECT_EQ(result_types("x: f32[a]  v, i = cummax(x) axis=0\n return v, i"), "f32[a], i64[a]");
}
TEST(InferSort, GivesValuesAndPositions) {
  EXPECT_EQ(result_types("x: f16[a, 3]  v, i = sort(x) axis=1 descending=true\n return v, i"), "f16[a, 3], i64[a, 3]");
}
TEST(InferTopK, TheAxisHasKElements) {
  EXPECT_EQ(result_types("x: f32[a, 9]  scalar k  v, i = topk(x) axis=1 k=k\n return v, i"), "f32[a, k], i64[a, k]");
  expect_error("x: f32[a, 9]  v, i = topk(x) axis=1 k=10\n return v, i",
               "'v' = topk: k = 10 does not lie in axis 1 of f32[a, 9]");
  expect_error("x: f32[9]  scalar %k  v, i = topk(x) axis=0 k=%k\n return v, i",
               "'v' = topk: an integer is needed: [%k]");
}

}  // namespace
}  // namespace tilewright
