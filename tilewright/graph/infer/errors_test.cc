// Messages of infer that no other test reads: each rule refuses what is provably wrong and says the values.
#include "tilewright/graph/testing.h"

namespace tilewright {
namespace {

struct Case {
  std::string_view name, text, message;
};

std::string name_of(const testing::TestParamInfo<Case>& info) {
  return std::string(info.param.name);
}

class InferError : public testing::TestWithParam<Case> {};

TEST_P(InferError, NamesTheValues) {
  expect_error(GetParam().text, GetParam().message);
}

constexpr Case kWindows[] = {
    {"ConvStride",
     "x: f32[1, 2, 9]  w: f32[4, 2, 3]  y = conv(x, w) stride=[0] low=[0] high=[0] dilation=[1]\n return y",
     "'y' = conv: stride 0 is below 1"},
    {"ConvDilation",
     "x: f32[1, 2, 9]  w: f32[4, 2, 3]  y = conv(x, w) stride=[1] low=[0] high=[0] dilation=[0]\n return y",
     "'y' = conv: dilation 0 is below 1"},
    {"ConvGroups",
     "x: f32[1, 2, 9]  w: f32[4, 2, 3]  y = conv(x, w) stride=[1] low=[0] high=[0] dilation=[1] groups=0\n return y",
     "'y' = conv: groups 0 is below 1"},
    {"ConvPadKind",
     "scalar %f  x: f32[1, 2, 9]  w: f32[4, 2, 3]  y = conv(x, w) stride=[1] low=[%f] high=[0] dilation=[1]\n return y",
     "'y' = conv: an integer is needed: [%f]"},
    {"ConvRank",
     "x: f32[1, 2, 9, 9]  w: f32[4, 2, 3]  y = conv(x, w) stride=[1] low=[0] high=[0] dilation=[1]\n return y",
     "'y' = conv: x must have rank 3: f32[1, 2, 9, 9]"},
    {"ConvDtypes",
     "x: f32[1, 2, 9]  w: f16[4, 2, 3]  y = conv(x, w) stride=[1] low=[0] high=[0] dilation=[1]\n return y",
     "'y' = conv: dtypes differ: f32[1, 2, 9] x f16[4, 2, 3]"},
    {"ConvTransposeChannels",
     "x: f32[1, 2, 9]  w: f32[4, 2, 3]  y = conv_transpose(x, w) stride=[1] low=[0] high=[0] dilation=[1] "
     "output_pad=[0]\n return y",
     "'y' = conv_transpose: channels differ: f32[1, 2, 9] x f32[4, 2, 3]"},
    {"ConvTransposePads",
     "x: f32[1, 2, 1]  w: f32[2, 2, 1]  y = conv_transpose(x, w) stride=[1] low=[2] high=[0] dilation=[1] "
     "output_pad=[0]\n return y",
     "'y' = conv_transpose: a size is negative: [1, 2, -1]"},
    {"PoolOfIntegers", "x: i32[1, 2, 9]  y = avg_pool(x) window=[2] stride=[2] low=[0] high=[0]\n return y",
     "'y' = avg_pool: a floating-point dtype is needed: i32[1, 2, 9]"},
};
INSTANTIATE_TEST_SUITE_P(Windows, InferError, testing::ValuesIn(kWindows), name_of);

constexpr Case kComposites[] = {
    {"SoftmaxOfIntegers", "x: i32[2]  y = softmax(x) axis=0\n return y",
     "'y' = softmax: a floating-point dtype is needed: i32[2]"},
    {"NormDtypes", "x: f16[2]  w: f32[2]  y = rms_norm(x, w) num_axes=1 eps=0\n return y",
     "'y' = rms_norm: dtypes differ: f16[2] x f32[2]"},
    {"GroupNormGroups", "x: f32[2, 4]  y = group_norm(x) groups=0 eps=0\n return y",
     "'y' = group_norm: groups 0 is below 1"},
    {"GroupNormRank", "x: f32[2]  y = group_norm(x) groups=1 eps=0\n return y",
     "'y' = group_norm: x must have the axes [N, C, ..]: f32[2]"},
    {"AttentionRank", "q: f32[2, 3, 4]  y = attention(q, q, q) scale=1\n return y",
     "'y' = attention: each of q, k, v must have rank 4: f32[2, 3, 4]"},
    {"AttentionBatch", "q: f32[1, 2, 3, 4]  k: f32[2, 2, 3, 4]  y = attention(q, k, k) scale=1\n return y",
     "'y' = attention: batch sizes differ: f32[1, 2, 3, 4] x f32[2, 2, 3, 4] x f32[2, 2, 3, 4]"},
    {"AttentionWidth", "q: f32[1, 2, 3, 4]  k: f32[1, 2, 3, 5]  y = attention(q, k, k) scale=1\n return y",
     "'y' = attention: queries and keys differ in their last axis: f32[1, 2, 3, 4] x f32[1, 2, 3, 5]"},
};
INSTANTIATE_TEST_SUITE_P(Composites, InferError, testing::ValuesIn(kComposites), name_of);

constexpr Case kIndexing[] = {
    {"IotaBool", "y = iota() dtype=bool shape=[2] axis=0\n return y",
     "'y' = iota: positions have no bool form: bool[2]"},
    {"IotaAxis", "y = iota() dtype=i64 shape=[2] axis=1\n return y",
     "'y' = iota: axis 1 is out of range: i64[2] has rank 1"},
    {"GatherElementsRank", "x: f32[2, 3]  i: i64[2]  y = gather_elements(x, i) axis=0\n return y",
     "'y' = gather_elements: the index must have rank 2: i64[2]"},
    {"IndexBroadcast", "x: f32[2, 3]  i: i64[2]  j: i64[3]  y = index(x, i, j) axes=[0,1]\n return y",
     "'y' = index: shapes do not broadcast: i64[2] x i64[3]"},
    {"ScatterDtypes", "x: f32[2]  i: i64[2]  u: f64[2]  y = scatter_elements(x, i, u) axis=0\n return y",
     "'y' = scatter_elements: dtypes differ: f32[2] x f64[2]"},
    {"UpdateSliceRank", "x: f32[2, 3]  u: f32[2]  y = update_slice(x, u) start=[0, 0] step=[1,1]\n return y",
     "'y' = update_slice: the update must have rank 2: f32[2]"},
    {"UpdateSliceStart", "x: f32[4]  u: f32[2]  y = update_slice(x, u) start=[-1] step=[1]\n return y",
     "'y' = update_slice: an update of 2 from -1 does not lie in axis 0 of f32[4]"},
    {"UniqueRank", "x: f32[2, 2]  v, i, c = unique(x) count=u0\n return v",
     "'v' = unique: x must have rank 1: f32[2, 2]"},
    {"ConcatDtypes", "x: f32[2]  z: f16[2]  y = concat(x, z) axis=0\n return y",
     "'y' = concat: dtypes differ: f32[2] x f16[2]"},
    {"ConcatScalars", "x: f32[]  y = concat(x, x) axis=0\n return y",
     "'y' = concat: axis 0 is out of range: f32[] has rank 0"},
    {"PadValueRank", "x: f32[2]  v: f32[1]  y = pad(x, v) low=[0] high=[0]\n return y",
     "'y' = pad: the pad value must have rank 0: f32[1]"},
    {"PadMode", "x: f32[2]  y = pad(x) low=[0] high=[0] mode=mirror\n return y",
     "'y' = pad: 'mode' must be one of constant, reflect, replicate, circular: 'mirror' given"},
};
INSTANTIATE_TEST_SUITE_P(Indexing, InferError, testing::ValuesIn(kIndexing), name_of);

constexpr Case kRegions[] = {
    {"IfInputs", "c: bool[]  y = if(c) { x: f32[]  return x } { x: f32[]  return x } return y",
     "'y' = if: inputs of a branch must number 0: 2 given"},
    {"IfResults", "c: bool[]  if(c) { capture d = c  return d } { return } return",
     "if: results of the second branch must number 1: 0 given"},
    {"IfTooManySymbols",
     "c: bool[]  y = if(c) late=[u0] { capture d = c  return d } { capture d = c  return d } return y",
     "'y' = if: symbols in 'late' must number 0: 1 given"},
    {"WhileCondition", "x: f32[]  y = while(x) { s: f32[]  return s } { s: f32[]  return s } return y",
     "'y' = while: the condition must be bool[]: f32[]"},
    {"WhileResults", "c: bool[]  y = while(c) { s: bool[]  return s } { s: bool[]  return } return y",
     "'y' = while: results of the body must number 1: 0 given"},
    {"WhileDtypes", "c: bool[]  y = while(c) { s: bool[]  return s } { s: i32[]  return s } return y",
     "'y' = while: input and body input 0 differ in dtype or rank: bool[] and i32[]"},
    {"FusedRegions", "x: f32[2]  y = fused(x) kind=map\n return y", "'y' = fused: 1 regions expected, 0 given"},
    {"RegionsNobodyTakes", "x: f32[2]  y = neg(x) { return } return y", "'neg' takes 0 regions"},
    {"ErrorsInsideARegion", "x: f32[2]  y = call(x) { p: f32[2]  q = matmul(p, p)  return q } return y",
     "'q' = matmul: ranks must be at least 2: f32[2] x f32[2]"},
};
INSTANTIATE_TEST_SUITE_P(Regions, InferError, testing::ValuesIn(kRegions), name_of);

}  // namespace
}  // namespace tilewright
