#include "tilewright/compiler/loop_nest.h"

#include <gtest/gtest.h>

namespace tilewright::compiler {
namespace {

View view(std::vector<std::int64_t> sizes, std::vector<std::int64_t> strides, DType dtype = DType::kF32) {
  View out{.dtype = dtype, .rank = static_cast<std::int8_t>(sizes.size())};
  std::copy(sizes.begin(), sizes.end(), out.sizes.begin());
  std::copy(strides.begin(), strides.end(), out.strides.begin());
  return out;
}

LoopNest nest(std::vector<std::int64_t> sizes, std::initializer_list<View> views) {
  LoopNest out;
  out.rank = static_cast<int>(sizes.size());
  std::copy(sizes.begin(), sizes.end(), out.sizes.begin());
  for (const View& one : views) out.add(one);
  return out;
}

std::vector<std::int64_t> sizes_of(const LoopNest& nest) {
  return {nest.sizes.begin(), nest.sizes.begin() + nest.rank};
}
std::vector<std::int64_t> strides_of(const LoopNest& nest, std::size_t view) {
  return {nest.strides[view].begin(), nest.strides[view].begin() + nest.rank};
}
using Numbers = std::vector<std::int64_t>;

TEST(LoopNest, StridesAreBytesAndBroadcastAxesStandStill) {
  const LoopNest n = nest({2, 3, 4}, {view({3, 1}, {1, 1}, DType::kF64)});
  EXPECT_EQ(strides_of(n, 0), (Numbers{0, 8, 0}));
}

TEST(LoopNest, ContiguousAxesBecomeOne) {
  LoopNest n = nest({2, 3, 4}, {view({2, 3, 4}, {12, 4, 1})});
  EXPECT_EQ(n.collapse(0, 3), 1);
  EXPECT_EQ(sizes_of(n), Numbers{24});
  EXPECT_EQ(strides_of(n, 0), Numbers{4});
}

TEST(LoopNest, AxesStayApartIfOneViewNeedsIt) {
  LoopNest n = nest({2, 3, 4}, {view({2, 3, 4}, {12, 4, 1}), view({3, 4}, {4, 1})});
  EXPECT_EQ(n.collapse(0, 3), 2);
  EXPECT_EQ(sizes_of(n), (Numbers{2, 12}));
  EXPECT_EQ(strides_of(n, 1), (Numbers{0, 4}));
}

TEST(LoopNest, SizesOfOneGo) {
  LoopNest n = nest({1, 5, 1}, {view({1, 5, 1}, {77, 3, 99})});
  EXPECT_EQ(n.collapse(0, 3), 1);
  EXPECT_EQ(strides_of(n, 0), Numbers{12});
}

TEST(LoopNest, ReversedAxesMergeWithTheirOwnKind) {
  LoopNest n = nest({3, 4}, {view({3, 4}, {-4, -1})});
  EXPECT_EQ(n.collapse(0, 2), 1);
  EXPECT_EQ(strides_of(n, 0), Numbers{-4});
}

TEST(LoopNest, CollapseKeepsToItsRange) {
  LoopNest n = nest({2, 3, 4}, {view({2, 3, 4}, {12, 4, 1})});
  EXPECT_EQ(n.collapse(0, 2), 1);
  EXPECT_EQ(sizes_of(n), (Numbers{6, 4}));
}

TEST(LoopNest, OrderMakesTheViewWalkForward) {
  LoopNest n = nest({2, 3, 4}, {view({2, 3, 4}, {1, 8, 2})});
  n.order_by_stride(0);
  EXPECT_EQ(strides_of(n, 0), (Numbers{32, 8, 4}));
  EXPECT_EQ(sizes_of(n), (Numbers{3, 4, 2}));
}

TEST(LoopNest, MoveRotatesTheAxesBetween) {
  LoopNest n = nest({2, 3, 4, 5}, {view({2, 3, 4, 5}, {60, 20, 5, 1})});
  n.move(0, 2);
  EXPECT_EQ(sizes_of(n), (Numbers{3, 4, 2, 5}));
  n.move(2, 0);
  EXPECT_EQ(sizes_of(n), (Numbers{2, 3, 4, 5}));
}

TEST(LoopNest, SplitLeavesTheRestOut) {
  LoopNest n = nest({3, 10}, {view({3, 10}, {20, 2})});
  n.split(1, 4);
  EXPECT_EQ(sizes_of(n), (Numbers{3, 2, 4}));
  EXPECT_EQ(strides_of(n, 0), (Numbers{80, 32, 8}));
}

TEST(LoopNest, BatchesOfASharedMatrixAreRows) {
  // a[6, 5, 7], b shared [7, 9] (its stride along m is 0), c[6, 5, 9]
  LoopNest n = nest({6, 5, 9}, {view({6, 5, 1}, {35, 7, 1}), view({9}, {1}), view({6, 5, 9}, {45, 9, 1})});
  EXPECT_EQ(n.collapse_rows(1), 0);
  EXPECT_EQ(sizes_of(n), (Numbers{30, 9}));
}

TEST(LoopNest, BatchesWithMatricesOfTheirOwnStay) {
  LoopNest n = nest({6, 5, 9}, {view({6, 5, 1}, {35, 7, 1}), view({6, 1, 9}, {63, 1, 1}), view({6, 5, 9}, {45, 9, 1})});
  EXPECT_EQ(n.collapse_rows(1), 1);
  EXPECT_EQ(sizes_of(n), (Numbers{6, 5, 9}));
}

}  // namespace
}  // namespace tilewright::compiler
