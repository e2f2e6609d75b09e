// Scans, orders, nonzero, random numbers and plain products against the oracle on every machine.
#include "tilewright/runtime/oracle_testing.h"

namespace tilewright::runtime {
namespace {

using testing::expect_oracle;
using testing::expect_oracle_on;
using testing::kAllDTypes;
using testing::random_tensor;
using testing::run_error;
using testing::with_dtype;

double tolerance_of(DType dtype) {
  return dtype == DType::kBF16 ? 2e-2 : dtype == DType::kF16 ? 2e-3 : dtype == DType::kF32 ? 1e-5 : 1e-12;
}

TEST(ScanKernels, CumulativeSumsAndProducts) {
  for (DType dtype : kAllDTypes) {
    expect_oracle(with_dtype(R"(
      x: DTYPE[A, B, C]
      a = cumsum(x) axis=2
      b = cumsum(x) axis=1 reverse=1
      c = cumsum(x) axis=0 exclusive=1
      d = cumprod(x) axis=2 exclusive=1 reverse=1
      e = cumprod(x) axis=1
      t = transpose(x) perm=[2,0,1]
      f = cumsum(t) axis=0
      return a, b, c, d, e, f
    )",
                             dtype),
                  {{{2, 3, 5}}, {{1, 1, 1}}, {{3, 4, 70}}, {{2, 70, 3}}, {{0, 2, 3}}}, tolerance_of(dtype));
  }
}

TEST(ScanKernels, LongSumsOfFloatsDoNotDrift) {
  expect_oracle("x: f32[A, B]\na = cumsum(x) axis=1\nreturn a", {{{2, 100003}}}, 1e-6);
}

TEST(ScanKernels, RunningExtremesAndPositions) {
  for (DType dtype : kAllDTypes) {
    expect_oracle(with_dtype(R"(
      x: DTYPE[A, B]
      a, i = cummax(x) axis=1
      b, j = cummin(x) axis=0
      return a, i, b, j
    )",
                             dtype),
                  {{{2, 3}}, {{1, 1}}, {{70, 9}}, {{5, 600}}});
  }
}

Tensor with_nans(Tensor x) {
  for (std::int64_t i = 2; i < x.count(); i += 5) x.data_as<float>()[i] = i % 2 != 0 ? std::nanf("") : -0.0f;
  return x;
}

TEST(OrderKernels, NanIsLargestAndStays) {
  expect_oracle_on(
      R"(
    x: f32[A, B]
    a, i = cummax(x) axis=1
    b, j = cummin(x) axis=0
    c, k = sort(x) axis=1
    d, l = sort(x) axis=0 descending=1
    e = argmax(x) axis=1
    f = argmin(x) axis=0 last=1
    g, m = topk(x) axis=1 k=2
    h, n = topk(x) axis=1 k=3 largest=0
    return a, i, b, j, c, k, d, l, e, f, g, m, h, n
  )",
      {{with_nans(random_tensor(DType::kF32, {4, 9}, 1))}, {with_nans(random_tensor(DType::kF32, {3, 400}, 2))}}, 0);
}

TEST(OrderKernels, ArgMaxOfEveryDTypeAndAxis) {
  for (DType dtype : kAllDTypes) {
    expect_oracle(with_dtype(R"(
      x: DTYPE[A, B, C]
      a = argmax(x) axis=2
      b = argmax(x) axis=1 keepdim=1
      c = argmin(x) axis=0 last=1
      d = argmin(x) axis=2 keepdim=1 last=1
      return a, b, c, d
    )",
                             dtype),
                  {{{2, 3, 5}}, {{1, 1, 1}}, {{3, 4, 70}}, {{2, 70, 3}}, {{1, 3, 1500}}});
  }
}

TEST(OrderKernels, SortIsStable) {
  for (DType dtype : kAllDTypes) {
    expect_oracle(with_dtype(R"(
      x: DTYPE[A, B]
      a, i = sort(x) axis=1
      b, j = sort(x) axis=0 descending=1
      return a, i, b, j
    )",
                             dtype),
                  {{{2, 3}}, {{1, 1}}, {{70, 9}}, {{3, 1000}}, {{2, 0}}});
  }
}

TEST(OrderKernels, LongRowsAreSortedInWorkMemory) {
  expect_oracle("x: f32[A, B]\na, i = sort(x) axis=1\nreturn a, i", {{{2, 70001}}});
  expect_oracle("x: i64[A, B]\na, i = sort(x) axis=0 descending=1\nreturn a, i", {{{66000, 2}}});
}

TEST(OrderKernels, TopKByHeapAndBySort) {
  for (DType dtype : {DType::kF32, DType::kI64, DType::kF16, DType::kU8}) {
    expect_oracle(with_dtype(R"(
      x: DTYPE[A, B]
      a, i = topk(x) axis=1 k=1
      b, j = topk(x) axis=1 k=7
      c, l = topk(x) axis=0 k=A largest=0
      return a, i, b, j, c, l
    )",
                             dtype),
                  {{{2, 9}}, {{1, 7}}, {{4, 500}}, {{300, 8}}});
  }
}

TEST(OrderKernels, TopKOfTooManyNamesTheSize) {
  EXPECT_EQ(run_error("x: f32[A]\na, i = topk(x) axis=0 k=4\nreturn a, i", {random_tensor(DType::kF32, {3}, 1)}),
            "'a': sizes do not fit: 4, expected at most A = 3 (A is axis 0 of input 'x')");
}

TEST(LateKernels, NonZeroOfEveryDType) {
  for (DType dtype : kAllDTypes) {
    expect_oracle(with_dtype(R"(
      x: DTYPE[A, B, C]
      p = nonzero(x) count=u0
      t = transpose(x) perm=[1,0,2]
      q = nonzero(t) count=u1
      return p, q
    )",
                             dtype),
                  {{{2, 3, 5}}, {{1, 1, 1}}, {{4, 9, 33}}, {{2, 0, 3}}});
  }
}

TEST(RandomKernels, NumbersEqualTheOracle) {
  for (const char* dtype : {"f32", "f64", "f16", "bf16"}) {
    expect_oracle(fmt::format(R"(
      k: i64[2]
      a = random(k) dtype={0} shape=[3, 70]
      b = random(k) dtype={0} shape=[5001] distribution=normal
      return a, b
    )",
                              dtype),
                  {{{2}}}, 1e-6);
  }
  expect_oracle(
      "k: i64[2]\na = random(k) dtype=i32 shape=[70] distribution=bits\nb = random(k) dtype=i64 shape=[71] "
      "distribution=bits\nreturn a, b",
      {{{2}}});
}

TEST(MatMulKernels, DTypesThatTheFuserLeavesAlone) {
  for (DType dtype : {DType::kF64, DType::kI8, DType::kU8, DType::kI16, DType::kI32, DType::kI64}) {
    expect_oracle(with_dtype(R"(
      x: DTYPE[A, M, K]
      w: DTYPE[K, N]
      v: DTYPE[B, A, K, N]
      p = matmul(x, w)
      q = matmul(x, v)
      t = transpose(w) perm=[1,0]
      s = transpose(x) perm=[0,2,1]
      r = matmul(t, s)
      return p, q, r
    )",
                             dtype),
                  {{{2, 3, 5}, {5, 7}, {3, 2, 5, 7}},
                   {{1, 1, 1}, {1, 1}, {1, 1, 1, 1}},
                   {{1, 40, 70}, {70, 65}, {2, 1, 70, 65}},
                   {{2, 3, 0}, {0, 4}, {1, 2, 0, 4}}},
                  1e-12);
  }
}

}  // namespace
}  // namespace tilewright::runtime
