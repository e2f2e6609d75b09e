#include <cmath>

#include "tilewright/graph/eval/one_op.h"

namespace tilewright::testing {
namespace {

Tensor unary(Op op, const Numbers& x) {
  return run_op(op, {f64({static_cast<std::int64_t>(x.size())}, x)});
}
Tensor binary(Op op, const Numbers& a, const Numbers& b) {
  const auto size = static_cast<std::int64_t>(a.size());
  return run_op(op, {f64({size}, a), f64({size}, b)});
}

TEST(EvalFloat, RoundGoesToEven) {
  expect_numbers(unary(Op::kRound, {0.5, 1.5, 2.5, -0.5, -1.5}), {0, 2, 2, 0, -2});
}

TEST(EvalFloat, CeilFloorTruncOfNegatives) {
  expect_numbers(unary(Op::kCeil, {-1.5}), {-1});
  expect_numbers(unary(Op::kFloor, {-1.5}), {-2});
  expect_numbers(unary(Op::kTrunc, {-1.5}), {-1});
}

TEST(EvalFloat, SignKeepsNan) {
  expect_numbers(unary(Op::kSign, {-3, 0, 7, kNan}), {-1, 0, 1, kNan});
}

TEST(EvalFloat, ReluKeepsNan) {
  expect_numbers(unary(Op::kRelu, {-3, 0, 7, kNan}), {0, 0, 7, kNan});
}

TEST(EvalFloat, SigmoidReachesItsLimits) {
  expect_numbers(unary(Op::kSigmoid, {-kInf, -1000, 0, 1000, kInf}), {0, 0, 0.5, 1, 1});
}

TEST(EvalFloat, EveryFunctionOfOneHalf) {
  const double x = 0.5;
  const std::pair<Op, double> cases[] = {{Op::kNeg, -x},
                                         {Op::kAbs, x},
                                         {Op::kSqrt, 0.70710678118654752},
                                         {Op::kRsqrt, 1.4142135623730950},
                                         {Op::kReciprocal, 2},
                                         {Op::kExp, 1.6487212707001282},
                                         {Op::kExp2, 1.4142135623730950},
                                         {Op::kExpm1, 0.64872127070012815},
                                         {Op::kLog, -0.69314718055994531},
                                         {Op::kLog2, -1},
                                         {Op::kLog10, -0.30102999566398120},
                                         {Op::kLog1p, 0.40546510810816438},
                                         {Op::kSin, 0.47942553860420300},
                                         {Op::kCos, 0.87758256189037272},
                                         {Op::kTan, 0.54630248984379051},
                                         {Op::kAsin, 0.52359877559829887},
                                         {Op::kAcos, 1.0471975511965977},
                                         {Op::kAtan, 0.46364760900080612},
                                         {Op::kSinh, 0.52109530549374736},
                                         {Op::kCosh, 1.1276259652063807},
                                         {Op::kTanh, 0.46211715726000976},
                                         {Op::kAsinh, 0.48121182505960345},
                                         {Op::kAtanh, 0.54930614433405485},
                                         {Op::kErf, 0.52049987781304654},
                                         {Op::kErfc, 0.47950012218695346},
                                         {Op::kErfinv, 0.47693627620446987},
                                         {Op::kLgamma, 0.57236494292470009},
                                         {Op::kDigamma, -1.9635100260214235},
                                         {Op::kSigmoid, 0.62245933120185456}};
  for (const auto& [op, expected] : cases) {
    SCOPED_TRACE(info(op).text);
    expect_numbers(unary(op, {x}), {expected}, 1e-15);
  }
  expect_numbers(unary(Op::kAcosh, {1.5}), {0.96242365011920690}, 1e-15);
}

TEST(EvalFloat, EveryFunctionOfTwo) {
  const std::tuple<Op, double, double, double> cases[] = {{Op::kAdd, 2, 3, 5},
                                                          {Op::kSub, 2, 3, -1},
                                                          {Op::kMul, 2, 3, 6},
                                                          {Op::kDiv, 3, 2, 1.5},
                                                          {Op::kFloorDiv, -7, 2, -4},
                                                          {Op::kTruncDiv, -7, 2, -3},
                                                          {Op::kMod, -7, 2, 1},
                                                          {Op::kMod, 7, -2, -1},
                                                          {Op::kRem, -7, 2, -1},
                                                          {Op::kPow, 2, 10, 1024},
                                                          {Op::kAtan2, 1, -1, 2.3561944901923449},
                                                          {Op::kHypot, 3, 4, 5},
                                                          {Op::kCopySign, 3, -0.0, -3},
                                                          {Op::kDiv, 1, 0, kInf},
                                                          {Op::kPow, 0, 0, 1}};
  for (const auto& [op, a, b, expected] : cases) {
    SCOPED_TRACE(info(op).text);
    expect_numbers(binary(op, {a}, {b}), {expected}, 1e-15);
  }
}

TEST(EvalFloat, MaxGivesNanAndFmaxTheOther) {
  expect_numbers(binary(Op::kMax, {kNan, 1, 1}, {1, kNan, 2}), {kNan, kNan, 2});
  expect_numbers(binary(Op::kMin, {kNan, 1, 1}, {1, kNan, 2}), {kNan, kNan, 1});
  expect_numbers(binary(Op::kFmax, {kNan, 1, 1}, {1, kNan, 2}), {1, 1, 2});
  expect_numbers(binary(Op::kFmin, {kNan, 1, 1}, {1, kNan, 2}), {1, 1, 1});
}

TEST(EvalFloat, ComparisonsWithNanAreFalseExceptNe) {
  const Tensor a = f32({2}, {kNan, 1});
  const Tensor b = f32({2}, {1, 1});
  expect_numbers(run_op(Op::kEq, {a, b}), {0, 1});
  expect_numbers(run_op(Op::kNe, {a, b}), {1, 0});
  expect_numbers(run_op(Op::kLt, {a, b}), {0, 0});
  expect_numbers(run_op(Op::kLe, {a, b}), {0, 1});
  expect_numbers(run_op(Op::kGt, {a, b}), {0, 0});
  expect_numbers(run_op(Op::kGe, {a, b}), {0, 1});
}

TEST(EvalFloat, PredicatesTellNanInfAndFinite) {
  const Numbers x{0, kNan, -kInf, 2};
  expect_numbers(unary(Op::kIsNan, x), {0, 1, 0, 0});
  expect_numbers(unary(Op::kIsInf, x), {0, 0, 1, 0});
  expect_numbers(unary(Op::kIsFinite, x), {1, 0, 0, 1});
  expect_numbers(unary(Op::kLogicalNot, x), {1, 0, 0, 0});
}

TEST(EvalFloat, NextAfterStepsInTheDtype) {
  const auto step = [](DType dtype, double a, double b) {
    return numbers(run_op(Op::kNextAfter, {tensor(dtype, {}, {a}), tensor(dtype, {}, {b})}))[0];
  };
  EXPECT_EQ(step(DType::kF32, 1, 2), 1 + 0x1p-23);
  EXPECT_EQ(step(DType::kF16, 1, 2), 1 + 0x1p-10);
  EXPECT_EQ(step(DType::kBF16, -1, 0), -1 + 0x1p-8);
  EXPECT_EQ(step(DType::kF16, 0, -1), -0x1p-24);
  EXPECT_EQ(step(DType::kF64, 1, 1), 1);
}

TEST(EvalFloat, HalfRoundsAfterEveryOp) {
  const Tensor large = tensor(DType::kF16, {}, {2048});
  const Tensor one = tensor(DType::kF16, {}, {1});
  expect_numbers(run_op(Op::kAdd, {large, one}), {2048});
  expect_numbers(run_op(Op::kMul, {large, large}), {kInf});
  expect_numbers(run_op(Op::kAdd, {tensor(DType::kBF16, {}, {256}), tensor(DType::kBF16, {}, {1})}), {256});
}

TEST(EvalFloat, SingleEqualsArithmeticInFloat) {
  const float a = 1.1f;
  const float b = 3.3f;
  EXPECT_EQ(numbers(run_op(Op::kDiv, {f32({}, {a}), f32({}, {b})}))[0], a / b);
  EXPECT_EQ(numbers(run_op(Op::kMul, {f32({}, {a}), f32({}, {b})}))[0], a * b);
}

TEST(EvalFloat, InputsBroadcast) {
  expect_numbers(run_op(Op::kAdd, {f32({2, 1}, {10, 20}), f32({3}, {1, 2, 3})}), {11, 12, 13, 21, 22, 23});
}

TEST(EvalFloat, OneBroadcastsToNothing) {
  const Tensor out = run_op(Op::kAdd, {f32({0, 3}, {}), f32({1, 3}, {1, 2, 3})});
  EXPECT_EQ(sizes_of(out), (Ints{0, 3}));
}

TEST(EvalFloat, SizesThatDoNotBroadcastAreNamed) {
  EXPECT_EQ(error_text(try_op_unseen(Op::kAdd, {f32({2}, {1, 2}), f32({3}, {1, 2, 3})})),
            "'y' = add: sizes do not broadcast at axis 0: 2 and 3");
}

TEST(EvalFloat, SelectTakesElements) {
  expect_numbers(run_op(Op::kSelect, {boolean({2}, {1, 0}), f32({2}, {1, 2}), f32({}, {9})}), {1, 9});
}

TEST(EvalFloat, StridedInputsReadTheirElements) {
  const Tensor rows = f32({2, 3}, {1, 2, 3, 4, 5, 6});
  const Tensor columns(DType::kF32, {3, 2}, {1, 3}, rows.data(), rows.owner());
  expect_numbers(run_op(Op::kNeg, {columns}), {-1, -4, -2, -5, -3, -6});
}

TEST(EvalCast, FloatToIntegerTruncates) {
  expect_numbers(run_op(Op::kCast, {f32({3}, {-1.9, 1.9, 300})}, {{"dtype", DType::kU8}}), {255, 1, 44});
}

TEST(EvalCast, ToBoolIsNotZero) {
  expect_numbers(run_op(Op::kCast, {f32({4}, {0, 0.1, kNan, -0.0})}, {{"dtype", DType::kBool}}), {0, 1, 1, 0});
  expect_numbers(run_op(Op::kCast, {i64({2}, {256, 0})}, {{"dtype", DType::kBool}}), {1, 0});
}

TEST(EvalCast, NarrowingIntegersWrap) {
  expect_numbers(run_op(Op::kCast, {i64({3}, {128, -129, 256})}, {{"dtype", DType::kI8}}), {-128, 127, 0});
}

TEST(EvalCast, IntegerToFloatRoundsOnce) {
  const Tensor x =
      store(DType::kI64, {}, Elements<std::int64_t>{(std::int64_t{1} << 54) + (std::int64_t{1} << 30) + 1});
  EXPECT_EQ(numbers(run_op(Op::kCast, {x}, {{"dtype", DType::kF32}}))[0], 0x1p54 + 0x1p31);
}

TEST(EvalCast, BoolBecomesOne) {
  expect_numbers(run_op(Op::kCast, {boolean({2}, {1, 0})}, {{"dtype", DType::kF16}}), {1, 0});
}

}  // namespace
}  // namespace tilewright::testing
