#include "tilewright/graph/testing.h"
#include "tilewright/passes/pass.h"

namespace tilewright::passes {
namespace {

void stays(std::string_view text) {
  expect_pass(prepare_weights, text, text);
}

TEST(PrepareWeights, AWidenedWeightIsComputedOnce) {
  expect_pass(prepare_weights, R"(
      x: f32[B, 4]
      weight w: i8[4, 8]
      weight s: f32[8]
      a = cast(w) dtype=f32
      b = mul(a, s)
      y = matmul(x, b)
      return y)",
              R"(
      x: f32[B, 4]
      weight w: i8[4, 8]
      weight s: f32[8]
      p = call(w, s) {
        w: i8[4, 8]
        s: f32[8]
        c = cast(w) dtype=f32
        d = mul(c, s)
        return d
      }
      y = matmul(x, p)
      return y)");
}

TEST(PrepareWeights, ATransposeBehindItStaysAView) {
  expect_pass(prepare_weights, R"(
      x: f32[B, 4]
      weight w: f16[8, 4]
      a = cast(w) dtype=f32
      b = transpose(a) perm=[1,0]
      y = matmul(x, b)
      return y)",
              R"(
      x: f32[B, 4]
      weight w: f16[8, 4]
      p = call(w) {
        w: f16[8, 4]
        c = cast(w) dtype=f32
        return c
      }
      b = transpose(p) perm=[1,0]
      y = matmul(x, b)
      return y)");
}

TEST(PrepareWeights, AViewOfAWeightStays) {
  stays(R"(
      x: f32[B, 4]
      weight w: f32[2, 8, 4]
      a = slice(w) start=[1,0,0] stop=[2,8,4] step=[1,1,1]
      b = reshape(a) shape=[8,4]
      c = transpose(b) perm=[1,0]
      y = matmul(x, c)
      return y)");
}

TEST(PrepareWeights, WhatACallGivesStays) {
  stays("x: f32[4] weight w: f32[4] a = neg(x) y = add(a, w) return y");
}

TEST(PrepareWeights, ASizeThatIsNotKnownStays) {
  stays("x: f32[B] weight w: f32[B] a = neg(w) y = add(x, a) return y");
}

TEST(PrepareWeights, ABufferThatIsWrittenStays) {
  stays("x: f32[4] weight w: f32[4] a = neg(w) y = add(x, a) assign(w, y) return y");
}

TEST(PrepareWeights, ARandomNumberStays) {
  stays(
      "x: f32[4] weight key: i64[2] a = random(key) dtype=f32 shape=[4] distribution=\"uniform\" y = add(x, a) return "
      "y");
}

TEST(PrepareWeights, WhatIsMuchLargerThanItsWeightsStays) {
  stays(R"(
      x: f32[B, 1024, 1024]
      weight w: f32[1024, 1]
      weight v: f32[1024]
      a = sub(w, v)
      y = add(x, a)
      return y)");
}

TEST(PrepareWeights, ABodyOfALoopReadsAWeightOfItsOwn) {
  expect_pass(prepare_weights, R"(
      x: f32[T, B, 4]
      h: f32[B, 4]
      weight w: f32[1, 4, 4]
      a = reshape(w) shape=[4,4]
      b = transpose(a) perm=[1,0]
      last, rows = scan(h, x) carried=1 trips=T {
        trip: i64[]
        c: f32[B, 4]
        s: f32[B, 4]
        capture m = b
        n = add(m, m)
        p = matmul(c, n)
        o = add(p, s)
        return o, o
      }
      return rows)",
              R"(
      x: f32[T, B, 4]
      h: f32[B, 4]
      weight w: f32[1, 4, 4]
      k = call(w) {
        w: f32[1, 4, 4]
        a = reshape(w) shape=[4,4]
        b = transpose(a) perm=[1,0]
        n = add(b, b)
        return n
      }
      last, rows = scan(h, x) carried=1 trips=T {
        trip: i64[]
        c: f32[B, 4]
        s: f32[B, 4]
        capture m = k
        p = matmul(c, m)
        o = add(p, s)
        return o, o
      }
      return rows)");
}

TEST(PrepareWeights, WhatMayFailStaysInItsBranch) {
  stays(R"(
      c: bool[]
      x: f32[2]
      weight w: f32[8]
      weight i: i64[2]
      y = if(c) {
        capture t = w
        capture j = i
        capture z = x
        a = gather(t, j) axis=0
        b = add(a, z)
        return b
      } {
        capture z = x
        return z
      }
      return y)");
}

}  // namespace
}  // namespace tilewright::passes
