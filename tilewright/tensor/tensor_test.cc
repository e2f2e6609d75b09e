#include "tilewright/tensor/tensor.h"

#include <gtest/gtest.h>

#include <array>

namespace tilewright {
namespace {

using Index = std::vector<std::int64_t>;

const float kSix[] = {0, 1, 2, 3, 4, 5};

// `tensor` seen with other sizes and strides, from an element.
Tensor view(const Tensor& tensor, Index sizes, Index strides, std::int64_t offset = 0) {
  return Tensor(tensor.dtype(), std::move(sizes), std::move(strides), tensor.data_as<float>() + offset, tensor.owner());
}
std::vector<float> values(const Tensor& tensor) {
  const Tensor flat = tensor.contiguous();
  return {flat.data_as<float>(), flat.data_as<float>() + flat.count()};
}

TEST(Tensor, MemoryIsAligned) {
  for (const std::int64_t size : {0, 1, 7, 1000}) {
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(Tensor(DType::kU8, {size}).data()) % 64, 0u);
  }
}
TEST(Tensor, SizesOfOneAndZeroAreOrdinary) {
  const Tensor empty(DType::kF32, {3, 0, 1});
  EXPECT_EQ(empty.count(), 0);
  EXPECT_TRUE(empty.is_contiguous());
  EXPECT_EQ(contiguous_strides(Index{3, 0, 1}), (Index{1, 1, 1}));
}
TEST(Tensor, RankZeroIsAScalar) {
  const Tensor scalar = Tensor::scalar<std::int64_t>(42);
  EXPECT_EQ(scalar.rank(), 0u);
  EXPECT_EQ(scalar.count(), 1);
  EXPECT_EQ(*scalar.data_as<std::int64_t>(), 42);
}
TEST(Tensor, CopiesShareMemory) {
  const Tensor tensor = Tensor::zeros(DType::kF32, {2});
  const Tensor copy = tensor;
  copy.data_as<float>()[0] = 3;
  EXPECT_EQ(tensor.data_as<float>()[0], 3);
}
TEST(Tensor, ContiguousIsItselfWhenRowMajor) {
  const Tensor tensor = Tensor::from<float>({2, 3}, kSix);
  EXPECT_EQ(tensor.contiguous().data(), tensor.data());
}
TEST(Tensor, StridesOfSizeOneAxesDoNotMatter) {
  const Tensor tensor = Tensor::from<float>({2, 3}, kSix);
  EXPECT_TRUE(view(tensor, {2, 1, 3}, {3, 77, 1}).is_contiguous());
}
TEST(Tensor, TransposedViewsAreCopied) {
  const Tensor tensor = Tensor::from<float>({2, 3}, kSix);
  EXPECT_EQ(values(view(tensor, {3, 2}, {1, 3})), (std::vector<float>{0, 3, 1, 4, 2, 5}));
}
TEST(Tensor, NegativeAndZeroStridesAreCopied) {
  const Tensor tensor = Tensor::from<float>({6}, kSix);
  EXPECT_EQ(values(view(tensor, {3}, {-2}, 5)), (std::vector<float>{5, 3, 1}));
  EXPECT_EQ(values(view(tensor, {2, 2}, {0, 1}, 1)), (std::vector<float>{1, 2, 1, 2}));
}
TEST(Tensor, AtFollowsStrides) {
  const Tensor tensor = Tensor::from<float>({2, 3}, kSix);
  EXPECT_EQ(view(tensor, {3, 2}, {1, 3}).at<float>(Index{2, 1}), 5);
}
TEST(Tensor, TheOwnerLivesAsLongAsAView) {
  auto owner = std::make_shared<std::array<float, 2>>(std::array<float, 2>{1, 2});
  const std::weak_ptr<void> watch = owner;
  {
    const Tensor tensor(DType::kF32, {2}, {1}, owner->data(), owner);
    owner.reset();
    EXPECT_FALSE(watch.expired());
  }
  EXPECT_TRUE(watch.expired());
}
TEST(DType, NamesRoundTrip) {
#define DTYPE(Name, ...) EXPECT_EQ(parse_dtype(to_string(DType::k##Name)), DType::k##Name);
#include "tilewright/tensor/dtypes.def"
#undef DTYPE
  EXPECT_EQ(parse_dtype("f31"), std::nullopt);
}

}  // namespace
}  // namespace tilewright
