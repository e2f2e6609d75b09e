// What exporters write for gelu, silu, softmax and norms, and near misses that must stay.
#include "tilewright/graph/testing.h"
#include "tilewright/passes/pass.h"

namespace tilewright::passes {
namespace {

void pass(Graph& graph) {
  recognise_composites(graph);
  remove_dead_nodes(graph);
}
void becomes(std::string_view inputs, std::string_view body, std::string_view composite) {
  expect_pass(pass, fmt::format("{} {} return y", inputs, body), fmt::format("{} {} return y", inputs, composite));
}
void stays(std::string_view text) {
  expect_pass(pass, text, text);
}

constexpr std::string_view kNumbers = R"(
  one = scalar() dtype=f32 value=1.0
  half = scalar() dtype=f32 value=0.5
  root2 = scalar() dtype=f32 value=1.4142135623730951
  inverse_root2 = scalar() dtype=f32 value=0.70710678118654752
  cubic = scalar() dtype=f32 value=0.044715
  factor = scalar() dtype=f32 value=0.7978845608028654
  two = scalar() dtype=f32 value=2.0
  three = scalar() dtype=f32 value=3.0
)";
std::string with_numbers(std::string_view body) {
  return std::string(kNumbers) + std::string(body);
}

TEST(RecogniseGelu, DividedByRootTwo) {
  becomes("x: f32[B]", with_numbers("a = div(x, root2) e = erf(a) s = add(e, one) m = mul(x, s) y = mul(m, half)"),
          "y = gelu(x)");
}
TEST(RecogniseGelu, HalfFirst) {
  becomes("x: f32[B]",
          with_numbers("h = mul(half, x) a = mul(inverse_root2, x) e = erf(a) s = add(one, e) y = mul(h, s)"),
          "y = gelu(x)");
}
TEST(RecogniseGelu, RankOneConstantsOfAnExporter) {
  becomes("x: f32[B, 4]", R"(c = constant() value=f32[1]{1.41421354} a = div(x, c) e = erf(a)
      o = constant() value=f32[1]{1} s = add(e, o) m = mul(x, s) h = constant() value=f32[1]{0.5} y = mul(m, h))",
          "y = gelu(x)");
}
TEST(RecogniseGelu, TanhForm) {
  becomes("x: f32[B]", with_numbers(R"(p = pow(x, three) c = mul(cubic, p) a = add(x, c) f = mul(factor, a) t = tanh(f)
      s = add(t, one) h = mul(x, half) y = mul(h, s))"),
          "y = gelu(x) tanh=1");
}
TEST(RecogniseGelu, TanhFormWithProducts) {
  becomes("x: f32[B]",
          with_numbers(R"(q = mul(x, x) p = mul(q, x) c = mul(cubic, p) a = add(x, c) f = mul(factor, a) t = tanh(f)
      s = add(t, one) m = mul(x, s) y = mul(half, m))"),
          "y = gelu(x) tanh=1");
}
TEST(RecogniseGelu, TanhFormFactoredOut) {
  becomes("x: f32[B]",
          with_numbers(R"(q = mul(x, x) c = mul(cubic, q) a = add(one, c) g = mul(factor, x) f = mul(g, a) t = tanh(f)
      s = add(t, one) m = mul(x, s) y = mul(half, m))"),
          "y = gelu(x) tanh=1");
}
TEST(RecogniseGelu, AnotherFactorStays) {
  stays(R"(x: f32[B]
      one = scalar() dtype=f32 value=1.0
      half = scalar() dtype=f32 value=0.5
      k = scalar() dtype=f32 value=0.7
      a = mul(x, k)
      e = erf(a)
      s = add(e, one)
      m = mul(x, s)
      y = mul(m, half)
      return y)");
}
TEST(RecogniseGelu, OfTwoValuesStays) {
  stays(R"(x: f32[B]
      z: f32[B]
      one = scalar() dtype=f32 value=1.0
      half = scalar() dtype=f32 value=0.5
      k = scalar() dtype=f32 value=0.70710678118654752
      a = mul(x, k)
      e = erf(a)
      s = add(e, one)
      m = mul(z, s)
      y = mul(m, half)
      return y)");
}

