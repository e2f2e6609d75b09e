// Movement and indexing kernels against the oracle on every machine: concat, pad, update_slice, transposing copies,
// gathers and scatters, for all dtypes, odd sizes and strided inputs.
#include "tilewright/runtime/oracle_testing.h"

namespace tilewright::runtime {
namespace {

using testing::expect_oracle;
using testing::kAllDTypes;
using testing::run_error;
using testing::with_dtype;

TEST(MovementKernels, ConcatJoinsAnyDType) {
  for (DType dtype : kAllDTypes) {
    expect_oracle(with_dtype(R"(
      x: DTYPE[A, B, 3]
      y: DTYPE[A, C, 3]
      t = transpose(y) perm=[0,1,2]
      c = concat(x, t, x) axis=1
      d = concat(c, c) axis=2
      e = concat(d, d) axis=0
      return c, e
    )",
                             dtype),
                  {{{2, 3, 3}, {2, 4, 3}}, {{1, 1, 3}, {1, 1, 3}}, {{2, 0, 3}, {2, 5, 3}}, {{3, 70, 3}, {3, 61, 3}}});
  }
}

TEST(MovementKernels, TransposingCopiesOfAnyWidth) {
  for (DType dtype : kAllDTypes) {
    expect_oracle(with_dtype(R"(
      x: DTYPE[A, B, C]
      p = transpose(x) perm=[0,2,1]
      r = reshape(p) shape=[A*C*B]
      q = transpose(x) perm=[2,1,0]
      s = reshape(q) shape=[C*B*A]
      return r, s
    )",
                             dtype),
                  {{{2, 3, 5}}, {{1, 64, 64}}, {{2, 67, 33}}, {{1, 129, 70}}, {{3, 1, 40}}, {{17, 4, 19}}});
  }
}

TEST(MovementKernels, PadConstantFillsBordersAndCrops) {
  for (DType dtype : kAllDTypes) {
    expect_oracle(with_dtype(R"(
      x: DTYPE[A, B]
      v: DTYPE[]
      p = pad(x, v) low=[1,2] high=[0,3]
      q = pad(x) low=[-1,4] high=[2,-1]
      return p, q
    )",
                             dtype),
                  {{{2, 3}, {}}, {{1, 1}, {}}, {{40, 33}, {}}});
  }
}

TEST(MovementKernels, PadReflectReplicateCircular) {
  expect_oracle(R"(
    x: f32[A, B, C]
    p = pad(x) low=[0,2,1] high=[0,1,3] mode=reflect
    q = pad(x) low=[1,2,4] high=[2,0,5] mode=replicate
    r = pad(x) low=[0,2,3] high=[1,1,0] mode=circular
    return p, q, r
  )",
                {{{2, 3, 4}}, {{1, 5, 7}}, {{3, 40, 33}}});
}

TEST(MovementKernels, APadThatDoesNotFitNamesTheAxis) {
  EXPECT_EQ(run_error("x: f32[A]\np = pad(x) low=[3] high=[0] mode=reflect\nreturn p",
                      {testing::random_tensor(DType::kF32, {3}, 1)}),
            "p: a 'reflect' pad of 3 does not fit axis 0 of size 3");
}

TEST(MovementKernels, UpdateSliceReplacesWithSteps) {
  for (DType dtype : kAllDTypes) {
    expect_oracle(with_dtype(R"(
      x: DTYPE[A, 9]
      y: DTYPE[B, 4]
      u = update_slice(x, y) start=[1,1] step=[1,2]
      return u
    )",
                             dtype),
                  {{{5, 9}, {4, 4}}, {{3, 9}, {1, 4}}, {{60, 9}, {50, 4}}});
  }
}

TEST(IndexKernels, GatherRowsOfATable) {
  for (DType dtype : kAllDTypes) {
    expect_oracle(with_dtype(R"(
      x: DTYPE[V, D]
      i: i64[B, S]
      j: i32[S]
      r = gather(x, i) axis=0
      c = gather(x, j) axis=1
      t = transpose(x) perm=[1,0]
      s = gather(t, i) axis=1
      return r, c, s
    )",
                             dtype),
                  {{{6, 7}, {2, 3}, {3}}, {{30, 64}, {5, 11}, {11}}, {{9, 6}, {1, 1}, {1}}, {{6, 300}, {0, 4}, {4}}});
  }
}

TEST(IndexKernels, GatherByAScalarDropsTheAxis) {
  expect_oracle(R"(
    x: f32[A, B, C]
    i: i64[]
    g = gather(x, i) axis=1
    return g
  )",
                {{{2, 6, 5}, {}}, {{1, 8, 1}, {}}});
}

TEST(IndexKernels, GatherElements) {
  expect_oracle(R"(
    x: f32[A, 8, C]
    i: i64[A, B, C]
    j: i32[A, 8, D]
    g = gather_elements(x, i) axis=1
    h = gather_elements(x, j) axis=2
    return g, h
  )",
                {{{2, 8, 6}, {2, 5, 6}, {2, 8, 3}}, {{1, 8, 9}, {1, 1, 9}, {1, 8, 70}}});
}

