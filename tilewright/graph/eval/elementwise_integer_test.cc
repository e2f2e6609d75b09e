#include "tilewright/graph/eval/one_op.h"

namespace tilewright::testing {
namespace {

std::int64_t on(DType dtype, Op op, std::int64_t a, std::int64_t b) {
  const Tensor left = store(dtype, {}, Elements<std::int64_t>{a});
  const Tensor right = store(dtype, {}, Elements<std::int64_t>{b});
  return load<std::int64_t>(run_op(op, {left, right}))[0];
}
std::int64_t on(DType dtype, Op op, std::int64_t x) {
  return load<std::int64_t>(run_op(op, {store(dtype, {}, Elements<std::int64_t>{x})}))[0];
}

TEST(EvalInteger, AdditionWrapsAtEveryWidth) {
  EXPECT_EQ(on(DType::kI8, Op::kAdd, 127, 1), -128);
  EXPECT_EQ(on(DType::kU8, Op::kAdd, 255, 1), 0);
  EXPECT_EQ(on(DType::kI16, Op::kSub, -32768, 1), 32767);
  EXPECT_EQ(on(DType::kI32, Op::kMul, 65536, 65536), 0);
  EXPECT_EQ(on(DType::kI64, Op::kAdd, INT64_MAX, 1), INT64_MIN);
  EXPECT_EQ(on(DType::kI64, Op::kMul, INT64_MAX, 2), -2);
}

TEST(EvalInteger, SmallestIntegerNegatesToItself) {
  EXPECT_EQ(on(DType::kI8, Op::kNeg, -128), -128);
  EXPECT_EQ(on(DType::kI64, Op::kAbs, INT64_MIN), INT64_MIN);
  EXPECT_EQ(on(DType::kI64, Op::kFloorDiv, INT64_MIN, -1), INT64_MIN);
  EXPECT_EQ(on(DType::kI64, Op::kRem, INT64_MIN, -1), 0);
}

TEST(EvalInteger, DivisionByZeroIsZero) {
  for (const Op op : {Op::kFloorDiv, Op::kTruncDiv, Op::kMod, Op::kRem}) EXPECT_EQ(on(DType::kI32, op, 7, 0), 0);
}

TEST(EvalInteger, FloorDivisionOfNegatives) {
  EXPECT_EQ(on(DType::kI32, Op::kFloorDiv, -7, 2), -4);
  EXPECT_EQ(on(DType::kI32, Op::kFloorDiv, 7, -2), -4);
  EXPECT_EQ(on(DType::kI32, Op::kFloorDiv, -7, -2), 3);
  EXPECT_EQ(on(DType::kI32, Op::kTruncDiv, -7, 2), -3);
}

TEST(EvalInteger, RemainderHasTheSignOfItsRule) {
  EXPECT_EQ(on(DType::kI32, Op::kMod, -7, 3), 2);
  EXPECT_EQ(on(DType::kI32, Op::kMod, 7, -3), -2);
  EXPECT_EQ(on(DType::kI32, Op::kRem, -7, 3), -1);
  EXPECT_EQ(on(DType::kI32, Op::kRem, 7, -3), 1);
}

TEST(EvalInteger, PowerWithNegativeExponents) {
  EXPECT_EQ(on(DType::kI32, Op::kPow, 3, 4), 81);
  EXPECT_EQ(on(DType::kI32, Op::kPow, 0, 0), 1);
  EXPECT_EQ(on(DType::kI32, Op::kPow, 1, -5), 1);
  EXPECT_EQ(on(DType::kI32, Op::kPow, -1, -5), -1);
  EXPECT_EQ(on(DType::kI32, Op::kPow, -1, -4), 1);
  EXPECT_EQ(on(DType::kI32, Op::kPow, 2, -1), 0);
  EXPECT_EQ(on(DType::kI8, Op::kPow, 2, 9), 0);
}

TEST(EvalInteger, ShiftsBeyondTheWidth) {
  EXPECT_EQ(on(DType::kI32, Op::kShiftLeft, 1, 31), INT32_MIN);
  EXPECT_EQ(on(DType::kI32, Op::kShiftLeft, 1, 32), 0);
  EXPECT_EQ(on(DType::kI64, Op::kShiftLeft, 1, -1), 0);
  EXPECT_EQ(on(DType::kI32, Op::kShiftRight, -8, 1), -4);
  EXPECT_EQ(on(DType::kI32, Op::kShiftRight, -8, 100), -1);
  EXPECT_EQ(on(DType::kU8, Op::kShiftRight, 200, 9), 0);
}

TEST(EvalInteger, BitsOfIntegers) {
  EXPECT_EQ(on(DType::kU8, Op::kBitAnd, 12, 10), 8);
  EXPECT_EQ(on(DType::kU8, Op::kBitOr, 12, 10), 14);
  EXPECT_EQ(on(DType::kU8, Op::kBitXor, 12, 10), 6);
  EXPECT_EQ(on(DType::kU8, Op::kBitNot, 12), 243);
  EXPECT_EQ(on(DType::kI8, Op::kBitNot, 12), -13);
}

TEST(EvalInteger, BoolAddIsOrAndMulIsAnd) {
  EXPECT_EQ(on(DType::kBool, Op::kAdd, 1, 1), 1);
  EXPECT_EQ(on(DType::kBool, Op::kMul, 1, 0), 0);
  EXPECT_EQ(on(DType::kBool, Op::kBitXor, 1, 1), 0);
  EXPECT_EQ(on(DType::kBool, Op::kBitNot, 1), 0);
}

TEST(EvalInteger, SignReluMaxMin) {
  EXPECT_EQ(on(DType::kI16, Op::kSign, -5), -1);
  EXPECT_EQ(on(DType::kI16, Op::kRelu, -5), 0);
  EXPECT_EQ(on(DType::kI16, Op::kRound, -5), -5);
  EXPECT_EQ(on(DType::kU8, Op::kMax, 200, 100), 200);
  EXPECT_EQ(on(DType::kI8, Op::kMin, -100, 100), -100);
}

TEST(EvalInteger, ComparisonsSeeWholeI64) {
  EXPECT_EQ(on(DType::kI64, Op::kEq, INT64_MAX, INT64_MAX - 1), 0);
  EXPECT_EQ(on(DType::kI64, Op::kLt, INT64_MAX - 1, INT64_MAX), 1);
}

}  // namespace
}  // namespace tilewright::testing
