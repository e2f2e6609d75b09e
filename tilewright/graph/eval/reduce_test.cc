#include "tilewright/graph/eval/one_op.h"

namespace tilewright::testing {
namespace {

const Tensor kX = f32({2, 3}, {1, 2, 3, 4, 5, 6});

TEST(EvalReduce, SumOverEachAxisAndBoth) {
  expect_numbers(run_op(Op::kReduceSum, {kX}, {{"axes", Ints{0}}}), {5, 7, 9});
  expect_numbers(run_op(Op::kReduceSum, {kX}, {{"axes", Ints{1}}}), {6, 15});
  expect_numbers(run_op(Op::kReduceSum, {kX}, {{"axes", Ints{0, 1}}}), {21});
}

TEST(EvalReduce, KeepdimKeepsAnAxisOfOne) {
  EXPECT_EQ(sizes_of(run_op(Op::kReduceProd, {kX}, {{"axes", Ints{0}}, {"keepdim", true}})), (Ints{1, 3}));
}

TEST(EvalReduce, NothingGivesTheStartValue) {
  const Tensor empty = f32({0}, {});
  const Attrs attrs{{"axes", Ints{0}}};
  expect_numbers(run_op(Op::kReduceSum, {empty}, attrs), {0});
  expect_numbers(run_op(Op::kReduceProd, {empty}, attrs), {1});
  expect_numbers(run_op(Op::kReduceMax, {empty}, attrs), {-kInf});
  expect_numbers(run_op(Op::kReduceMin, {empty}, attrs), {kInf});
  expect_numbers(run_op(Op::kReduceMean, {empty}, attrs), {kNan});
  expect_numbers(run_op(Op::kLogSumExp, {empty}, attrs), {-kInf});
  expect_numbers(run_op(Op::kReduceMax, {tensor(DType::kI8, {0}, {})}, attrs), {-128});
  expect_numbers(run_op(Op::kReduceMin, {tensor(DType::kU8, {0}, {})}, attrs), {255});
  expect_numbers(run_op(Op::kReduceAny, {boolean({0}, {})}, attrs), {0});
  expect_numbers(run_op(Op::kReduceAll, {boolean({0}, {})}, attrs), {1});
}

TEST(EvalReduce, ExtremesKeepNan) {
  const Tensor x = f32({2, 2}, {1, kNan, 3, 2});
  expect_numbers(run_op(Op::kReduceMax, {x}, {{"axes", Ints{1}}}), {kNan, 3});
  expect_numbers(run_op(Op::kReduceMin, {x}, {{"axes", Ints{1}}}), {kNan, 2});
}

TEST(EvalReduce, AnyAndAll) {
  const Tensor x = boolean({2, 2}, {1, 0, 1, 1});
  expect_numbers(run_op(Op::kReduceAny, {x}, {{"axes", Ints{0}}}), {1, 1});
  expect_numbers(run_op(Op::kReduceAll, {x}, {{"axes", Ints{0}}}), {1, 0});
}

TEST(EvalReduce, IntegerSumsWrap) {
  expect_numbers(run_op(Op::kReduceSum, {tensor(DType::kU8, {3}, {200, 50, 10})}, {{"axes", Ints{0}}}), {4});
}

TEST(EvalReduce, SinglePrecisionSumsInDouble) {
  Numbers x(1001, 0x1p-24);
  x[0] = 1;
  EXPECT_EQ(numbers(run_op(Op::kReduceSum, {f32({1001}, x)}, {{"axes", Ints{0}}}))[0],
            static_cast<double>(static_cast<float>(1 + 1000 * 0x1p-24)));
}

TEST(EvalReduce, VarianceTakesTwoPasses) {
  const Tensor x = f32({4}, {1e6, 1e6 + 1, 1e6 + 2, 1e6 + 3});
  expect_numbers(run_op(Op::kVariance, {x}, {{"axes", Ints{0}}}), {5.0 / 3}, 1e-6);
  expect_numbers(run_op(Op::kVariance, {x}, {{"axes", Ints{0}}, {"correction", Dim(0)}}), {1.25}, 1e-6);
}

TEST(EvalReduce, VarianceOfOneElementIsNan) {
  expect_numbers(run_op(Op::kVariance, {f32({1}, {3})}, {{"axes", Ints{0}}}), {kNan});
}

TEST(EvalReduce, LogSumExpOfExtremes) {
  const Tensor x = f64({4, 2}, {1000, 1000, -kInf, -kInf, kInf, 1, kNan, 1});
  expect_numbers(run_op(Op::kLogSumExp, {x}, {{"axes", Ints{1}}}), {1000.6931471805599453, -kInf, kInf, kNan}, 1e-15);
}

TEST(EvalScan, CumSumForwardsBackwardsExclusive) {
  expect_numbers(run_op(Op::kCumSum, {kX}, {{"axis", 1}}), {1, 3, 6, 4, 9, 15});
  expect_numbers(run_op(Op::kCumSum, {kX}, {{"axis", 1}, {"reverse", true}}), {6, 5, 3, 15, 11, 6});
  expect_numbers(run_op(Op::kCumSum, {kX}, {{"axis", 1}, {"exclusive", true}}), {0, 1, 3, 0, 4, 9});
  expect_numbers(run_op(Op::kCumProd, {kX}, {{"axis", 0}}), {1, 2, 3, 4, 10, 18});
}

TEST(EvalScan, CumMaxGivesTheLastOfEquals) {
  const auto out = checked(try_op(Op::kCumMax, {f32({5}, {1, 3, 3, 2, 4})}, {{"axis", 0}}));
  expect_numbers(out[0], {1, 3, 3, 3, 4});
  expect_numbers(out[1], {0, 1, 2, 2, 4});
}

TEST(EvalScan, CumMinKeepsNan) {
  const auto out = checked(try_op(Op::kCumMin, {f32({4}, {2, kNan, 1, kNan})}, {{"axis", 0}}));
  expect_numbers(out[0], {2, kNan, kNan, kNan});
  expect_numbers(out[1], {0, 1, 1, 3});
}

TEST(EvalOrder, ArgMaxOfTiesAndNan) {
  const Tensor x = f32({2, 4}, {1, 3, 3, 2, 1, kNan, 9, kNan});
  expect_numbers(run_op(Op::kArgMax, {x}, {{"axis", 1}}), {1, 1});
  expect_numbers(run_op(Op::kArgMax, {x}, {{"axis", 1}, {"last", true}}), {2, 3});
  expect_numbers(run_op(Op::kArgMin, {x}, {{"axis", 1}}), {0, 1});
  EXPECT_EQ(sizes_of(run_op(Op::kArgMin, {x}, {{"axis", 1}, {"keepdim", true}})), (Ints{2, 1}));
}

TEST(EvalOrder, ArgMaxOfNothingIsAnError) {
  EXPECT_EQ(error_text(try_op_unseen(Op::kArgMax, {f32({0}, {})}, {{"axis", 0}})),
            "'y' = argmax: axis 0 has no elements");
}

TEST(EvalOrder, SortIsStableAndPutsNanLast) {
  const Tensor x = f32({5}, {2, kNan, 1, 2, -0.0});
  const auto up = checked(try_op(Op::kSort, {x}, {{"axis", 0}}));
  expect_numbers(up[0], {0, 1, 2, 2, kNan});
  expect_numbers(up[1], {4, 2, 0, 3, 1});
  const auto down = checked(try_op(Op::kSort, {x}, {{"axis", 0}, {"descending", true}}));
  expect_numbers(down[0], {kNan, 2, 2, 1, 0});
  expect_numbers(down[1], {1, 0, 3, 2, 4});
}

TEST(EvalOrder, SortAlongAnOuterAxis) {
  const auto out = checked(try_op(Op::kSort, {i64({2, 2}, {3, 1, 2, 4})}, {{"axis", 0}}));
  expect_numbers(out[0], {2, 1, 3, 4});
  expect_numbers(out[1], {1, 0, 0, 1});
}

TEST(EvalOrder, TopKLargestAndSmallest) {
  const Tensor x = f32({2, 3}, {1, 3, 2, 5, 5, 4});
  const auto large = checked(try_op(Op::kTopK, {x}, {{"axis", 1}, {"k", Dim(2)}}));
  expect_numbers(large[0], {3, 2, 5, 5});
  expect_numbers(large[1], {1, 2, 0, 1});
  const auto small = checked(try_op(Op::kTopK, {x}, {{"axis", 1}, {"k", Dim(1)}, {"largest", false}}));
  expect_numbers(small[0], {1, 4});
  expect_numbers(small[1], {0, 2});
}

TEST(EvalOrder, TopKOfNothing) {
  EXPECT_EQ(checked(try_op(Op::kTopK, {f32({2, 0}, {})}, {{"axis", 1}, {"k", Dim(0)}}))[0].count(), 0);
}

TEST(EvalOrder, TopKBeyondTheAxisIsAnError) {
  EXPECT_EQ(error_text(try_op_unseen(Op::kTopK, {f32({2}, {1, 2})}, {{"axis", 0}, {"k", Dim(3)}})),
            "'y' = topk: k = 3 does not lie in axis 0 of size 2");
}

}  // namespace
}  // namespace tilewright::testing
