#include "tilewright/runtime/views.h"

#include <gtest/gtest.h>

#include <random>

namespace tilewright::runtime {
namespace {

View view(std::vector<std::int64_t> sizes, std::vector<std::int64_t> strides) {
  View out{.dtype = DType::kF32, .rank = static_cast<std::int8_t>(sizes.size())};
  std::copy(sizes.begin(), sizes.end(), out.sizes.begin());
  std::copy(strides.begin(), strides.end(), out.strides.begin());
  return out;
}

View shaped(std::vector<std::int64_t> sizes) {
  std::vector<std::int64_t> strides(sizes.size());
  return view(std::move(sizes), std::move(strides));
}

// Offsets in elements of all elements in row-major order.
std::vector<std::int64_t> offsets(const View& view) {
  std::vector<std::int64_t> out;
  for (std::int64_t i = 0; i < view.count(); ++i) {
    std::int64_t rest = i, offset = view.offset / byte_size(view.dtype);
    for (int axis = view.rank - 1; axis >= 0; --axis) {
      const auto a = static_cast<std::size_t>(axis);
      offset += rest % view.sizes[a] * view.strides[a];
      rest /= view.sizes[a];
    }
    out.push_back(offset);
  }
  return out;
}

TEST(Views, ReshapeSplitsAndMergesWhatIsOneLoop) {
  View to = shaped({2, 12});
  ASSERT_TRUE(reshape_view(view({2, 3, 4}, {24, 8, 2}), to));
  EXPECT_EQ(to.strides[0], 24);
  EXPECT_EQ(to.strides[1], 2);
}

TEST(Views, ReshapeOfATransposeNeedsACopy) {
  View to = shaped({12});
  EXPECT_FALSE(reshape_view(view({3, 4}, {1, 3}), to));
}

TEST(Views, ReshapeOfAnExpandedAxisStaysExpanded) {
  View to = shaped({2, 3, 5});
  ASSERT_TRUE(reshape_view(view({6, 5}, {0, 1}), to));
  EXPECT_EQ(to.strides[0], 0);
  EXPECT_EQ(to.strides[1], 0);
}

TEST(Views, ReshapeOfNothingIsAnyShape) {
  View to = shaped({5, 0});
  EXPECT_TRUE(reshape_view(view({0, 3}, {1, 7}), to));
}

// Whatever the strides: a reshape that succeeds visits the same elements in the same order.
TEST(Views, ReshapesVisitTheSameElements) {
  std::mt19937 random(1);
  const auto below = [&](int limit) { return std::uniform_int_distribution<int>(0, limit - 1)(random); };
  int made = 0;
  for (int round = 0; round < 20000; ++round) {
    std::vector<std::int64_t> sizes, strides, target{1};
    std::int64_t stride = 1;
    for (int i = 0; i < below(5); ++i)
      sizes.push_back(std::vector<std::int64_t>{1, 1, 2, 3, 4}[static_cast<std::size_t>(below(5))]);
    for (std::size_t i = sizes.size(); i-- > 0;) {
      strides.insert(strides.begin(), below(6) == 0 ? -stride : below(6) == 0 ? 0 : stride * (below(5) == 0 ? 2 : 1));
      stride = std::abs(strides.front()) * sizes[i];
    }
    std::vector<std::int64_t> factors;  // primes of the count, dealt to the axes of the target
    for (std::int64_t size : sizes) {
      for (std::int64_t prime : {2, 3}) {
        for (; size % prime == 0; size /= prime) factors.push_back(prime);
      }
    }
    for (std::int64_t factor : factors) {
      if (below(2) == 0) target.push_back(1);
      target.back() *= factor;
    }
    const View from = view(sizes, strides);
    View to = shaped(target);
    if (!reshape_view(from, to)) continue;
    ++made;
    ASSERT_EQ(offsets(to), offsets(from)) << "round " << round;
  }
  EXPECT_GT(made, 5000);
}

TEST(Views, ContiguousMemoryReadsAsAnyShape) {
  View to = shaped({3, 1, 8});
  EXPECT_TRUE(reshape_view(view({2, 3, 4}, {12, 4, 1}), to));
  EXPECT_TRUE(is_contiguous(to));
}

TEST(Views, SliceOfFlipStepsBackwards) {
  View flipped = shaped({6});
  const std::int64_t axes[] = {0};
  flip_view(view({6}, {1}), axes, flipped);
  View to = shaped({2});
  const std::int64_t start[] = {1}, step[] = {3};
  slice_view(flipped, start, step, to);
  EXPECT_EQ(offsets(to), (std::vector<std::int64_t>{4, 1}));
}

TEST(Views, ExpandAddsAxesInFront) {
  View to = shaped({2, 3});
  expand_view(view({1}, {7}), to);
  EXPECT_EQ(offsets(to), std::vector<std::int64_t>(6, 0));
}

TEST(Views, StridesOfSizeOneHaveOneValue) {
  View odd = view({1, 3, 1}, {5, 1, 9}), plain = view({1, 3, 1}, {3, 1, 1});
  drop_idle_strides(odd);
  drop_idle_strides(plain);
  EXPECT_EQ(odd.strides, plain.strides);
}

}  // namespace
}  // namespace tilewright::runtime
