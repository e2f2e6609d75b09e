// Convolutions and pools against the oracle on every machine: 1 to 3 spatial axes, groups, strides, pads, dilation,
// dtypes, strided inputs.
#include "tilewright/graph/testing.h"
#include "tilewright/runtime/oracle_testing.h"
#include "tilewright/runtime/session.h"

namespace tilewright::runtime {
namespace {

using testing::expect_oracle;
using testing::with_dtype;

TEST(ConvKernels, TwoAxesWithBiasPadsAndStrides) {
  expect_oracle(R"(
    x: f32[N, C, H, W]
    w: f32[O, C, 3, 3]
    b: f32[O]
    y = conv(x, w, b) stride=[1,1] low=[1,1] high=[1,1] dilation=[1,1]
    z = conv(x, w) stride=[2,1] low=[0,2] high=[1,0] dilation=[1,2]
    return y, z
  )",
                {{{1, 3, 5, 6}, {4, 3, 3, 3}, {4}},
                 {{2, 1, 3, 5}, {1, 1, 3, 3}, {1}},
                 {{1, 17, 9, 50}, {33, 17, 3, 3}, {33}},
                 {{2, 64, 7, 7}, {70, 64, 3, 3}, {70}}},
                1e-4);
}

TEST(ConvKernels, PointwiseIsAMatrixProduct) {
  expect_oracle(R"(
    x: f32[N, C, H, W]
    w: f32[O, C, 1, 1]
    b: f32[O]
    y = conv(x, w, b) stride=[1,1] low=[0,0] high=[0,0] dilation=[1,1]
    t = transpose(x) perm=[0,1,3,2]
    z = conv(t, w) stride=[1,1] low=[0,0] high=[0,0] dilation=[1,1]
    return y, z
  )",
                {{{1, 3, 5, 6}, {4, 3, 1, 1}, {4}}, {{2, 70, 7, 9}, {40, 70, 1, 1}, {40}}}, 1e-4);
}

TEST(ConvKernels, GroupsAndDepthwise) {
  expect_oracle(
      R"(
    x: f32[N, 12, H, W]
    w: f32[12, 1, 3, 5]
    v: f32[6, 4, 3, 3]
    b: f32[12]
    y = conv(x, w, b) stride=[1,1] low=[1,2] high=[1,2] dilation=[1,1] groups=12
    z = conv(x, w) stride=[2,2] low=[0,1] high=[0,3] dilation=[2,1] groups=12
    u = conv(x, v) stride=[1,2] low=[1,1] high=[1,1] dilation=[1,1] groups=3
    return y, z, u
  )",
      {{{1, 12, 7, 6}, {12, 1, 3, 5}, {6, 4, 3, 3}, {12}}, {{2, 12, 9, 40}, {12, 1, 3, 5}, {6, 4, 3, 3}, {12}}}, 1e-4);
}

TEST(ConvKernels, DilatedWindowsWithLargeStepsAndPads) {
  expect_oracle(R"(
    x: f32[N, C, L]
    w: f32[O, C, 300]
    v: f32[O, C, 7]
    y = conv(x, w) stride=[70] low=[10] high=[0] dilation=[1]
    z = conv(x, v) stride=[3] low=[30] high=[25] dilation=[9]
    return y, z
  )",
                {{{1, 1, 1600}, {20, 1, 300}, {20, 1, 7}}, {{2, 5, 400}, {3, 5, 300}, {3, 5, 7}}}, 1e-4);
}

TEST(ConvKernels, WindowsBeyondTheSlab) {
  expect_oracle(R"(
    x: f32[N, 2, L]
    w: f32[3, 2, K]
    v: f32[3, 2, 2]
    y = conv(x, w) stride=[1] low=[5] high=[0] dilation=[1]
    z = conv(x, v) stride=[1] low=[0] high=[400000] dilation=[400000]
    return y, z
  )",
                {{{1, 2, 20000}, {3, 2, 19980}, {3, 2, 2}}}, 1e-3);
}