TEST(RecogniseSilu, TimesSigmoid) {
  becomes("x: f32[B]", "s = sigmoid(x) y = mul(s, x)", "y = silu(x)");
}
TEST(RecogniseSilu, Quotient) {
  becomes("x: f32[B]", with_numbers("n = neg(x) e = exp(n) s = add(e, one) y = div(x, s)"), "y = silu(x)");
}
TEST(RecogniseSilu, InverseThenProduct) {
  becomes("x: f32[B]", with_numbers("n = neg(x) e = exp(n) s = add(one, e) r = reciprocal(s) y = mul(x, r)"),
          "y = silu(x)");
}
TEST(RecogniseSilu, ScaledSigmoidStays) {
  stays("x: f32[B] k = scalar() dtype=f32 value=1.702 a = mul(x, k) s = sigmoid(a) y = mul(x, s) return y");
}
TEST(RecogniseSigmoid, Formula) {
  becomes("x: f32[B]", with_numbers("n = neg(x) e = exp(n) s = add(one, e) y = div(one, s)"), "y = sigmoid(x)");
}

TEST(RecogniseSoftmax, KeptAxes) {
  becomes("x: f32[B, S]", R"(m = reduce_max(x) axes=[1] keepdim=1 d = sub(x, m) e = exp(d)
      s = reduce_sum(e) axes=[1] keepdim=1 y = div(e, s))",
          "y = softmax(x) axis=1");
}
TEST(RecogniseSoftmax, DroppedAndRestoredAxes) {
  becomes("x: f32[B, S]", R"(m = reduce_max(x) axes=[1] n = reshape(m) shape=[B,1] d = sub(x, n) e = exp(d)
      s = reduce_sum(e) axes=[1] t = reshape(s) shape=[B,1] u = expand(t) shape=[B,S] y = div(e, u))",
          "y = softmax(x) axis=1");
}
TEST(RecogniseSoftmax, Logarithm) {
  becomes("x: f32[B, S]", R"(m = reduce_max(x) axes=[1] keepdim=1 d = sub(x, m) e = exp(d)
      s = reduce_sum(e) axes=[1] keepdim=1 l = log(s) y = sub(d, l))",
          "y = log_softmax(x) axis=1");
}
TEST(RecogniseSoftmax, WithoutTheShiftStays) {
  stays("x: f32[B, S] e = exp(x) s = reduce_sum(e) axes=[1] keepdim=1 y = div(e, s) return y");
}
TEST(RecogniseSoftmax, AnotherAxisStays) {
  stays(R"(x: f32[B, S] m = reduce_max(x) axes=[0] keepdim=1 d = sub(x, m) e = exp(d)
      s = reduce_sum(e) axes=[0] keepdim=1 y = div(e, s) return y)");
}
TEST(RecogniseSoftmax, ASquareSumAlongTheOtherAxisStays) {
  stays(R"(x: f32[4, 4] m = reduce_max(x) axes=[1] keepdim=1 d = sub(x, m) e = exp(d)
      s = reduce_sum(e) axes=[0] y = div(e, s) return y)");
}
TEST(RecogniseSoftmax, ExponentialsThatOthersReadStay) {
  stays(R"(x: f32[B, S] m = reduce_max(x) axes=[1] keepdim=1 d = sub(x, m) e = exp(d)
      s = reduce_sum(e) axes=[1] keepdim=1 y = div(e, s) return y, e)");
}

