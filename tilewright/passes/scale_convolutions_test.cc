#include "tilewright/graph/testing.h"
#include "tilewright/passes/pass.h"

namespace tilewright::passes {
namespace {

void pass(Graph& graph) {
  scale_convolutions(graph);
  remove_dead_nodes(graph);
}
void stays(std::string_view text) {
  expect_pass(pass, text, text);
}

TEST(ScaleConvolutions, AFactorAndAShiftOfEachChannel) {
  expect_pass(pass, R"(
      x: f32[B, 3, N]
      weight w: f32[8, 3, 3]
      weight b: f32[8]
      weight s: f32[1, 8, 1]
      weight t: f32[8, 1]
      c = conv(x, w, b) stride=[1] low=[1] high=[1] dilation=[1] groups=1
      m = mul(c, s)
      y = sub(m, t)
      return y)",
              R"(
      x: f32[B, 3, N]
      weight w: f32[8, 3, 3]
      weight b: f32[8]
      weight s: f32[1, 8, 1]
      weight t: f32[8, 1]
      p = reshape(s) shape=[8, 1, 1]
      v = mul(w, p)
      q = reshape(s) shape=[8]
      a = mul(b, q)
      r = reshape(t) shape=[8]
      d = sub(a, r)
      y = conv(x, v, d) stride=[1] low=[1] high=[1] dilation=[1] groups=1
      return y)");
}

TEST(ScaleConvolutions, ANumber) {
  expect_pass(pass, R"(
      x: f32[B, 3, N]
      weight w: f32[8, 3, 3]
      s = scalar() dtype=f32 value=2.0
      c = conv(x, w) stride=[1] low=[1] high=[1] dilation=[1] groups=1
      y = mul(s, c)
      return y)",
              R"(
      x: f32[B, 3, N]
      weight w: f32[8, 3, 3]
      s = scalar() dtype=f32 value=2.0
      v = mul(w, s)
      y = conv(x, v) stride=[1] low=[1] high=[1] dilation=[1] groups=1
      return y)");
}

TEST(ScaleConvolutions, ABiasOfItsOwn) {
  expect_pass(pass, R"(
      x: f32[B, 3, N]
      weight w: f32[8, 3, 3]
      weight t: f32[8, 1]
      c = conv(x, w) stride=[1] low=[1] high=[1] dilation=[1] groups=1
      y = add(t, c)
      return y)",
              R"(
      x: f32[B, 3, N]
      weight w: f32[8, 3, 3]
      weight t: f32[8, 1]
      r = reshape(t) shape=[8]
      b = expand(r) shape=[8]
      y = conv(x, w, b) stride=[1] low=[1] high=[1] dilation=[1] groups=1
      return y)");
}

TEST(ScaleConvolutions, AFactorOfEachPositionStays) {
  stays(R"(
      x: f32[B, 3, 8]
      weight w: f32[8, 3, 3]
      weight s: f32[8]
      c = conv(x, w) stride=[1] low=[1] high=[1] dilation=[1] groups=1
      y = mul(c, s)
      return y)");
}

TEST(ScaleConvolutions, AFactorOfTheCallStays) {
  stays(R"(
      x: f32[B, 3, N]
      weight w: f32[8, 3, 3]
      s: f32[8, 1]
      c = conv(x, w) stride=[1] low=[1] high=[1] dilation=[1] groups=1
      y = mul(c, s)
      return y)");
}

TEST(ScaleConvolutions, AResultThatOthersReadStays) {
  stays(R"(
      x: f32[B, 3, N]
      weight w: f32[8, 3, 3]
      weight s: f32[8, 1]
      c = conv(x, w) stride=[1] low=[1] high=[1] dilation=[1] groups=1
      y = mul(c, s)
      return y, c)");
}

}  // namespace
}  // namespace tilewright::passes
