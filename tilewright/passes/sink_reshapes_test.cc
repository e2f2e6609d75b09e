#include <gtest/gtest.h>

#include "tilewright/graph/testing.h"
#include "tilewright/passes/pass.h"

namespace tilewright::passes {
namespace {

TEST(SinkReshapes, AnActivationJoinsTheMatMulInFrontOfTheReshape) {
  expect_pass(sink_reshapes, R"(
    x: f32[N, 8]
    w: f32[8, 6]
    b: f32[6]
    m = matmul(x, w)
    a = add(m, b)
    r = reshape(a) shape=[1, N, 6]
    g = gelu(r)
    return g
  )", R"(
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
  expect_pass(sink_reshapes, R"(
    x: f32[N, 8]
    w: f32[8, 6]
    y: f32[1, N, 6]
    m = matmul(x, w)
    r = reshape(m) shape=[1, N, 6]
    s = add(r, y)
    return s
  )", R"(
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
  expect_pass(sink_reshapes, text, text);
}

}  // namespace
}  // namespace tilewright::passes