constexpr std::string_view kNorm = "x: f32[B, S, 64] w: f32[64] b: f32[64]";
TEST(RecogniseLayerNorm, PowAndSqrt) {
  becomes(kNorm,
          with_numbers(R"(eps = scalar() dtype=f32 value=1e-05 m = reduce_mean(x) axes=[2] keepdim=1 d = sub(x, m)
      q = pow(d, two) v = reduce_mean(q) axes=[2] keepdim=1 a = add(v, eps) r = sqrt(a) n = div(d, r) t = mul(n, w) y = add(t, b))"),
          "y = layer_norm(x, w, b) num_axes=1 eps=1e-05");
}
TEST(RecogniseLayerNorm, VarianceAndRsqrt) {
  becomes(kNorm, R"(eps = scalar() dtype=f32 value=1e-05 v = variance(x) axes=[2] keepdim=1 correction=0
      m = reduce_mean(x) axes=[2] keepdim=1 a = add(v, eps) r = rsqrt(a) d = sub(x, m) n = mul(d, r) t = mul(n, w) y = add(t, b))",
          "y = layer_norm(x, w, b) num_axes=1 eps=1e-05");
}
TEST(RecogniseLayerNorm, SumsDividedByTheCount) {
  becomes(kNorm,
          R"(eps = scalar() dtype=f32 value=1e-05 c = scalar() dtype=f32 value=64 s = reduce_sum(x) axes=[2] keepdim=1
      m = div(s, c) d = sub(x, m) q = mul(d, d) u = reduce_sum(q) axes=[2] keepdim=1 v = div(u, c) a = add(v, eps) r = rsqrt(a)
      y = mul(d, r))",
          "y = layer_norm(x) num_axes=1 eps=1e-05");
}
TEST(RecogniseLayerNorm, TheSampleVarianceStays) {
  stays(R"(x: f32[B, 64]
      eps = scalar() dtype=f32 value=1e-05
      v = variance(x) axes=[1] keepdim=1
      m = reduce_mean(x) axes=[1] keepdim=1
      a = add(v, eps)
      r = rsqrt(a)
      d = sub(x, m)
      y = mul(d, r)
      return y)");
}
TEST(RecogniseLayerNorm, AnotherCountIsNoMean) {
  becomes("x: f32[B, 64]", R"(eps = scalar() dtype=f32 value=1e-05 c = scalar() dtype=f32 value=63
      s = reduce_sum(x) axes=[1] keepdim=1 m = div(s, c) d = sub(x, m) q = mul(d, d) v = reduce_mean(q) axes=[1] keepdim=1
      a = add(v, eps) r = rsqrt(a) y = mul(d, r))",
          R"(c = scalar() dtype=f32 value=63 s = reduce_sum(x) axes=[1] keepdim=1 m = div(s, c) d = sub(x, m)
      y = rms_norm(d) num_axes=1 eps=1e-05)");
}
TEST(RecogniseLayerNorm, AWeightPerRowStaysOutside) {
  becomes("x: f32[B, 64] g: f32[B, 1]", R"(n = layer_norm(x) num_axes=1 eps=1e-05 y = mul(n, g))",
          "n = layer_norm(x) num_axes=1 eps=1e-05 y = mul(n, g)");
}
TEST(RecogniseLayerNorm, ANormThatOthersReadKeepsItsWeightOutside) {
  stays("x: f32[B, 64] w: f32[64] n = layer_norm(x) num_axes=1 eps=1e-05 y = mul(n, w) return y, n");
}
TEST(RecogniseRmsNorm, AsLlamaWritesIt) {
  becomes(kNorm,
          with_numbers(R"(eps = scalar() dtype=f32 value=1e-06 q = pow(x, two) v = reduce_mean(q) axes=[2] keepdim=1
      a = add(v, eps) r = rsqrt(a) n = mul(x, r) y = mul(w, n))"),
          "y = rms_norm(x, w) num_axes=1 eps=1e-06");
}
TEST(RecogniseRmsNorm, OfTwoValuesStays) {
  stays(R"(x: f32[B, 64]
      z: f32[B, 64]
      eps = scalar() dtype=f32 value=1e-06
      q = mul(x, x)
      v = reduce_mean(q) axes=[1] keepdim=1
      a = add(v, eps)
      r = rsqrt(a)
      y = mul(z, r)
      return y)");
}

}  // namespace
}  // namespace tilewright::passes
