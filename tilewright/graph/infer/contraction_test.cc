// Result types of matrix products, convolutions, pools and composites: text in, types out.
#include "tilewright/graph/testing.h"

namespace tilewright {
namespace {

TEST(InferMatMul, TakesTheOuterSizes) {
  EXPECT_EQ(result_types("a: f32[B, 64]  b: f32[64, 16]  y = matmul(a, b)  return y"), "f32[B, 16]");
}
TEST(InferMatMul, BatchBroadcasts) {
  EXPECT_EQ(result_types("a: f32[B, 1, m, k]  b: f32[12, k, n]  y = matmul(a, b)  return y"), "f32[B, 12, m, n]");
}
TEST(InferMatMul, UnknownInnerSizesPass) {
  EXPECT_EQ(result_types("a: f32[2, p]  b: f32[q, 3]  y = matmul(a, b)  return y"), "f32[2, 3]");
}
TEST(InferMatMul, NamesTheNodeAndBothShapes) {
  expect_error("x: f32[B, 64]  w: f32[32, 16]  y = matmul(x, w)  return y",
               "'y' = matmul: inner dimensions differ: f32[B, 64] x f32[32, 16]");
}
TEST(InferMatMul, VectorsAreAnError) {
  expect_error("x: f32[64]  w: f32[64, 16]  y = matmul(x, w)  return y",
               "'y' = matmul: ranks must be at least 2: f32[64] x f32[64, 16]");
}
TEST(InferMatMul, BatchesThatDoNotBroadcast) {
  expect_error("x: f32[2, 4, 4]  w: f32[3, 4, 4]  y = matmul(x, w)  return y",
               "'y' = matmul: batch dimensions do not broadcast: f32[2, 4, 4] x f32[3, 4, 4]");
}

constexpr std::string_view kConv = " stride=[2,1] low=[1, 1] high=[1, 1] dilation=[1,2]";

TEST(InferConv, SpatialSizes) {
  EXPECT_EQ(result_types("x: f32[N, 3, 224, 10]  w: f32[64, 3, 7, 3]  b: f32[64]  y = conv(x, w, b)" +
                         std::string(kConv) + "\n return y"),
            "f32[N, 64, 110, 8]");
}
TEST(InferConv, GroupsDivideChannels) {
  EXPECT_EQ(result_types("x: f32[N, 8, L]  w: f32[8, 1, 3]  y = conv(x, w) stride=[1] low=[1] high=[1] dilation=[1] "
                         "groups=8\n return y"),
            "f32[N, 8, L]");
  expect_error(
      "x: f32[N, 8, L]  w: f32[9, 4, 3]  y = conv(x, w) stride=[1] low=[0] high=[0] dilation=[1] groups=2\n return y",
      "'y' = conv: output channels 9 do not divide into 2 groups");
}
TEST(InferConv, ChannelsAgree) {
  expect_error("x: f32[N, 4, L]  w: f32[8, 3, 3]  y = conv(x, w) stride=[1] low=[0] high=[0] dilation=[1]\n return y",
               "'y' = conv: channels differ: f32[N, 4, L] x f32[8, 3, 3] with 1 groups");
}
TEST(InferConv, TheWindowFits) {
  expect_error("x: f32[N, 3, 4]  w: f32[8, 3, 7]  y = conv(x, w) stride=[1] low=[1] high=[1] dilation=[1]\n return y",
               "'y' = conv: a window of 7 exceeds axis 2 of f32[N, 3, 4] with pads 1 and 1");
}
TEST(InferConv, ListsHaveOneEntryPerSpatialAxis) {
  expect_error("x: f32[N, 3, 4]  w: f32[8, 3, 1]  y = conv(x, w) stride=[1,1] low=[1] high=[1] dilation=[1]\n return y",
               "'y' = conv: 'stride' must have 1 entries: 2 given");
}
TEST(InferConv, TheBiasHasOneEntryPerChannel) {
  expect_error(
      "x: f32[N, 3, 4]  w: f32[8, 3, 1]  b: f32[7]  y = conv(x, w, b) stride=[1] low=[0] high=[0] dilation=[1]\n "
      "return y",
      "'y' = conv: the bias must have 8 entries: f32[7]");
}
TEST(InferConv, AWindowWithoutAxesIsAnError) {
  expect_error("x: f32[3]  w: f32[8]  y = conv(x, w) stride=[] low=[] high=[] dilation=[]\n return y",
               "'y' = conv: x must have rank 2: f32[3]");
}
TEST(InferConvTranspose, InvertsTheSizes) {
  EXPECT_EQ(result_types("x: f32[N, 8, L]  w: f32[8, 4, 3]  y = conv_transpose(x, w) stride=[2] low=[1] high=[1] "
                         "dilation=[1] output_pad=[1]\n return y"),
            "f32[N, 4, 2*L]");
}
TEST(InferPool, SizesAndPositions) {
  EXPECT_EQ(result_types("x: f32[N, C, 8, 9]  v, i = max_pool(x) window=[2,3] stride=[2,2] low=[0, 1] high=[0, 1] "
                         "dilation=[1,1]\n return v, i"),
            "f32[N, C, 4, 5], i64[N, C, 4, 5]");
  EXPECT_EQ(result_types("x: f32[N, C, L]  y = avg_pool(x) window=[2] stride=[2] low=[0] high=[0]\n return y"),
            "f32[N, C, L//2]");
}
TEST(InferPool, WindowsArePositive) {
  expect_error("x: f32[N, C, 4]  y = avg_pool(x) window=[0] stride=[2] low=[0] high=[0]\n return y",
               "'y' = avg_pool: window 0 is below 1");
}

TEST(InferSoftmax, TheAxisExists) {
  expect_error("x: f32[2]  y = softmax(x) axis=1\n return y",
               "'y' = softmax: axis 1 is out of range: f32[2] has rank 1");
}
TEST(InferNorm, ParametersHaveTheLastAxes) {
  EXPECT_EQ(
      result_types("x: f32[B, S, 64]  w: f32[64]  b: f32[64]  y = layer_norm(x, w, b) num_axes=1 eps=1e-05\n return y"),
      "f32[B, S, 64]");
  expect_error("x: f32[B, 64]  w: f32[32]  y = rms_norm(x, w) num_axes=1 eps=1e-05\n return y",
               "'y' = rms_norm: a parameter must have the shape [64]: f32[32]");
  expect_error("x: f32[B, 64]  y = layer_norm(x) num_axes=3 eps=0\n return y",
               "'y' = layer_norm: num_axes = 3 is out of range: f32[B, 64] has rank 2");
}
TEST(InferNorm, GroupsDivideChannels) {
  expect_error("x: f32[N, 6, L]  y = group_norm(x) groups=4 eps=0\n return y",
               "'y' = group_norm: channels 6 do not divide into 4 groups");
}
TEST(InferNorm, BatchNormTakesChannels) {
  expect_error("x: f32[N, 6]  w: f32[5]  y = batch_norm(x, w, w, w, w) eps=0\n return y",
               "'y' = batch_norm: a parameter must have the shape [6]: f32[5]");
}

constexpr std::string_view kQkv = "q: f32[B, 12, S, 64]  k: f32[B, 4, T, 64]  v: f32[B, 4, T, 32]  ";

TEST(InferAttention, TakesTheValueWidth) {
  EXPECT_EQ(result_types(std::string(kQkv) + "m: bool[B, 1, 1, T]  y = attention(q, k, v, m) scale=0.125\n return y"),
            "f32[B, 12, S, 32]");
}
TEST(InferAttention, HeadsAreAMultiple) {
  expect_error("q: f32[B, 12, S, 64]  k: f32[B, 5, T, 64]  y = attention(q, k, k) scale=1\n return y",
               "'y' = attention: 12 query heads are no multiple of 5 key heads");
}
TEST(InferAttention, TheMaskBroadcasts) {
  expect_error(std::string(kQkv) + "m: bool[3, 1, T]  y = attention(q, k, v, m) scale=1\n return y",
               "'y' = attention: bool[3, 1, T] does not broadcast to [B, 12, S, T]");
  expect_error(std::string(kQkv) + "m: i64[T]  y = attention(q, k, v, m) scale=1\n return y",
               "'y' = attention: the mask must be bool or f32: i64[T]");
}
TEST(InferAttention, KeysAndValuesAgree) {
  expect_error("q: f32[1, 2, 3, 4]  k: f32[1, 2, 5, 4]  v: f32[1, 2, 6, 4]  y = attention(q, k, v) scale=1\n return y",
               "'y' = attention: keys and values differ in heads or length: f32[1, 2, 5, 4] x f32[1, 2, 6, 4]");
}

}  // namespace
}  // namespace tilewright