TEST(IndexKernels, IndexBySeveralTensors) {
  expect_oracle(R"(
    x: f32[7, 8, A, 9]
    i: i64[B, 1]
    j: i64[C]
    p = index(x, i, j) axes=[0,1]
    q = index(x, i, j) axes=[0,3]
    r = index(x, j) axes=[1]
    s = index(x, i, j) axes=[1,3]
    return p, q, r, s
  )",
                {{{7, 8, 2, 9}, {3, 1}, {4}}, {{7, 8, 5, 9}, {1, 1}, {1}}, {{7, 8, 1, 9}, {5, 1}, {30}}});
}

TEST(IndexKernels, IndexPutReplacesAndAccumulates) {
  for (DType dtype : kAllDTypes) {
    const double tolerance = is_float(dtype) ? 1e-5 : 0;
    expect_oracle(with_dtype(R"(
      x: DTYPE[9, D]
      v: DTYPE[N, D]
      w: DTYPE[D]
      i: i64[N]
      j: i64[N]
      p = index_put(x, v, i) axes=[0]
      q = index_put(x, v, i) axes=[0] accumulate=1
      r = index_put(x, w, i) axes=[0] accumulate=1
      g = gather(v, j) axis=1
      e = gather(g, j) axis=0
      return p, q, r
    )",
                             dtype),
                  {{{9, 6}, {7, 6}, {6}, {7}, {7}}, {{9, 40}, {50, 40}, {40}, {50}, {50}}}, tolerance);
  }
}

TEST(IndexKernels, IndexPutOnOneDimension) {
  expect_oracle(R"(
    x: f32[V]
    v: f32[N, M]
    i: i64[N, M]
    p = index_put(x, v, i) axes=[0]
    q = index_put(x, v, i) axes=[0] accumulate=1
    return p, q
  )",
                {{{6}, {3, 4}, {3, 4}}, {{300}, {20, 30}, {20, 30}}}, 1e-5);
}

TEST(IndexKernels, ScatterElementsReduces) {
  for (DType dtype : kAllDTypes) {
    const double tolerance = is_float(dtype) ? 1e-5 : 0;
    for (const char* reduce : {"none", "add", "mul", "min", "max", "mean"}) {
      if (dtype == DType::kBool && std::string_view(reduce) == "mean") continue;
      expect_oracle(with_dtype(fmt::format(R"(
        x: DTYPE[A, 7]
        u: DTYPE[B, C]
        i: i64[B, C]
        p = scatter_elements(x, i, u) axis=0 reduce={0}
        q = scatter_elements(x, i, u) axis=1 reduce={0}
        return p, q
      )",
                                           reduce),
                               dtype),
                    {{{8, 7}, {5, 4}, {5, 4}}, {{9, 7}, {9, 7}, {9, 7}}}, tolerance);
    }
  }
}

TEST(IndexKernels, AnIndexOutOfRangeIsNamed) {
  const Tensor x = testing::random_tensor(DType::kF32, {5, 3}, 1);
  const std::int64_t bad[] = {1, 7};
  const std::int64_t low[] = {-6, 0};
  EXPECT_EQ(run_error("x: f32[V, D]\ni: i64[N]\ng = gather(x, i) axis=0\nreturn g",
                      {x, Tensor::from<std::int64_t>({2}, bad)}),
            "gather: index 7 is out of range for an axis of size 5");
  EXPECT_EQ(run_error("x: f32[V, D]\ni: i64[N]\nv: f32[N, D]\ng = index_put(x, v, i) axes=[0]\nreturn g",
                      {x, Tensor::from<std::int64_t>({2}, low), testing::random_tensor(DType::kF32, {2, 3}, 1)}),
            "scatter: index -6 is out of range for an axis of size 5");
}

TEST(MovementKernels, RepeatedElementsAndRows) {
  for (const int times : {2, 3, 4, 8, 20}) {
    expect_oracle(fmt::format(R"(
      x: f32[C, H, W]
      i: i64[C, H, W]
      a = reshape(x) shape=[C,H,1,W,1]
      b = expand(a) shape=[C,H,{0},W,1]
      c = reshape(b) shape=[C,H*{0},W,1]
      d = expand(c) shape=[C,H*{0},W,{0}]
      e = reshape(d) shape=[C,H*{0},W*{0}]
      j = reshape(i) shape=[C,H,W,1]
      k = expand(j) shape=[C,H,W,{0}]
      l = reshape(k) shape=[C,H,W*{0}]
      return e, l
    )",
                              times),
                  {{{2, 3, 5}, {2, 3, 5}}, {{1, 1, 1}, {1, 1, 1}}, {{3, 40, 33}, {3, 40, 33}}}, 0);
  }
}

}  // namespace
}  // namespace tilewright::runtime
