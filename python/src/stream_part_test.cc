// Parts of layouts: which views are slices of which.
#include "src/stream_part.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace tilewright::python {
namespace {

StreamLayout layout(std::vector<std::int64_t> sizes, std::vector<std::int64_t> strides, std::int64_t offset = 0) {
  StreamLayout made;
  made.rank = static_cast<std::int32_t>(sizes.size());
  made.offset = offset;
  std::ranges::copy(sizes, made.sizes.begin());
  std::ranges::copy(strides, made.strides.begin());
  return made;
}

// Positions in storage of all elements, row-major.
std::vector<std::int64_t> positions(const StreamLayout& own) {
  std::vector<std::int64_t> all = {own.offset};
  for (std::size_t axis = 0; axis < own.shape().size(); ++axis) {
    std::vector<std::int64_t> next;
    for (const std::int64_t at : all) {
      for (std::int64_t i = 0; i < own.sizes[axis]; ++i) next.push_back(at + i * own.strides[axis]);
    }
    all = std::move(next);
  }
  return all;
}

// Positions of what the part says, in the order of its axes.
std::vector<std::int64_t> positions(const StreamLayout& whole, const StreamPart& part) {
  StreamLayout shaped = whole;
  if (part.is_reshaped) {
    shaped = contiguous_layout(whole.dtype, {part.shape.data(), static_cast<std::size_t>(part.rank)});
    shaped.offset = whole.offset;
  }
  StreamLayout taken;
  taken.offset = shaped.offset;
  for (int axis = 0; axis < part.rank; ++axis) {
    const auto at = static_cast<std::size_t>(axis);
    taken.offset += part.start[at] * shaped.strides[at];
  }
  for (int i = 0; i < part.num_axes; ++i) {
    const auto at = static_cast<std::size_t>(part.axes[static_cast<std::size_t>(i)]);
    taken.sizes[static_cast<std::size_t>(i)] = part.count[at];
    taken.strides[static_cast<std::size_t>(i)] = part.step[at] * shaped.strides[at];
  }
  taken.rank = part.num_axes;
  return positions(taken);
}

TEST(StreamPart, ASliceOfRows) {
  const auto part = part_of(layout({4, 6}, {6, 1}), layout({3, 6}, {6, 1}, 6));
  ASSERT_TRUE(part);
  EXPECT_FALSE(part->is_reshaped);
  EXPECT_EQ(part->start[0], 1);
  EXPECT_EQ(part->count[0], 3);
  EXPECT_TRUE(part->takes_all(1));
}

TEST(StreamPart, ASliceOfFlatMemoryReshapes) {
  const auto part = part_of(layout({4, 6}, {6, 1}), layout({6}, {1}, 3));
  ASSERT_TRUE(part);
  EXPECT_TRUE(part->is_reshaped);
  EXPECT_EQ(part->shape[0], 24);
  EXPECT_EQ(part->start[0], 3);
}

TEST(StreamPart, NoPart) {
  const StreamLayout whole = layout({4, 4}, {4, 1});
  EXPECT_FALSE(part_of(whole, layout({4}, {5})));                   // a diagonal
  EXPECT_FALSE(part_of(whole, layout({3, 2}, {1, 1})));             // windows
  EXPECT_FALSE(part_of(whole, layout({4}, {0})));                   // expanded
  EXPECT_FALSE(part_of(whole, layout({4}, {1}, 14)));               // beyond the end
  EXPECT_FALSE(part_of(whole, layout({0}, {1})));                   // nothing
  EXPECT_FALSE(part_of(layout({2, 2}, {4, 1}, 4), whole));          // the larger of the smaller
  EXPECT_FALSE(part_of(layout({3, 3}, {1, 1}), layout({2}, {1})));  // a whole that meets itself
}

TEST(StreamPart, RandomViewsLieWhereTheirLayoutSays) {
  std::mt19937 random(1);
  const auto draw = [&](int below) { return static_cast<std::int64_t>(random() % static_cast<unsigned>(below)); };
  int found = 0;
  for (int trial = 0; trial < 20'000; ++trial) {
    std::vector<std::int64_t> sizes(1 + static_cast<std::size_t>(draw(3)));
    for (std::int64_t& size : sizes) size = 1 + draw(5);
    StreamLayout whole = contiguous_layout(0, sizes);
    if (whole.rank > 1 && draw(2) == 0) {
      std::swap(whole.sizes[0], whole.sizes[1]);
      std::swap(whole.strides[0], whole.strides[1]);
    }
    StreamLayout part;
    part.rank = static_cast<std::int32_t>(draw(4));
    part.offset = draw(8);
    for (std::size_t i = 0; i < static_cast<std::size_t>(part.rank); ++i) {
      part.sizes[i] = 1 + draw(4);
      part.strides[i] = draw(3) == 0 ? draw(13) : whole.strides[static_cast<std::size_t>(draw(whole.rank))];
    }
    const auto answer = part_of(whole, part);
    if (!answer) continue;
    ++found;
    const std::vector<std::int64_t> all = positions(whole), own = positions(part);
    EXPECT_EQ(own, positions(whole, *answer));
    for (const std::int64_t at : own) EXPECT_NE(std::ranges::find(all, at), all.end());
  }
  EXPECT_GT(found, 2'000);
}

}  // namespace
}  // namespace tilewright::python
