// Result types of elementwise, create and movement ops: text in, types out.
#include "tilewright/graph/testing.h"

namespace tilewright {
namespace {

TEST(InferElementwise, KeepsTheType) {
  EXPECT_EQ(result_types("x: f16[B, 3]  y = neg(x)  return y"), "f16[B, 3]");
}
TEST(InferElementwise, TranscendentalsTakeFloats) {
  expect_error("x: i64[B]  y = exp(x)  return y", "'y' = exp: a floating-point dtype is needed: i64[B]");
}
TEST(InferElementwise, PredicatesGiveBool) {
  EXPECT_EQ(result_types("x: f32[B]  y = is_nan(x)  return y"), "bool[B]");
}
TEST(InferElementwise, ComparisonsGiveBool) {
  EXPECT_EQ(result_types("x: f32[B]  z: f32[]  y = lt(x, z)  return y"), "bool[B]");
}
TEST(InferElementwise, CastChangesTheDtype) {
  EXPECT_EQ(result_types("x: f32[B]  y = cast(x) dtype=i32\n return y"), "i32[B]");
}
TEST(InferElementwise, BitsOfFloatsAreAnError) {
  expect_error("x: f32[2]  y = bit_and(x, x)  return y", "'y' = bit_and: an integer or bool dtype is needed: f32[2]");
}
TEST(InferElementwise, BitcastKeepsTheSize) {
  EXPECT_EQ(result_types("x: f32[B]  y = bitcast(x) dtype=i32\n return y"), "i32[B]");
  expect_error("x: f32[B]  y = bitcast(x) dtype=i64\n return y", "'y' = bitcast: sizes differ: f32[B] as i64");
}

TEST(InferBroadcast, AlignsAtTheLastAxis) {
  EXPECT_EQ(result_types("x: f32[B, 64]  w: f32[64]  y = add(x, w)  return y"), "f32[B, 64]");
}
TEST(InferBroadcast, OneGivesWay) {
  EXPECT_EQ(result_types("x: f32[B, 1]  w: f32[1, S]  y = mul(x, w)  return y"), "f32[B, S]");
}
TEST(InferBroadcast, UnknownSizesAreDecidedLater) {
  EXPECT_EQ(result_types("x: f32[a]  w: f32[b]  y = add(x, w)  return y"), "f32[broadcast(a, b)]");
}
TEST(InferBroadcast, ASizeThatIsNotOneDecides) {
  EXPECT_EQ(result_types("x: f32[s0]  w: f32[8]  y = add(x, w)  return y"), "f32[8]");
  EXPECT_EQ(result_types("fact a in [2, 9]  x: f32[a]  w: f32[b]  y = add(w, x)  return y"), "f32[a]");
}
TEST(InferBroadcast, EqualFactsMakeOneSize) {
  EXPECT_EQ(result_types("fact a == b\n x: f32[a]  w: f32[b]  y = add(x, w)  return y"), "f32[a]");
}
TEST(InferBroadcast, NamesBothShapes) {
  expect_error("x: f32[B, 64]  w: f32[32]  y = add(x, w)  return y",
               "'y' = add: shapes do not broadcast: f32[B, 64] x f32[32]");
}
TEST(InferBroadcast, ZeroIsAnOrdinarySize) {
  EXPECT_EQ(result_types("x: f32[0, 3]  w: f32[1, 3]  y = add(x, w)  return y"), "f32[0, 3]");
  expect_error("x: f32[0]  w: f32[3]  y = add(x, w)  return y", "'y' = add: shapes do not broadcast: f32[0] x f32[3]");
}
TEST(InferBroadcast, DtypesMustBeEqual) {
  expect_error("x: f32[2]  w: i64[2]  y = add(x, w)  return y", "'y' = add: dtypes differ: f32[2] x i64[2]");
}
TEST(InferSelect, BroadcastsThree) {
  EXPECT_EQ(result_types("c: bool[B, 1]  a: f32[]  b: f32[7]  y = select(c, a, b)  return y"), "f32[B, 7]");
}
TEST(InferSelect, TheConditionIsBool) {
  expect_error("c: f32[2]  y = select(c, c, c)  return y", "'y' = select: the condition must be bool: f32[2]");
}

TEST(InferCreate, ConstantHasTheTypeOfItsValue) {
  EXPECT_EQ(result_types("y = constant() value=i8[2, 1]{3, -4}\n return y"), "i8[2, 1]");
}
TEST(InferCreate, IotaTakesSymbolicSizes) {
  EXPECT_EQ(result_types("scalar n  y = iota() dtype=i64 shape=[n, 2*n] axis=1 start=n\n return y"), "i64[n, 2*n]");
}
TEST(InferCreate, IotaRefusesNegativeSizes) {
  expect_error("y = iota() dtype=i64 shape=[-2] axis=0\n return y", "'y' = iota: a size is negative: [-2]");
}
TEST(InferCreate, ScalarIsRankZero) {
  EXPECT_EQ(result_types("scalar %f0  y = scalar() dtype=f32 value=%f0\n return y"), "f32[]");
}
TEST(InferRandom, ChecksItsKeyAndDtype) {
  EXPECT_EQ(result_types("k: i64[2]  scalar n  y = random(k) dtype=f32 shape=[n]\n return y"), "f32[n]");
  expect_error("k: i64[3]  y = random(k) dtype=f32 shape=[1]\n return y",
               "'y' = random: the key must be i64[2]: i64[3]");
  expect_error("k: i64[2]  y = random(k) dtype=f32 shape=[1] distribution=bits\n return y",
               "'y' = random: 'bits' gives i32 or i64: f32[1]");
  expect_error("k: i64[2]  y = random(k) dtype=f32 shape=[1] distribution=cauchy\n return y",
               "'y' = random: 'distribution' must be one of uniform, normal, bits: 'cauchy' given");
}

TEST(InferReshape, CountsElementsSymbolically) {
  EXPECT_EQ(result_types("x: f32[B, 12]  y = reshape(x) shape=[B, 3, 4]\n return y"), "f32[B, 3, 4]");
  EXPECT_EQ(result_types("x: f32[B, S, 8]  y = reshape(x) shape=[B*S, 8]\n return y"), "f32[B*S, 8]");
}
TEST(InferReshape, UnknownCountsPass) {
  EXPECT_EQ(result_types("x: f32[B]  scalar n  y = reshape(x) shape=[n, 4]\n return y"), "f32[n, 4]");
}
TEST(InferReshape, ProvablyDifferentCountsAreAnError) {
  expect_error("x: f32[6, 2]  y = reshape(x) shape=[5, 2]\n return y",
               "'y' = reshape: element counts differ: f32[6, 2] to [5, 2]");
}
TEST(InferTranspose, PermutesAxes) {
  EXPECT_EQ(result_types("x: f32[a, b, c]  y = transpose(x) perm=[2,0,1]\n return y"), "f32[c, a, b]");
}
TEST(InferTranspose, ThePermutationIsOne) {
  expect_error("x: f32[a, b]  y = transpose(x) perm=[0,0]\n return y", "'y' = transpose: axis 0 is given twice");
  expect_error("x: f32[a, b]  y = transpose(x) perm=[0]\n return y",
               "'y' = transpose: 'perm' must have 2 entries: 1 given");
  expect_error("x: f32[a, b]  y = transpose(x) perm=[0,2]\n return y",
               "'y' = transpose: axis 2 is out of range: f32[a, b] has rank 2");
}
TEST(InferExpand, GivesTheShape) {
  EXPECT_EQ(result_types("x: f32[1, 4]  scalar n  y = expand(x) shape=[n, 7, 4]\n return y"), "f32[n, 7, 4]");
  expect_error("x: f32[3]  y = expand(x) shape=[4]\n return y", "'y' = expand: f32[3] does not broadcast to [4]");
  expect_error("x: f32[3, 4]  y = expand(x) shape=[4]\n return y", "'y' = expand: f32[3, 4] does not broadcast to [4]");
}
TEST(InferSlice, SizesWithSteps) {
  EXPECT_EQ(result_types("x: f32[10, B]  y = slice(x) start=[1, 0] stop=[10, B] step=[4,1]\n return y"), "f32[3, B]");
}
TEST(InferSlice, OutsideIsAnError) {
  expect_error("x: f32[10]  y = slice(x) start=[1] stop=[11] step=[1]\n return y",
               "'y' = slice: slice 1:11 does not lie in axis 0 of f32[10]");
  expect_error("x: f32[10]  y = slice(x) start=[5] stop=[4] step=[1]\n return y",
               "'y' = slice: slice 5:4 does not lie in axis 0 of f32[10]");
  expect_error("x: f32[10]  y = slice(x) start=[0] stop=[4] step=[0]\n return y",
               "'y' = slice: step 0 of axis 0 is below 1");
}
TEST(InferSlice, AFloatIsNoPosition) {
  expect_error("x: f32[10]  scalar %f  y = slice(x) start=[%f] stop=[10] step=[1]\n return y",
               "'y' = slice: an integer is needed: [%f]");
}
TEST(InferPad, AddsBothEnds) {
  EXPECT_EQ(result_types("x: f32[B, 3]  y = pad(x) low=[1, 0] high=[2, 4]\n return y"), "f32[B + 3, 7]");
}
TEST(InferPad, NegativePadsCrop) {
  EXPECT_EQ(result_types("x: f32[6]  y = pad(x) low=[-1] high=[-2]\n return y"), "f32[3]");
  expect_error("x: f32[6]  y = pad(x) low=[-4] high=[-3]\n return y", "'y' = pad: a size is negative: [-1]");
}
TEST(InferPad, ReflectionNeedsElements) {
  expect_error("x: f32[3]  y = pad(x) low=[3] high=[0] mode=reflect\n return y",
               "'y' = pad: a 'reflect' pad of 3 does not fit axis 0 of f32[3]");
  EXPECT_EQ(result_types("x: f32[3]  y = pad(x) low=[3] high=[0] mode=circular\n return y"), "f32[6]");
}
TEST(InferPad, OnlyConstantTakesAValue) {
  expect_error("x: f32[3]  v: f32[]  y = pad(x, v) low=[1] high=[0] mode=replicate\n return y",
               "'y' = pad: mode 'replicate' takes no pad value");
}
TEST(InferConcat, AddsSizes) {
  EXPECT_EQ(result_types("x: f32[a, 4]  z: f32[b, 4]  y = concat(x, z, x) axis=0\n return y"), "f32[2*a + b, 4]");
}
TEST(InferConcat, TheNumberWinsOverTheSymbol) {
  EXPECT_EQ(result_types("x: f32[2, n]  z: f32[3, 4]  y = concat(x, z) axis=0\n return y"), "f32[5, 4]");
}
TEST(InferConcat, OtherAxesAgree) {
  expect_error("x: f32[2, 5]  z: f32[3, 4]  y = concat(x, z) axis=0\n return y",
               "'y' = concat: shapes differ in more than axis 0: f32[2, 5] x f32[3, 4]");
}
TEST(InferFlip, AxesExist) {
  expect_error("x: f32[2]  y = flip(x) axes=[1]\n return y", "'y' = flip: axis 1 is out of range: f32[2] has rank 1");
}
TEST(InferRoll, OneShiftPerAxis) {
  expect_error("x: f32[2, 2]  y = roll(x) axes=[0,1] shift=[1]\n return y",
               "'y' = roll: 'shift' must have 2 entries: 1 given");
}

}  // namespace
}  // namespace tilewright
