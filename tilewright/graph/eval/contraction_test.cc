#include "tilewright/graph/eval/one_op.h"

namespace tilewright::testing {
namespace {

TEST(EvalMatMul, TwoByTwo) {
  expect_numbers(run_op(Op::kMatMul, {f32({2, 2}, {1, 2, 3, 4}), f32({2, 2}, {5, 6, 7, 8})}), {19, 22, 43, 50});
}

TEST(EvalMatMul, BatchesBroadcast) {
  const Tensor out = run_op(Op::kMatMul, {f32({2, 1, 1, 2}, {1, 2, 3, 4}), f32({3, 2, 1}, {1, 0, 0, 1, 1, 1})});
  EXPECT_EQ(sizes_of(out), (Ints{2, 3, 1, 1}));
  expect_numbers(out, {1, 2, 3, 3, 4, 7});
}

TEST(EvalMatMul, SumOfNothingIsZero) {
  expect_numbers(run_op(Op::kMatMul, {f32({2, 0}, {}), f32({0, 1}, {})}), {0, 0});
}

TEST(EvalMatMul, IntegersWrap) {
  expect_numbers(run_op(Op::kMatMul, {tensor(DType::kI8, {1, 2}, {100, 100}), tensor(DType::kI8, {2, 1}, {1, 1})}),
                 {-56});
}

TEST(EvalMatMul, InnerDimensionsMustAgree) {
  EXPECT_EQ(error_text(try_op_unseen(Op::kMatMul, {f32({1, 2}, {1, 2}), f32({3, 1}, {1, 2, 3})})),
            "'y' = matmul: inner dimensions differ: 2 and 3");
}

Attrs window(Ints stride, Dims low, Dims high, Ints dilation) {
  return {{"stride", std::move(stride)},
          {"low", std::move(low)},
          {"high", std::move(high)},
          {"dilation", std::move(dilation)}};
}

TEST(EvalConv, OneAxisWithPads) {
  const Tensor x = f32({1, 1, 4}, {1, 2, 3, 4});
  const Tensor w = f32({1, 1, 3}, {1, 10, 100});
  expect_numbers(run_op(Op::kConv, {x, w}, window({1}, {1}, {0}, {1})), {210, 321, 432});
}

TEST(EvalConv, StrideDilationAndBias) {
  const Tensor x = f32({1, 1, 5}, {1, 2, 3, 4, 5});
  const Tensor w = f32({1, 1, 2}, {1, 10});
  expect_numbers(run_op(Op::kConv, {x, w, f32({1}, {1000})}, window({2}, {0}, {0}, {2})), {1031, 1053});
}

TEST(EvalConv, GroupsReadTheirChannels) {
  const Tensor x = f32({1, 2, 1}, {3, 5});
  const Tensor w = f32({4, 1, 1}, {1, 2, 10, 20});
  Attrs attrs = window({1}, {0}, {0}, {1});
  attrs.set("groups", std::int64_t{2});
  expect_numbers(run_op(Op::kConv, {x, w}, attrs), {3, 6, 50, 100});
}

TEST(EvalConv, TwoAxes) {
  const Tensor x = f32({1, 1, 3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9});
  const Tensor w = f32({1, 1, 2, 2}, {1, 0, 0, -1});
  expect_numbers(run_op(Op::kConv, {x, w}, window({1, 1}, {0, 0}, {0, 0}, {1, 1})), {-4, -4, -4, -4});
}

TEST(EvalConv, WindowLargerThanXIsAnError) {
  EXPECT_EQ(error_text(
                try_op_unseen(Op::kConv, {f32({1, 1, 1}, {1}), f32({1, 1, 3}, {1, 2, 3})}, window({1}, {0}, {1}, {1}))),
            "'y' = conv: a window of 3 exceeds axis 2 of size 1 with pads 0 and 1");
}

TEST(EvalConvTranspose, SpreadsEachElement) {
  const Tensor x = f32({1, 1, 2}, {1, 2});
  const Tensor w = f32({1, 1, 3}, {1, 10, 100});
  Attrs attrs = window({2}, {0}, {0}, {1});
  attrs.set("output_pad", Ints{1});
  expect_numbers(run_op(Op::kConvTranspose, {x, w}, attrs), {1, 10, 102, 20, 200, 0});
}

TEST(EvalConvTranspose, GroupsWriteTheirChannels) {
  const Tensor x = f32({1, 2, 1}, {3, 5});
  const Tensor w = f32({2, 2, 1}, {1, 2, 10, 20});
  Attrs attrs = window({1}, {0}, {0}, {1});
  attrs.set("output_pad", Ints{0});
  attrs.set("groups", std::int64_t{2});
  expect_numbers(run_op(Op::kConvTranspose, {x, w, f32({4}, {0, 0, 1, 0})}, attrs), {3, 6, 51, 100});
}

// conv_transpose is the gradient of conv: <conv(x), y> = <x, conv_transpose(y)>.
TEST(EvalConvTranspose, IsTheAdjointOfConv) {
  Numbers x, w, y;
  for (int i = 0; i < 2 * 4 * 7; ++i) x.push_back((i * 7 % 11) - 5);
  for (int i = 0; i < 6 * 2 * 3; ++i) w.push_back((i * 5 % 7) - 3);
  Attrs attrs = window({2}, {1}, {2}, {2});
  attrs.set("groups", std::int64_t{2});
  const Tensor weight = f64({6, 2, 3}, w);
  const Tensor forward = run_op(Op::kConv, {f64({2, 4, 7}, x), weight}, attrs);
  for (int i = 0; i < forward.count(); ++i) y.push_back((i * 3 % 13) - 6);
  attrs.set("output_pad", Ints{1});
  const Tensor backward = run_op(Op::kConvTranspose, {f64(sizes_of(forward), y), weight}, attrs);
  ASSERT_EQ(sizes_of(backward), (Ints{2, 4, 7}));
  double left = 0;
  double right = 0;
  for (std::size_t i = 0; i < y.size(); ++i) left += numbers(forward)[i] * y[i];
  for (std::size_t i = 0; i < x.size(); ++i) right += numbers(backward)[i] * x[i];
  EXPECT_EQ(left, right);
}

Attrs pool(Ints size, Ints stride, Dims low, Dims high) {
  return {
      {"window", std::move(size)}, {"stride", std::move(stride)}, {"low", std::move(low)}, {"high", std::move(high)}};
}

TEST(EvalPool, MaxAndItsPosition) {
  Attrs attrs = pool({2, 2}, {2, 1}, {0, 0}, {0, 0});
  attrs.set("dilation", Ints{1, 1});
  const Tensor x = f32({1, 1, 2, 3}, {1, 5, 2, 5, 0, 5});
  const auto out = checked(try_op(Op::kMaxPool, {x}, attrs));
  expect_numbers(out[0], {5, 5});
  expect_numbers(out[1], {1, 1});
}

TEST(EvalPool, MaxIgnoresPads) {
  Attrs attrs = pool({2}, {2}, {1}, {1});
  attrs.set("dilation", Ints{1});
  const auto out = checked(try_op(Op::kMaxPool, {f32({1, 2, 2}, {-1, -2, -3, kNan})}, attrs));
  expect_numbers(out[0], {-1, -2, -3, kNan});
  expect_numbers(out[1], {0, 1, 0, 1});
}

TEST(EvalPool, AverageCountsPadsOrNot) {
  const Tensor x = f32({1, 1, 3}, {2, 4, 6});
  Attrs attrs = pool({2}, {2}, {1}, {0});
  expect_numbers(run_op(Op::kAvgPool, {x}, attrs), {1, 5});
  attrs.set("count_pads", false);
  expect_numbers(run_op(Op::kAvgPool, {x}, attrs), {2, 5});
  attrs.set("divisor", std::int64_t{4});
  expect_numbers(run_op(Op::kAvgPool, {x}, attrs), {0.5, 2.5});
}

}  // namespace
}  // namespace tilewright::testing
