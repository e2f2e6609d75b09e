#include "tilewright/graph/eval/one_op.h"

namespace tilewright::testing {
namespace {

const Numbers kSix{1, 2, 3, 4, 5, 6};

TEST(EvalMovement, TransposeMovesAxes) {
  const Tensor out = run_op(Op::kTranspose, {f32({1, 2, 3}, kSix)}, {{"perm", Ints{2, 0, 1}}});
  EXPECT_EQ(sizes_of(out), (Ints{3, 1, 2}));
  expect_numbers(out, {1, 4, 2, 5, 3, 6});
}

TEST(EvalMovement, ReshapeKeepsOrder) {
  const Tensor out = run_op(Op::kReshape, {f32({2, 3}, kSix)}, {{"shape", Dims{3, 2}}});
  EXPECT_EQ(sizes_of(out), (Ints{3, 2}));
  expect_numbers(out, kSix);
}

TEST(EvalMovement, ReshapeToAnotherCountIsAnError) {
  EXPECT_EQ(error_text(try_op_unseen(Op::kReshape, {f32({2, 3}, kSix)}, {{"shape", Dims{4, 2}}})),
            "'y' = reshape: element counts differ: 6 and 8");
}

TEST(EvalMovement, ExpandRepeats) {
  expect_numbers(run_op(Op::kExpand, {f32({2, 1}, {1, 2})}, {{"shape", Dims{2, 2, 2}}}), {1, 1, 2, 2, 1, 1, 2, 2});
}

TEST(EvalMovement, SliceWithSteps) {
  const Attrs attrs{{"start", Dims{0, 1}}, {"stop", Dims{2, 4}}, {"step", Ints{1, 2}}};
  const Tensor out = run_op(Op::kSlice, {f32({2, 4}, {0, 1, 2, 3, 4, 5, 6, 7})}, attrs);
  EXPECT_EQ(sizes_of(out), (Ints{2, 2}));
  expect_numbers(out, {1, 3, 5, 7});
}

TEST(EvalMovement, SliceOfNothing) {
  const Attrs attrs{{"start", Dims{2}}, {"stop", Dims{2}}, {"step", Ints{3}}};
  EXPECT_EQ(run_op(Op::kSlice, {f32({2}, {1, 2})}, attrs).count(), 0);
}

TEST(EvalMovement, SliceWithAHugeStepTakesOne) {
  const Attrs attrs{{"start", Dims{1}}, {"stop", Dims{3}}, {"step", Ints{INT64_MAX - 2}}};
  expect_numbers(run_op(Op::kSlice, {f32({3}, {1, 2, 3})}, attrs), {2});
}

TEST(EvalMovement, SliceOutsideIsAnError) {
  const Attrs attrs{{"start", Dims{1}}, {"stop", Dims{4}}, {"step", Ints{1}}};
  EXPECT_EQ(error_text(try_op_unseen(Op::kSlice, {f32({3}, {1, 2, 3})}, attrs)),
            "'y' = slice: slice 1:4 does not lie in axis 0 of size 3");
}

Numbers padded(std::string mode, std::int64_t low, std::int64_t high) {
  return numbers(run_op(Op::kPad, {f32({3}, {1, 2, 3})}, {{"low", Dims{low}}, {"high", Dims{high}}, {"mode", mode}}));
}

TEST(EvalMovement, PadModes) {
  EXPECT_EQ(padded("constant", 1, 2), (Numbers{0, 1, 2, 3, 0, 0}));
  EXPECT_EQ(padded("reflect", 2, 2), (Numbers{3, 2, 1, 2, 3, 2, 1}));
  EXPECT_EQ(padded("replicate", 2, 1), (Numbers{1, 1, 1, 2, 3, 3}));
  EXPECT_EQ(padded("circular", 3, 1), (Numbers{1, 2, 3, 1, 2, 3, 1}));
}

TEST(EvalMovement, NegativePadCrops) {
  EXPECT_EQ(padded("constant", -1, 1), (Numbers{2, 3, 0}));
}

TEST(EvalMovement, PadWithAValue) {
  const Attrs attrs{{"low", Dims{1, 0}}, {"high", Dims{0, 1}}};
  expect_numbers(run_op(Op::kPad, {f32({1, 2}, {1, 2}), f32({}, {9})}, attrs), {9, 9, 9, 1, 2, 9});
}

TEST(EvalMovement, ReflectPadThatReachesTooFarIsAnError) {
  const Attrs attrs{{"low", Dims{3}}, {"high", Dims{0}}, {"mode", std::string("reflect")}};
  EXPECT_EQ(error_text(try_op_unseen(Op::kPad, {f32({3}, {1, 2, 3})}, attrs)),
            "'y' = pad: a 'reflect' pad of 3 does not fit axis 0 of size 3");
}

TEST(EvalMovement, ConcatWithAnEmptyPart) {
  const Tensor out =
      run_op(Op::kConcat, {f32({2, 1}, {1, 2}), f32({2, 0}, {}), f32({2, 2}, {3, 4, 5, 6})}, {{"axis", 1}});
  EXPECT_EQ(sizes_of(out), (Ints{2, 3}));
  expect_numbers(out, {1, 3, 4, 2, 5, 6});
}

TEST(EvalMovement, FlipSeveralAxes) {
  expect_numbers(run_op(Op::kFlip, {f32({2, 3}, kSix)}, {{"axes", Ints{0, 1}}}), {6, 5, 4, 3, 2, 1});
}

TEST(EvalMovement, RollWrapsAround) {
  const auto rolled = [](std::int64_t shift) {
    return numbers(run_op(Op::kRoll, {f32({2, 3}, kSix)}, {{"axes", Ints{1}}, {"shift", Dims{shift}}}));
  };
  EXPECT_EQ(rolled(1), (Numbers{3, 1, 2, 6, 4, 5}));
  EXPECT_EQ(rolled(-4), (Numbers{2, 3, 1, 5, 6, 4}));
  EXPECT_EQ(rolled(3), kSix);
}

TEST(EvalMovement, RollOfNothing) {
  EXPECT_EQ(run_op(Op::kRoll, {f32({0}, {})}, {{"axes", Ints{0}}, {"shift", Dims{5}}}).count(), 0);
}

TEST(EvalMovement, BitcastReadsTheSameBytes) {
  expect_numbers(run_op(Op::kBitcast, {f32({2}, {1, -0.0})}, {{"dtype", DType::kI32}}), {0x3f800000, -2147483648.0});
}

TEST(EvalMovement, NanPayloadsSurvive) {
  const Tensor x = store(DType::kI32, {1, 2}, Elements<std::int64_t>{0x7fc01234, 0x7f800001});
  const Tensor floats = run_op(Op::kBitcast, {x}, {{"dtype", DType::kF32}});
  const Tensor moved = run_op(Op::kTranspose, {floats}, {{"perm", Ints{1, 0}}});
  expect_numbers(run_op(Op::kBitcast, {moved}, {{"dtype", DType::kI32}}), {0x7fc01234, 0x7f800001});
}

TEST(EvalCreate, IotaCountsAlongItsAxis) {
  const Attrs attrs{{"dtype", DType::kI32}, {"shape", Dims{2, 3}}, {"axis", 1}, {"start", Dim(10)}, {"step", Dim(-2)}};
  expect_numbers(run_op(Op::kIota, {}, attrs), {10, 8, 6, 10, 8, 6});
}

TEST(EvalCreate, IotaOfFloats) {
  const Attrs attrs{
      {"dtype", DType::kF64}, {"shape", Dims{3}}, {"axis", 0}, {"start", Dim::real(0.5)}, {"step", Dim::real(0.25)}};
  expect_numbers(run_op(Op::kIota, {}, attrs), {0.5, 0.75, 1});
}

TEST(EvalCreate, IotaOfI8Wraps) {
  const Attrs attrs{{"dtype", DType::kI8}, {"shape", Dims{3}}, {"axis", 0}, {"start", Dim(127)}};
  expect_numbers(run_op(Op::kIota, {}, attrs), {127, -128, -127});
}

TEST(EvalCreate, ScalarAndConstant) {
  expect_numbers(run_op(Op::kScalar, {}, {{"dtype", DType::kF32}, {"value", Dim::real(0.1)}}), {0.1f});
  expect_numbers(run_op(Op::kScalar, {}, {{"dtype", DType::kBool}, {"value", Dim::real(0.1)}}), {1});
  expect_numbers(run_op(Op::kConstant, {}, {{"value", i64({2}, {3, 4})}}), {3, 4});
}

}  // namespace
}  // namespace tilewright::testing
