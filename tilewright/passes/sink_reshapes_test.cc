// Elementwise operations in front of the reshape of a reduction or a matmul.
#include <gtest/gtest.h>

#include "tilewright/graph/testing.h"
#include "tilewright/passes/pass.h"

namespace tilewright::passes {
namespace {

void sink(Graph& graph) {
  sink_reshapes(graph);
  remove_dead_nodes(graph);
}

void sink_and_merge(Graph& graph) {
  sink_reshapes(graph);
  merge_reshapes(graph);
  remove_dead_nodes(graph);
}
void unchanged(std::string_view text) {
  expect_pass(sink_and_merge, text, text);
}

TEST(SinkReshapes, AnActivationJoinsTheMatMulInFrontOfTheReshape) {
  expect_pass(sink, R"(
    x: f32[N, 8]
    w: f32[8, 6]
    b: f32[6]
    m = matmul(x, w)
    a = add(m, b)
    r = reshape(a) shape=[1, N, 6]
    g = gelu(r)
    return g
  )",
              R"(
    x: f32[N, 8]
    w: f32[8, 6]
    b: f32[6]
    m = matmul(x, w)
    a = add(m, b)
    g = gelu(a)
    r = reshape(g) shape=[1, N, 6]
    return r
  )");
}

TEST(SinkReshapes, AResidualIsReshapedToTheMatMul) {
  expect_pass(sink, R"(
    x: f32[N, 8]
    w: f32[8, 6]
    y: f32[1, N, 6]
    m = matmul(x, w)
    r = reshape(m) shape=[1, N, 6]
    s = add(r, y)
    return s
  )",
              R"(
    x: f32[N, 8]
    w: f32[8, 6]
    y: f32[1, N, 6]
    m = matmul(x, w)
    t = reshape(y) shape=[N, 6]
    s = add(m, t)
    r = reshape(s) shape=[1, N, 6]
    return r
  )");
}

TEST(SinkReshapes, AReshapeOfAnInputStays) {
  const std::string_view text = R"(
    x: f32[N, 8]
    r = reshape(x) shape=[8, N]
    g = gelu(r)
    return g
  )";
  expect_pass(sink, text, text);
}

TEST(SinkReshapes, ElementwiseChainsMeetAcrossARegrouping) {
  expect_pass(sink, R"(
      x: f32[B, S, 8]
      a = exp(x)
      r = reshape(a) shape=[B*S, 8]
      t = tanh(r)
      y = neg(t)
      return y)",
              R"(
      x: f32[B, S, 8]
      a = exp(x)
      t = tanh(a)
      n = neg(t)
      y = reshape(n) shape=[B*S, 8]
      return y)");
}

TEST(SinkReshapes, AConsumerOfANormBehindAReshape) {
  expect_pass(sink, R"(
      x: f32[B, S, 8]
      a = softmax(x) axis=2
      r = reshape(a) shape=[B*S, 8]
      y = neg(r)
      return y)",
              R"(
      x: f32[B, S, 8]
      a = softmax(x) axis=2
      n = neg(a)
      y = reshape(n) shape=[B*S, 8]
      return y)");
}

TEST(SinkReshapes, AReshapeThatOthersReadStays) {
  unchanged(R"(
      x: f32[B, S, 8]
      a = exp(x)
      r = reshape(a) shape=[B*S, 8]
      t = tanh(r)
      s = reduce_sum(r) axes=[1] keepdim=1
      return t, s)");
}

TEST(SinkReshapes, AnOperandThatHasNoReshapeKeepsAnElementwiseConsumer) {
  unchanged(R"(
      x: f32[B, S, 8]
      z: f32[B*S, 8]
      a = exp(x)
      r = reshape(a) shape=[B*S, 8]
      y = add(r, z)
      return y)");
}

TEST(SinkReshapes, ConsumersOfAReductionKeepItsAxes) {
  expect_pass(sink_and_merge, R"(
      x: f32[B, L]
      n = scalar() dtype=f32 value=3
      r = reduce_sum(x) axes=[1] keepdim=1
      s = reshape(r) shape=[B]
      m = div(s, n)
      q = sqrt(m)
      k = reshape(q) shape=[B,1]
      y = sub(x, k)
      return y)",
              R"(
      x: f32[B, L]
      n = scalar() dtype=f32 value=3
      r = reduce_sum(x) axes=[1] keepdim=1
      m = div(r, n)
      q = sqrt(m)
      y = sub(x, q)
      return y)");
}

TEST(SinkReshapes, TwoReductionsMeet) {
  expect_pass(sink_and_merge, R"(
      x: f32[B, L]
      r = reduce_sum(x) axes=[1] keepdim=1
      a = reshape(r) shape=[B]
      s = reduce_max(x) axes=[1] keepdim=1
      b = reshape(s) shape=[B]
      y = div(a, b)
      return y)",
              R"(
      x: f32[B, L]
      r = reduce_sum(x) axes=[1] keepdim=1
      s = reduce_max(x) axes=[1] keepdim=1
      d = div(r, s)
      y = reshape(d) shape=[B]
      return y)");
}

TEST(SinkReshapes, AReshapeThatRegroupsStays) {
  unchanged(R"(
      x: f32[B, 6, L]
      r = reduce_sum(x) axes=[2] keepdim=1
      s = reshape(r) shape=[B*6]
      y = sqrt(s)
      return y)");
}

TEST(SinkReshapes, ABroadcastAfterTheReshapeStays) {
  unchanged(R"(
      x: f32[B, L]
      z: f32[C, B]
      r = reduce_sum(x) axes=[1] keepdim=1
      s = reshape(r) shape=[B]
      y = add(z, s)
      return y)");
}

TEST(SinkReshapes, ANumberThatIsAReshapeBroadcasts) {
  expect_pass(sink, R"(
      x: f32[B, L]
      z: f32[1]
      n = reshape(z) shape=[]
      r = reduce_sum(x) axes=[1] keepdim=1
      s = reshape(r) shape=[B]
      y = mul(s, n)
      return y)",
              R"(
      x: f32[B, L]
      z: f32[1]
      n = reshape(z) shape=[]
      r = reduce_sum(x) axes=[1] keepdim=1
      m = mul(r, n)
      y = reshape(m) shape=[B]
      return y)");
}

}  // namespace
}  // namespace tilewright::passes