TEST(ConvKernels, ManyOutputChannelsInBlocks) {
  expect_oracle(R"(
    x: f32[N, C, H, W]
    w: f32[O, C, 3, 3]
    y = conv(x, w) stride=[1,1] low=[1,1] high=[1,1] dilation=[1,1]
    return y
  )",
                {{{1, 2, 9, 70}, {1100, 2, 3, 3}}, {{1, 300, 5, 4}, {19, 300, 3, 3}}}, 1e-3);
}

TEST(ConvKernels, OneAndThreeAxes) {
  expect_oracle(R"(
    x: f32[N, 4, L]
    w: f32[6, 4, 5]
    y = conv(x, w) stride=[2] low=[3] high=[1] dilation=[2]
    return y
  )",
                {{{1, 4, 9}, {6, 4, 5}}, {{2, 4, 300}, {6, 4, 5}}}, 1e-4);
  expect_oracle(R"(
    x: f32[N, 4, D, H, W]
    w: f32[6, 2, 2, 3, 3]
    y = conv(x, w) stride=[1,2,1] low=[1,1,0] high=[0,1,1] dilation=[1,1,2] groups=2
    return y
  )",
                {{{1, 4, 3, 5, 6}, {6, 2, 2, 3, 3}}, {{2, 4, 4, 9, 11}, {6, 2, 2, 3, 3}}}, 1e-4);
}

TEST(ConvKernels, OtherDTypesAndStridedInputs) {
  for (DType dtype : {DType::kF64, DType::kF16, DType::kBF16, DType::kI8, DType::kI32, DType::kI64}) {
    const double tolerance = dtype == DType::kBF16  ? 2e-2
                             : dtype == DType::kF16 ? 3e-3
                             : dtype == DType::kF64 ? 1e-12
                                                    : 0;
    expect_oracle(with_dtype(R"(
      x: DTYPE[N, H, W, C]
      w: DTYPE[3, 3, C, O]
      b: DTYPE[O]
      t = transpose(x) perm=[0,3,1,2]
      v = transpose(w) perm=[3,2,0,1]
      y = conv(t, v, b) stride=[1,1] low=[1,1] high=[1,1] dilation=[1,1]
      z = transpose(y) perm=[0,2,3,1]
      return y, z
    )",
                             dtype),
                  {{{1, 5, 6, 3}, {3, 3, 3, 4}, {4}}, {{2, 9, 20, 5}, {3, 3, 5, 7}, {7}}}, tolerance);
  }
}

TEST(ConvKernels, Transposed) {
  expect_oracle(R"(
    x: f32[N, 4, H, W]
    w: f32[4, 3, 3, 2]
    v: f32[4, 2, 3, 3]
    b: f32[3]
    y = conv_transpose(x, w, b) stride=[2,3] low=[1,0] high=[0,1] dilation=[1,1] output_pad=[1,0]
    z = conv_transpose(x, v) stride=[1,2] low=[0,1] high=[0,1] dilation=[2,1] output_pad=[0,1] groups=2
    return y, z
  )",
                {{{1, 4, 3, 5}, {4, 3, 3, 2}, {4, 2, 3, 3}, {3}}, {{2, 4, 9, 20}, {4, 3, 3, 2}, {4, 2, 3, 3}, {3}}},
                1e-4);
}

TEST(PoolKernels, MaximumAndPositions) {
  for (DType dtype : {DType::kF32, DType::kF64, DType::kF16, DType::kI8, DType::kI32, DType::kI64, DType::kU8}) {
    expect_oracle(with_dtype(R"(
      x: DTYPE[N, C, H, W]
      a, i = max_pool(x) window=[2,2] stride=[2,2] low=[0,0] high=[0,0] dilation=[1,1]
      b, j = max_pool(x) window=[3,3] stride=[1,2] low=[1,1] high=[1,1] dilation=[1,1]
      c, k = max_pool(x) window=[2,3] stride=[1,1] low=[0,2] high=[1,0] dilation=[2,1]
      return a, i, b, j, c, k
    )",
                             dtype),
                  {{{1, 2, 5, 6}}, {{2, 3, 9, 70}}, {{1, 40, 7, 7}}, {{1, 1, 3, 600}}});
  }
}

