// scan on every machine against the oracle: stacked results, early exit, no trip, late sizes, loops in loops.
#include "tilewright/runtime/oracle_testing.h"

namespace tilewright::runtime::testing {
namespace {

Tensor number(std::int64_t value) {
  return Tensor::scalar<std::int64_t>(value);
}
Tensor truth(bool value) {
  Tensor out(DType::kBool, {});
  *out.data_as<std::uint8_t>() = value ? 1 : 0;
  return out;
}

constexpr std::string_view kRecurrence = R"(
    h: f32[B, 4]
    x: f32[T, B, 4]
    w: f32[4, 4]
    last, all = scan(h, x) carried=1 trips=T {
      i: i64[]
      s: f32[B, 4]
      v: f32[B, 4]
      capture u = w
      p = matmul(s, u)
      n = add(p, v)
      t = tanh(n)
      return t, t
    }
    z = neg(all)
    return last, z)";

TEST(ScanSession, ARecurrence) {
  expect_oracle(kRecurrence, {{{2, 4}, {5, 2, 4}, {4, 4}}, {{1, 4}, {1, 1, 4}, {4, 4}}, {{3, 4}, {0, 3, 4}, {4, 4}}},
                1e-5);
}

TEST(ScanSession, SlicesAreReadThroughStrides) {
  expect_oracle(R"(
    x: f32[B, T, 3]
    t = transpose(x) perm=[1, 0, 2]
    f = flip(t) axes=[0]
    zero = scalar() dtype=f32 value=0
    h = expand(zero) shape=[B, 3]
    last, all = scan(h, f) carried=1 trips=T {
      i: i64[]
      s: f32[B, 3]
      v: f32[B, 3]
      n = add(s, v)
      return n, n
    }
    return last, all
  )",
                {{{2, 5, 3}}, {{1, 1, 3}}, {{4, 0, 3}}, {{3, 7, 3}}}, 1e-5);
}

constexpr std::string_view kUntil = R"(
    go: bool[]
    m: i64[]
    limit: i64[]
    item(m) symbol=most
    last, all, two = scan(go, limit) carried=1 trips=most conditional=1 count=[u0] {
      i: i64[]
      s: i64[]
      one = scalar() dtype=i64 value=1
      n = sub(s, one)
      zero = scalar() dtype=i64 value=0
      more = gt(n, zero)
      e = expand(n) shape=[3]
      return more, n, i, e
    }
    k = scalar() dtype=i64 value=u0
    y = iota() dtype=i64 shape=[u0] axis=0
    q = add(y, all)
    return last, all, two, k, q)";

TEST(ScanSession, EndsEarly) {
  std::vector<std::vector<Tensor>> calls;
  for (const auto& [go, most, limit] : {std::tuple{true, 10, 3},
                                        {true, 2, 30},
                                        {false, 2, 30},
                                        {true, -4, 3},
                                        {true, 0, 1},
                                        {true, 40, 37},
                                        {true, 10, 3}}) {
    calls.push_back({truth(go), number(most), number(limit)});
  }
  expect_oracle_on(kUntil, calls, 0);
}

TEST(ScanSession, ACountWithoutStackedResults) {
  expect_oracle_on(R"(
    go: bool[]
    limit: i64[]
    last = scan(go, limit) carried=1 trips=1000000 conditional=1 count=[u0] {
      i: i64[]
      s: i64[]
      two = scalar() dtype=i64 value=2
      n = floor_div(s, two)
      zero = scalar() dtype=i64 value=0
      more = gt(n, zero)
      return more, n
    }
    k = scalar() dtype=i64 value=u0
    return last, k)",
                   {{truth(true), number(1000)}, {truth(false), number(5)}, {truth(true), number(1)}}, 0);
}

TEST(ScanSession, SizesThatOnlyTheBodyKnows) {
  const std::string_view text = R"(
    x: f32[T, N]
    all = scan(x) carried=0 trips=T late=[u0] {
      i: i64[]
      v: f32[N]
      p = nonzero(v) count=c
      return p
    }
    n = neg(all)
    return n)";
  const auto rows = [](std::vector<std::int64_t> sizes, std::vector<float> values) {
    return Tensor::from<float>(std::move(sizes), values);
  };
  expect_oracle_on(text,
                   {{rows({2, 3}, {0, 1, 1, 1, 0, 1})},
                    {rows({1, 3}, {0, 0, 0})},
                    {rows({0, 3}, {})},
                    {rows({3, 2}, {0, 1, 1, 0, 5, 0})}},
                   0);
  EXPECT_EQ(run_error(text, {rows({2, 3}, {0, 1, 1, 1, 0, 0})}),
            "all: elements of trips 0 and 1 differ in size: [2, 1] and [1, 1]");
}

TEST(ScanSession, GrowingStateAndStackedSizesOfTrips) {
  expect_oracle(R"(
    x: f32[N]
    last, sums = scan(x) carried=1 trips=6 {
      i: i64[]
      s: f32[m]
      n = concat(s, s) axis=0
      r = reduce_sum(s) axes=[0]
      return n, r
    }
    y = neg(last)
    return y, sums
  )",
                {{{3}}, {{1}}, {{0}}, {{5}}}, 1e-4);
}

TEST(ScanSession, ALoopInALoop) {
  expect_oracle(R"(
    x: f32[T, S, 3]
    zero = scalar() dtype=f32 value=0
    h = expand(zero) shape=[3]
    last, all = scan(h, x) carried=1 trips=T {
      i: i64[]
      s: f32[3]
      v: f32[S, 3]
      inner, each = scan(s, v) carried=1 trips=S {
        j: i64[]
        a: f32[3]
        b: f32[3]
        n = add(a, b)
        return n, n
      }
      return inner, each
    }
    return last, all
  )",
                {{{2, 4, 3}}, {{3, 0, 3}}, {{0, 2, 3}}, {{1, 1, 3}}}, 1e-5);
}

}  // namespace
}  // namespace tilewright::runtime::testing
