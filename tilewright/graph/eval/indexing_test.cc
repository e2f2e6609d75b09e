#include "tilewright/graph/eval/one_op.h"

namespace tilewright::testing {
namespace {

const Tensor kX = f32({2, 3}, {1, 2, 3, 4, 5, 6});

TEST(EvalIndexing, GatherReplacesItsAxis) {
  const Tensor out = run_op(Op::kGather, {kX, i64({2, 2}, {0, -1, 1, 1})}, {{"axis", 1}});
  EXPECT_EQ(sizes_of(out), (Ints{2, 2, 2}));
  expect_numbers(out, {1, 3, 2, 2, 4, 6, 5, 5});
}

TEST(EvalIndexing, GatherWithI32AndAScalarIndex) {
  const Tensor out = run_op(Op::kGather, {kX, tensor(DType::kI32, {}, {1})}, {{"axis", 0}});
  EXPECT_EQ(sizes_of(out), (Ints{3}));
  expect_numbers(out, {4, 5, 6});
}

TEST(EvalIndexing, OutOfRangeNamesNodeValueAxisAndSize) {
  EXPECT_EQ(error_text(try_op(Op::kGather, {kX, i64({1}, {3})}, {{"axis", 1}})),
            "'y' = gather: index 3 is out of range for axis 1 of size 3");
  EXPECT_EQ(error_text(try_op(Op::kGather, {kX, i64({1}, {-3})}, {{"axis", 0}})),
            "'y' = gather: index -3 is out of range for axis 0 of size 2");
}

TEST(EvalIndexing, GatherOfNothingFromNothing) {
  EXPECT_EQ(run_op(Op::kGather, {f32({0, 3}, {}), i64({0}, {})}, {{"axis", 0}}).count(), 0);
}

TEST(EvalIndexing, GatherElementsOfAShorterIndex) {
  const Tensor out = run_op(Op::kGatherElements, {kX, i64({1, 2}, {2, -3})}, {{"axis", 1}});
  EXPECT_EQ(sizes_of(out), (Ints{1, 2}));
  expect_numbers(out, {3, 1});
}

TEST(EvalIndexing, AdjacentIndicesStayInPlace) {
  const Tensor x = f32({1, 2, 3}, {1, 2, 3, 4, 5, 6});
  const Tensor out = run_op(Op::kIndex, {x, i64({2}, {0, 1}), i64({2}, {2, 0})}, {{"axes", Ints{1, 2}}});
  EXPECT_EQ(sizes_of(out), (Ints{1, 2}));
  expect_numbers(out, {3, 4});
}

TEST(EvalIndexing, SeparatedIndicesGoInFront) {
  const Tensor x = f32({2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8});
  const Tensor out = run_op(Op::kIndex, {x, i64({3}, {0, 1, 1}), i64({3}, {1, 0, 1})}, {{"axes", Ints{0, 2}}});
  EXPECT_EQ(sizes_of(out), (Ints{3, 2}));
  expect_numbers(out, {2, 4, 5, 7, 6, 8});
}

TEST(EvalIndexing, IndicesBroadcastTogether) {
  const Tensor out = run_op(Op::kIndex, {kX, i64({2, 1}, {0, 1}), i64({2}, {0, 2})}, {{"axes", Ints{0, 1}}});
  EXPECT_EQ(sizes_of(out), (Ints{2, 2}));
  expect_numbers(out, {1, 3, 4, 6});
}

TEST(EvalIndexing, IndexPutLastOfEqualPositionsWins) {
  const Tensor out =
      run_op(Op::kIndexPut, {f32({3}, {1, 2, 3}), f32({3}, {7, 8, 9}), i64({3}, {0, -1, 0})}, {{"axes", Ints{0}}});
  expect_numbers(out, {9, 2, 8});
}

TEST(EvalIndexing, IndexPutAccumulatesAndBroadcastsValues) {
  const Tensor out =
      run_op(Op::kIndexPut, {kX, f32({}, {10}), i64({3}, {1, 1, 0})}, {{"axes", Ints{0}}, {"accumulate", true}});
  expect_numbers(out, {11, 12, 13, 24, 25, 26});
}

Numbers scattered(std::string reduce) {
  return numbers(run_op(Op::kScatterElements, {f32({3}, {1, 2, 3}), i64({3}, {0, 2, 0}), f32({3}, {5, -4, 6})},
                        {{"axis", 0}, {"reduce", reduce}}));
}

TEST(EvalIndexing, ScatterElementsReductions) {
  EXPECT_EQ(scattered("none"), (Numbers{6, 2, -4}));
  EXPECT_EQ(scattered("add"), (Numbers{12, 2, -1}));
  EXPECT_EQ(scattered("mul"), (Numbers{30, 2, -12}));
  EXPECT_EQ(scattered("min"), (Numbers{1, 2, -4}));
  EXPECT_EQ(scattered("max"), (Numbers{6, 2, 3}));
  EXPECT_EQ(scattered("mean"), (Numbers{4, 2, -0.5}));
}

TEST(EvalIndexing, ScatterMeanOfIntegersFloors) {
  const Tensor out = run_op(Op::kScatterElements, {i64({1}, {-2}), i64({1}, {0}), i64({1}, {-1})},
                            {{"axis", 0}, {"reduce", std::string("mean")}});
  expect_numbers(out, {-2});
}

TEST(EvalIndexing, ScatterMaxKeepsNan) {
  const Tensor out = run_op(Op::kScatterElements, {f32({2}, {kNan, 1}), i64({2}, {0, 1}), f32({2}, {5, kNan})},
                            {{"axis", 0}, {"reduce", std::string("max")}});
  expect_numbers(out, {kNan, kNan});
}

TEST(EvalIndexing, UpdateSliceWithSteps) {
  const Attrs attrs{{"start", Dims{0, 0}}, {"step", Ints{1, 2}}};
  expect_numbers(run_op(Op::kUpdateSlice, {kX, f32({1, 2}, {8, 9})}, attrs), {8, 2, 9, 4, 5, 6});
}

TEST(EvalIndexing, UpdateSliceOutsideIsAnError) {
  const Attrs attrs{{"start", Dims{1}}, {"step", Ints{2}}};
  EXPECT_EQ(error_text(try_op_unseen(Op::kUpdateSlice, {f32({3}, {1, 2, 3}), f32({2}, {8, 9})}, attrs)),
            "'y' = update_slice: an update of 2 from 1 does not lie in axis 0 of size 3");
}

}  // namespace
}  // namespace tilewright::testing
