// merge_transposes, merge_reshapes and split_reduces.
#include "tilewright/graph/testing.h"
#include "tilewright/passes/pass.h"

namespace tilewright::passes {
namespace {

void clean(Graph& graph, bool (*pass)(Graph&)) {
  pass(graph);
  remove_dead_nodes(graph);
}
void transposes(Graph& graph) {
  clean(graph, merge_transposes);
}
void reshapes(Graph& graph) {
  clean(graph, merge_reshapes);
}
void unchanged(void (*pass)(Graph&), std::string_view text) {
  expect_pass(pass, text, text);
}

TEST(MergeTransposes, InversesCancel) {
  expect_pass(transposes, "x: f32[B, 64] a = transpose(x) perm=[1,0] b = transpose(a) perm=[1,0] c = neg(b) return c",
              "x: f32[B, 64] c = neg(x) return c");
}

TEST(MergeTransposes, ThreeBecomeOne) {
  expect_pass(transposes, R"(
      x: f32[A, B, C]
      a = transpose(x) perm=[1,2,0]
      b = transpose(a) perm=[1,0,2]
      c = transpose(b) perm=[0,2,1]
      return c)",
              "x: f32[A, B, C] c = transpose(x) perm=[2,0,1] return c");
}

TEST(MergeTransposes, AnIdentityGoesAndTheOutputKeepsItsName) {
  const auto graph = parse_or_die("x: f32[A, B] y = transpose(x) perm=[0,1] return y");
  transposes(*graph);
  EXPECT_EQ(graph->outputs()[0], graph->inputs()[0]);
  EXPECT_EQ(graph->output_names()[0], "y");
}

TEST(MergeTransposes, MovingAxesOfSizeOneIsAReshape) {
  expect_pass(transposes, "x: f32[B, 1, S] y = transpose(x) perm=[0,2,1] return y",
              "x: f32[B, 1, S] y = reshape(x) shape=[B,S,1] return y");
}

TEST(MergeTransposes, AnAxisThatMayBeOneStaysATranspose) {
  unchanged(transposes, "x: f32[B, S] y = transpose(x) perm=[1,0] return y");
}

TEST(MergeReshapes, OnlyTheLastShapeCounts) {
  expect_pass(reshapes, "x: f32[B, 12] a = reshape(x) shape=[B,3,4] b = reshape(a) shape=[B*3,4] return b",
              "x: f32[B, 12] b = reshape(x) shape=[B*3,4] return b");
}

TEST(MergeReshapes, BackToTheFirstShapeIsNothing) {
  expect_pass(reshapes, "x: f32[B, 12] a = reshape(x) shape=[B,3,4] b = reshape(a) shape=[B,12] c = neg(b) return c",
              "x: f32[B, 12] c = neg(x) return c");
}

TEST(MergeReshapes, EqualByFactsIsTheSameShape) {
  expect_pass(reshapes, "fact m == 2*n\nx: f32[m] n: f32[n] a = reshape(x) shape=[2*n] c = neg(a) return c",
              "fact m == 2*n\nx: f32[m] n: f32[n] c: f32[2*n] = neg(x) return c");
}

TEST(MergeReshapes, AnExpandOfAnExpandIsTheOuterOne) {
  expect_pass(reshapes, "x: f32[1, 1] z: f32[B, S] a = expand(x) shape=[S,1] b = expand(a) shape=[B,S,4] return b",
              "x: f32[1, 1] z: f32[B, S] b = expand(x) shape=[B,S,4] return b");
}

TEST(MergeReshapes, AReshapeOfAnExpandStays) {
  unchanged(reshapes, "x: f32[1, 4] z: f32[S] a = expand(x) shape=[S,4] b = reshape(a) shape=[S*4] return b");
}

TEST(SplitReduces, AxesApartAreReducedOneAfterTheOther) {
  expect_pass(split_reduces, "x: f32[A, B, C] y = reduce_sum(x) axes=[0,2] return y", R"(
      x: f32[A, B, C]
      a = reduce_sum(x) axes=[2] keepdim=1
      b = reduce_sum(a) axes=[0] keepdim=1
      y = reshape(b) shape=[B]
      return y)");
}

}  // namespace
}  // namespace tilewright::passes