TEST(PoolKernels, MaximumOfNans) {
  Tensor x = testing::random_tensor(DType::kF32, {1, 2, 6, 40}, 1);
  for (std::int64_t i = 0; i < x.count(); i += 7) x.data_as<float>()[i] = std::nanf("");
  for (std::int64_t i = 3; i < x.count(); i += 11) x.data_as<float>()[i] = -INFINITY;
  testing::expect_oracle_on(
      "x: f32[N, C, H, W]\na, i = max_pool(x) window=[3,2] stride=[1,1] low=[1,0] high=[1,1] dilation=[1,1]\nreturn a, "
      "i",
      {{x}}, 0);
}

TEST(PoolKernels, Mean) {
  for (DType dtype : {DType::kF32, DType::kF64, DType::kF16, DType::kBF16}) {
    const double tolerance = dtype == DType::kBF16 ? 2e-2 : dtype == DType::kF16 ? 2e-3 : 1e-5;
    expect_oracle(with_dtype(R"(
      x: DTYPE[N, C, H, W]
      a = avg_pool(x) window=[2,2] stride=[2,2] low=[0,0] high=[0,0]
      b = avg_pool(x) window=[3,3] stride=[1,2] low=[1,1] high=[1,1]
      c = avg_pool(x) window=[3,3] stride=[1,1] low=[1,0] high=[1,2] count_pads=0
      d = avg_pool(x) window=[2,3] stride=[1,1] low=[0,0] high=[0,0] divisor=5
      t = transpose(x) perm=[0,1,3,2]
      e = avg_pool(t) window=[2,2] stride=[1,1] low=[0,0] high=[0,0]
      return a, b, c, d, e
    )",
                             dtype),
                  {{{1, 2, 5, 6}}, {{2, 3, 9, 70}}, {{1, 40, 7, 7}}}, tolerance);
  }
}

TEST(PoolKernels, OneAndThreeAxes) {
  expect_oracle(
      "x: f32[N, C, L]\na, i = max_pool(x) window=[4] stride=[3] low=[1] high=[2] dilation=[1]\nb = avg_pool(x) "
      "window=[3] stride=[1] low=[0] high=[0]\nreturn a, i, b",
      {{{1, 2, 9}}, {{2, 3, 500}}}, 1e-5);
  expect_oracle(
      "x: f32[N, C, D, H, W]\na, i = max_pool(x) window=[2,2,2] stride=[1,2,2] low=[1,0,0] high=[0,0,1] "
      "dilation=[1,1,1]\nreturn a, i",
      {{{1, 2, 3, 4, 5}}, {{2, 3, 4, 6, 20}}});
}

// Positions are a stream of the pool instruction; what nobody reads is not computed.
TEST(PoolKernels, PositionsThatNobodyReadsAreNotWritten) {
  const auto streams = [](std::string_view result) {
    auto session = Session::compile(parse_or_die(
        fmt::format("x: f32[N, C, H, W]\ny, at = max_pool(x) window=[2,2] stride=[2,2] low=[0,0] high=[0,0] "
                    "dilation=[1,1]\nreturn {}",
                    result)));
    TW_CHECK(session.ok(), "the graph compiles");
    const auto programs = (*session)->encode(std::vector<std::vector<std::int64_t>>{{1, 2, 4, 6}});
    TW_CHECK(programs.ok(), "the call is encoded");
    return isa::Inst((*programs)[0].words.data()).num_streams();
  };
  EXPECT_EQ(streams("y"), 2);
  EXPECT_EQ(streams("y, at"), 3);
  EXPECT_EQ(streams("at"), 3);
}

}  // namespace
}  // namespace tilewright::runtime
