#include "tilewright/graph/testing.h"
#include "tilewright/passes/pass.h"

namespace tilewright::passes {
namespace {

void pass(Graph& graph) {
  quantized_products(graph);
  remove_dead_nodes(graph);
}
void stays(std::string_view text) {
  expect_pass(pass, text, text);
}

TEST(QuantizedProducts, AProductOfDequantisedBytes) {
  expect_pass(pass, R"(
      x: u8[B, 64]
      s: f32[]
      z: u8[]
      weight w: i8[64, 32]
      weight t: f32[32]
      a = dequantize_linear(x, s, z) axis=0 block=0
      b = dequantize_linear(w, t) axis=1 block=0
      y = matmul(a, b)
      return y)",
              R"(
      x: u8[B, 64]
      s: f32[]
      z: u8[]
      weight w: i8[64, 32]
      weight t: f32[32]
      c = mul(s, t)
      p = integer_matmul(x, w, z)
      f = cast(p) dtype=f32
      y = mul(f, c)
      return y)");
}

TEST(QuantizedProducts, AZeroPointOfZeroIsNone) {
  expect_pass(pass, R"(
      x: i8[B, 64]
      weight w: i8[64, 32]
      s: f32[]
      z = constant() value=i8[]{0}
      a = dequantize_linear(x, s, z) axis=0 block=0
      b = dequantize_linear(w, s, z) axis=0 block=0
      y = matmul(a, b)
      return y)",
              R"(
      x: i8[B, 64]
      weight w: i8[64, 32]
      s: f32[]
      c = mul(s, s)
      p = integer_matmul(x, w)
      f = cast(p) dtype=f32
      y = mul(f, c)
      return y)");
}

TEST(QuantizedProducts, AConvolutionWithItsBias) {
  expect_pass(pass, R"(
      x: u8[B, 8, N]
      s: f32[]
      weight w: i8[16, 8, 3]
      weight t: f32[16]
      weight bias: f32[16]
      a = dequantize_linear(x, s) axis=0 block=0
      b = dequantize_linear(w, t) axis=0 block=0
      y = conv(a, b, bias) stride=[1] low=[1] high=[1] dilation=[1] groups=1
      return y)",
              R"(
      x: u8[B, 8, N]
      s: f32[]
      weight w: i8[16, 8, 3]
      weight t: f32[16]
      weight bias: f32[16]
      p = integer_conv(x, w) stride=[1] low=[1] high=[1] dilation=[1] groups=1
      u = reshape(t) shape=[16, 1]
      c = mul(s, u)
      f = cast(p) dtype=f32
      m = mul(f, c)
      v = reshape(bias) shape=[16, 1]
      y = add(m, v)
      return y)");
}

TEST(QuantizedProducts, AScaleForEachTermStays) {
  stays(R"(
      x: u8[B, 64]
      s: f32[]
      weight w: i8[64, 32]
      weight t: f32[64]
      a = dequantize_linear(x, s) axis=0 block=0
      b = dequantize_linear(w, t) axis=0 block=0
      y = matmul(a, b)
      return y)");
}

TEST(QuantizedProducts, SumsThatMayNotFitStay) {
  stays(R"(
      x: u8[B, K]
      s: f32[]
      w: i8[K, 32]
      a = dequantize_linear(x, s) axis=0 block=0
      b = dequantize_linear(w, s) axis=0 block=0
      y = matmul(a, b)
      return y)");
}

TEST(QuantizedProducts, ADepthwiseConvolutionStays) {
  stays(R"(
      x: u8[B, 8, N]
      s: f32[]
      weight w: i8[8, 1, 3]
      a = dequantize_linear(x, s) axis=0 block=0
      b = dequantize_linear(w, s) axis=0 block=0
      y = conv(a, b) stride=[1] low=[1] high=[1] dilation=[1] groups=8
      return y)");
}

TEST(QuantizedProducts, ARoundTripStaysAFloat) {
  expect_pass(pass, R"(
      x: f32[B, 64]
      s: f32[]
      z = constant() value=u8[]{3}
      q = quantize_linear(x, s, z) dtype=u8 axis=0 block=0 low=0 high=0
      y = dequantize_linear(q, s, z) axis=0 block=0
      return y)",
              R"(
      x: f32[B, 64]
      s: f32[]
      a = div(x, s)
      r = round(a)
      low = scalar() dtype=f32 value=-3.0
      m = max(r, low)
      high = scalar() dtype=f32 value=252.0
      n = min(m, high)
      y = mul(n, s)
      return y)");
}

TEST(QuantizedProducts, AProductReadsTheBytesOfARoundTrip) {
  expect_pass(pass, R"(
      x: f32[B, 64]
      s: f32[]
      z = constant() value=u8[]{200}
      weight w: i8[64, 32]
      q = quantize_linear(x, s, z) dtype=u8 axis=0 block=0 low=0 high=0
      a = dequantize_linear(q, s, z) axis=0 block=0
      b = dequantize_linear(w, s) axis=0 block=0
      y = matmul(a, b)
      return y)",
              R"(
      x: f32[B, 64]
      s: f32[]
      z = constant() value=u8[]{200}
      weight w: i8[64, 32]
      q = quantize_linear(x, s, z) dtype=u8 axis=0 block=0 low=0 high=0
      c = mul(s, s)
      p = integer_matmul(q, w, z)
      f = cast(p) dtype=f32
      y = mul(f, c)
      return y)");
}

TEST(QuantizedProducts, BytesThatOthersReadStay) {
  stays(R"(
      x: f32[B, 64]
      s: f32[]
      q = quantize_linear(x, s) dtype=u8 axis=0 block=0 low=0 high=0
      y = dequantize_linear(q, s) axis=0 block=0
      return y, q)");
}

}  // namespace
}  // namespace tilewright::passes
