// Native row operations that scale or add what they read, against the oracle on every machine: products and sums that
// only they use, that others use too, broadcasts, strides that the phases cannot walk.
#include "tilewright/runtime/oracle_testing.h"

namespace tilewright::runtime {
namespace {

using testing::expect_oracle;

TEST(RowPrologue, SoftmaxOfAScaledAndMaskedScore) {
  expect_oracle(R"(
    x: f32[A, B, N]
    m: f32[M, K, N]
    s = constant() value=f32[]{0.3}
    p = mul(x, s)
    a = softmax(p) axis=2
    q = add(p, m)
    b = softmax(q) axis=2
    r = mul(s, x)
    t = add(m, r)
    c = softmax(t) axis=2
    u = add(x, m)
    d = softmax(u) axis=2
    e = log_softmax(u) axis=2
    return a, b, c, d, e
  )",
                {{{2, 3, 5}, {1, 1, 5}},
                 {{2, 3, 130}, {2, 1, 130}},
                 {{2, 3, 700}, {2, 3, 700}},
                 {{3, 4, 1}, {1, 4, 1}},
                 {{0, 4, 7}, {1, 1, 7}},
                 {{2, 3, 0}, {1, 3, 0}}},
                1e-5);
}

TEST(RowPrologue, NormsOfASumThatNobodyElseUses) {
  expect_oracle(R"(
    x: f32[A, N]
    r: f32[R, N]
    w: f32[N]
    b: f32[N]
    u = add(x, r)
    y = layer_norm(u, w, b) num_axes=1 eps=1e-5
    v = add(r, x)
    z = rms_norm(v, w) num_axes=1 eps=1e-6
    return y, z
  )",
                {{{5, 7}, {5, 7}, {7}, {7}},
                 {{5, 384}, {1, 384}, {384}, {384}},
                 {{3, 900}, {3, 900}, {900}, {900}},
                 {{4, 1}, {1, 1}, {1}, {1}}},
                1e-5);
}

TEST(RowPrologue, ASumThatIsAResultTooIsComputedOnce) {
  expect_oracle(R"(
    x: f32[A, N]
    r: f32[A, N]
    w: f32[N]
    u = add(x, r)
    y = rms_norm(u, w) num_axes=1 eps=1e-6
    s = softmax(u) axis=1
    return u, y, s
  )",
                {{{5, 7}, {5, 7}, {7}}, {{3, 500}, {3, 500}, {500}}}, 1e-5);
}

TEST(RowPrologue, OperandsWithOtherStridesOrTypesAreConvertedFirst) {
  expect_oracle(R"(
    x: f32[N, A]
    h: f16[A, N]
    s = constant() value=f32[]{2}
    t = transpose(x) perm=[1,0]
    p = mul(t, s)
    a = softmax(p) axis=1
    g = cast(h) dtype=f32
    u = add(t, g)
    b = layer_norm(u) num_axes=1 eps=1e-5
    v = add(g, g)
    c = softmax(v) axis=1
    return a, b, c
  )",
                {{{7, 5}, {5, 7}}, {{500, 3}, {3, 500}}, {{1, 3}, {3, 1}}}, 1e-5);
}

}  // namespace
}  // namespace tilewright::runtime
