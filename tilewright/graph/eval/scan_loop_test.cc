// The loop that stacks: trips, early exit, zero trips, sizes that only the body knows.
#include "tilewright/graph/eval/one_op.h"

namespace tilewright::testing {
namespace {

constexpr std::string_view kRunningSum = R"(
    h: f32[2]
    x: f32[T, 2]
    last, all = scan(h, x) carried=1 trips=T {
      i: i64[]
      s: f32[2]
      v: f32[2]
      n = add(s, v)
      m = neg(n)
      return n, m
    }
    return last, all)";

TEST(EvalScanLoop, CarriesAndStacks) {
  const auto out = checked(run_text(kRunningSum, {f32({2}, {1, 2}), f32({3, 2}, {1, 1, 2, 2, 3, 3})}));
  expect_numbers(out[0], {7, 8});
  expect_numbers(out[1], {-2, -3, -4, -5, -7, -8});
}
TEST(EvalScanLoop, ZeroTripsGiveTheInitialStateAndNoElements) {
  const auto out = checked(run_text(kRunningSum, {f32({2}, {1, 2}), f32({0, 2}, {})}));
  expect_numbers(out[0], {1, 2});
  EXPECT_EQ(std::vector<std::int64_t>(out[1].sizes().begin(), out[1].sizes().end()), (std::vector<std::int64_t>{0, 2}));
}
TEST(EvalScanLoop, ReadsSlicesThroughStrides) {
  const Tensor memory = f32({2, 3}, {1, 2, 3, 10, 20, 30});
  const Tensor turned(DType::kF32, {3, 2}, {1, 3}, memory.data(), memory.owner());
  expect_numbers(checked(run_text(kRunningSum, {f32({2}, {0, 0}), turned}))[0], {6, 60});
}

constexpr std::string_view kUntil = R"(
    go: bool[]
    m: i64[]
    limit: i64[]
    item(m) symbol=most
    last, all = scan(go, limit) carried=1 trips=most conditional=1 count=[u0] {
      i: i64[]
      s: i64[]
      one = scalar() dtype=i64 value=1
      n = sub(s, one)
      zero = scalar() dtype=i64 value=0
      more = gt(n, zero)
      return more, n, i
    }
    k = scalar() dtype=i64 value=u0
    return last, all, k)";

TEST(EvalScanLoop, EndsEarlyAndBindsTheCount) {
  auto out = checked(run_text(kUntil, {boolean({}, {1}), i64({}, {10}), i64({}, {3})}));
  expect_numbers(out[0], {0});
  expect_numbers(out[1], {0, 1, 2});
  expect_numbers(out[2], {3});
  out = checked(run_text(kUntil, {boolean({}, {1}), i64({}, {2}), i64({}, {30})}));
  expect_numbers(out[1], {0, 1});
  out = checked(run_text(kUntil, {boolean({}, {0}), i64({}, {2}), i64({}, {30})}));
  expect_numbers(out[0], {30});
  expect_numbers(out[2], {0});
  out = checked(run_text(kUntil, {boolean({}, {1}), i64({}, {-4}), i64({}, {30})}));
  expect_numbers(out[2], {0});
}

constexpr std::string_view kPositions = R"(
    x: f32[T, N]
    all = scan(x) carried=0 trips=T late=[u0] {
      i: i64[]
      v: f32[N]
      p = nonzero(v) count=c
      return p
    }
    n = neg(all)
    return n)";

TEST(EvalScanLoop, AnElementMayHaveASizeThatOnlyTheBodyKnows) {
  expect_numbers(checked(run_text(kPositions, {f32({2, 3}, {0, 1, 1, 1, 0, 1})}))[0], {-1, -2, 0, -2});
  EXPECT_EQ(error_text(run_text(kPositions, {f32({2, 3}, {0, 1, 1, 1, 0, 0})})),
            "'all' = scan: elements of trips 0 and 1 differ in size: [2, 1] and [1, 1]");
  const auto none = checked(run_text(kPositions, {f32({0, 3}, {})}));
  EXPECT_EQ(none[0].count(), 0);
}

}  // namespace
}  // namespace tilewright::testing
