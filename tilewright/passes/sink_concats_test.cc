#include "tilewright/graph/testing.h"
#include "tilewright/passes/pass.h"

namespace tilewright::passes {
namespace {

bool sink(Graph& graph) {
  const bool changed = sink_concats(graph);
  remove_dead_nodes(graph);
  return changed;
}

void unchanged(std::string_view text) {
  expect_pass(sink, text, text);
}

TEST(SinkConcats, AnOperationOnEachPiece) {
  expect_pass(sink, R"(
      a: f32[B, 8]
      b: f32[C, 8]
      j = concat(a, b) axis=0
      y = exp(j)
      return y)",
              R"(
      a: f32[B, 8]
      b: f32[C, 8]
      e = exp(a)
      f = exp(b)
      y = concat(e, f) axis=0
      return y)");
}

TEST(SinkConcats, OperandsAreReadInPieces) {
  expect_pass(sink, R"(
      a: f32[B, 256]
      b: f32[B, 256]
      z: f32[B, 512]
      w: f32[B, 1]
      j = concat(a, b) axis=1
      s = add(j, z)
      y = mul(s, w)
      return y)",
              R"(
      a: f32[B, 256]
      b: f32[B, 256]
      z: f32[B, 512]
      w: f32[B, 1]
      p = slice(z) start=[0,0] stop=[B,256] step=[1,1]
      s = add(a, p)
      q = slice(z) start=[0,256] stop=[B,512] step=[1,1]
      t = add(b, q)
      m = mul(s, w)
      n = mul(t, w)
      y = concat(m, n) axis=1
      return y)");
}

TEST(SinkConcats, AnOperandComputedForThisAloneIsComputedInPieces) {
  expect_pass(sink, R"(
      a: f32[B, 256]
      b: f32[B, 256]
      z: f32[B, 512]
      e = exp(z)
      j = concat(a, b) axis=1
      y = add(j, e)
      return y)",
              R"(
      a: f32[B, 256]
      b: f32[B, 256]
      z: f32[B, 512]
      p = slice(z) start=[0,0] stop=[B,256] step=[1,1]
      e = exp(p)
      s = add(a, e)
      q = slice(z) start=[0,256] stop=[B,512] step=[1,1]
      f = exp(q)
      t = add(b, f)
      y = concat(s, t) axis=1
      return y)");
}

TEST(SinkConcats, TwoConcatsOfTheSamePieces) {
  expect_pass(sink, R"(
      a: f32[B, 8]
      b: f32[C, 8]
      c: f32[B, 8]
      d: f32[C, 8]
      j = concat(a, b) axis=0
      k = concat(c, d) axis=0
      y = add(j, k)
      return y)",
              R"(
      a: f32[B, 8]
      b: f32[C, 8]
      c: f32[B, 8]
      d: f32[C, 8]
      s = add(a, c)
      t = add(b, d)
      y = concat(s, t) axis=0
      return y)");
}

TEST(SinkConcats, AConcatThatOthersReadStays) {
  unchanged("a: f32[B, 8] b: f32[C, 8] j = concat(a, b) axis=0 y = exp(j) return y, j");
}
TEST(SinkConcats, AConcatThatIsBroadcastStays) {
  unchanged("a: f32[8] b: f32[8] z: f32[B, 16] j = concat(a, b) axis=0 y = add(j, z) return y");
}
TEST(SinkConcats, ShortPiecesOfTheLastAxisStay) {
  unchanged("a: f32[B, 1] b: f32[B, 1] j = concat(a, b) axis=1 y = exp(j) return y");
}
TEST(SinkConcats, AnOperandOfUndecidedSizeStays) {
  unchanged("a: f32[B, 8] b: f32[C, 8] z: f32[D, 8] j = concat(a, b) axis=0 y = add(j, z) return y");
}

}  // namespace
}  // namespace tilewright::passes
