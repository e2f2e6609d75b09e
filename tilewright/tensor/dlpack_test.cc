#include "tilewright/tensor/dlpack.h"

#include <gtest/gtest.h>

#include <array>

namespace tilewright {
namespace {

// A producer's tensor [2, 3] of f32 whose deleter counts.
struct Producer {
  std::array<float, 6> data{0, 1, 2, 3, 4, 5};
  std::array<std::int64_t, 2> shape{2, 3};
  std::array<std::int64_t, 2> strides{3, 1};
  int deleted = 0;
  DLManagedTensor managed{};
  Producer() {
    managed.tensor = {data.data(), {kDLCpu, 0}, 2, to_dlpack(DType::kF32), shape.data(), strides.data(), 0};
    managed.context = this;
    managed.deleter = [](DLManagedTensor* self) { ++static_cast<Producer*>(self->context)->deleted; };
  }
};

void expect_error(Producer& producer, ErrorKind kind, std::string_view message) {
  const Result<Tensor> tensor = from_dlpack(&producer.managed);
  ASSERT_FALSE(tensor.ok());
  EXPECT_EQ(tensor.error().message, message);
  EXPECT_EQ(tensor.error().kind, kind);
  EXPECT_EQ(producer.deleted, 0) << "the caller still owns what was refused";
}

TEST(DLPack, EveryDTypeRoundTrips) {
#define DTYPE(Name, ...) EXPECT_EQ(*from_dlpack(to_dlpack(DType::k##Name)), DType::k##Name);
#include "tilewright/tensor/dtypes.def"
#undef DTYPE
}
TEST(DLPack, BoolAndBFloat16HaveTheirOwnCodes) {
  EXPECT_EQ(to_dlpack(DType::kBool).code, 6);
  EXPECT_EQ(to_dlpack(DType::kBF16).code, 4);
}
TEST(DLPack, ImportSharesTheMemoryUntilTheLastReference) {
  Producer producer;
  {
    Tensor kept;
    {
      Result<Tensor> tensor = from_dlpack(&producer.managed);
      ASSERT_TRUE(tensor.ok());
      EXPECT_EQ(tensor->data(), producer.data.data());
      kept = *tensor;
    }
    EXPECT_EQ(producer.deleted, 0);
    EXPECT_EQ(kept.at<float>(std::array<std::int64_t, 2>{1, 2}), 5);
  }
  EXPECT_EQ(producer.deleted, 1);
}
TEST(DLPack, AbsentStridesAreRowMajor) {
  Producer producer;
  producer.managed.tensor.strides = nullptr;
  EXPECT_TRUE(from_dlpack(&producer.managed)->is_contiguous());
}
TEST(DLPack, TheByteOffsetCounts) {
  Producer producer;
  producer.shape = {1, 3};
  producer.managed.tensor.byte_offset = 12;
  EXPECT_EQ(*from_dlpack(&producer.managed)->data_as<float>(), 3);
}
TEST(DLPack, EmptyTensorsMayHaveNoData) {
  Producer producer;
  producer.shape[0] = 0;
  producer.managed.tensor.data = nullptr;
  EXPECT_EQ(from_dlpack(&producer.managed)->count(), 0);
}
TEST(DLPack, ExportRoundTrips) {
  const float values[] = {1, 2, 3, 4};
  const Tensor tensor = Tensor::from<float>({2, 2}, values);
  const Tensor back = *from_dlpack(to_dlpack(tensor));
  EXPECT_EQ(back.data(), tensor.data());
  EXPECT_EQ(back.strides()[0], 2);
}
TEST(DLPack, ExportKeepsTheMemoryAlive) {
  Tensor tensor = Tensor::zeros(DType::kI64, {3});
  const std::weak_ptr<void> memory = tensor.owner();
  DLManagedTensorVersioned* exported = to_dlpack_versioned(tensor, true);
  tensor = Tensor();
  EXPECT_FALSE(memory.expired());
  EXPECT_TRUE(is_read_only(*exported));
  exported->deleter(exported);
  EXPECT_TRUE(memory.expired());
}
TEST(DLPack, VersionedExportRoundTrips) {
  const Tensor tensor = Tensor::zeros(DType::kBF16, {2, 0, 3});
  const Result<Tensor> back = from_dlpack(to_dlpack_versioned(tensor));
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(back->dtype(), DType::kBF16);
  EXPECT_EQ(back->rank(), 3u);
}
TEST(DLPack, AnotherMajorVersionIsRefused) {
  DLManagedTensorVersioned managed{};
  managed.version = {2, 0};
  EXPECT_EQ(from_dlpack(&managed).error().message, "DLPack version 2.0 is not supported, expected 1.x");
}
TEST(DLPack, AnotherDeviceIsRefused) {
  Producer producer;
  producer.managed.tensor.device.type = 2;
  expect_error(producer, ErrorKind::kUnsupported, "DLPack tensor is on device type 2, only the CPU (1) is supported");
}
TEST(DLPack, UnknownDTypesAreRefused) {
  Producer producer;
  producer.managed.tensor.dtype = {5, 64, 1};
  expect_error(producer, ErrorKind::kUnsupported, "DLPack dtype is not supported: code 5, 64 bits, 1 lanes");
}
TEST(DLPack, BadRanksAreRefused) {
  Producer producer;
  producer.managed.tensor.ndim = 1000000;
  expect_error(producer, ErrorKind::kInvalidArgument, "DLPack tensor has rank 1000000, expected 0 to 64");
}
TEST(DLPack, NegativeSizesAreRefused) {
  Producer producer;
  producer.shape[1] = -3;
  expect_error(producer, ErrorKind::kInvalidArgument, "DLPack tensor has a negative size: -3");
}
TEST(DLPack, ExtentsBeyondMemoryAreRefused) {
  Producer producer;
  producer.strides[0] = INT64_MAX / 2;
  expect_error(producer, ErrorKind::kInvalidArgument,
               "DLPack tensor is larger than memory: size 2 with stride 4611686018427387903 at axis 0");
}
TEST(DLPack, CountsBeyondMemoryAreRefused) {
  Producer producer;
  producer.shape = {INT64_MAX, INT64_MAX};
  producer.strides = {0, 0};
  EXPECT_FALSE(from_dlpack(&producer.managed).ok());
  producer.managed.tensor.strides = nullptr;
  EXPECT_FALSE(from_dlpack(&producer.managed).ok());
}
TEST(DLPack, MissingDataIsRefused) {
  Producer producer;
  producer.managed.tensor.data = nullptr;
  expect_error(producer, ErrorKind::kInvalidArgument, "DLPack tensor has no data");
}
TEST(DLPack, UnalignedDataIsRefused) {
  Producer producer;
  producer.shape = {1, 1};
  producer.managed.tensor.byte_offset = 2;
  expect_error(producer, ErrorKind::kUnsupported, "DLPack tensor of f32 is not aligned to 4 bytes");
}

}  // namespace
}  // namespace tilewright
