// Tensors across libraries by DLPack. The structs below are the public C layout of DLPack 1.x (and of the older form
// without a version), which every array library agrees on; they are declared here so that no header of another project
// is needed. Import shares the memory and calls the producer's deleter with the last reference; export keeps our memory
// until the consumer calls ours. What a producer hands over is checked before it is used: no size in it is trusted.
#pragma once

#include <cstdint>

#include "tilewright/tensor/tensor.h"

namespace tilewright {

struct DLPackVersion {
  std::uint32_t major;
  std::uint32_t minor;
};
inline constexpr DLPackVersion kDLPackVersion{1, 1};

struct DLDevice {
  std::int32_t type;
  std::int32_t id;
};
inline constexpr std::int32_t kDLCpu = 1;

struct DLDataType {
  std::uint8_t code;
  std::uint8_t bits;
  std::uint16_t lanes;
};

struct DLTensor {
  void* data;
  DLDevice device;
  std::int32_t ndim;
  DLDataType dtype;
  std::int64_t* shape;
  std::int64_t* strides;  // in elements; null: row-major
  std::uint64_t byte_offset;
};

struct DLManagedTensor {
  DLTensor tensor;
  void* context;
  void (*deleter)(DLManagedTensor* self);  // may be null
};

struct DLManagedTensorVersioned {
  DLPackVersion version;
  void* context;
  void (*deleter)(DLManagedTensorVersioned* self);  // may be null
  std::uint64_t flags;
  DLTensor tensor;
};
inline constexpr std::uint64_t kDLReadOnly = 1;
inline constexpr std::uint64_t kDLIsCopied = 2;

// A Tensor over the producer's memory. On success the Tensor owns `managed`; on an error the caller still does.
// Unsupported: another device than the CPU, a dtype that dtypes.def lacks, lanes, an unaligned pointer, a newer major
// version.
Result<Tensor> from_dlpack(DLManagedTensor* managed);
Result<Tensor> from_dlpack(DLManagedTensorVersioned* managed);
inline bool is_read_only(const DLManagedTensorVersioned& managed) {
  return (managed.flags & kDLReadOnly) != 0;
}

// The tensor for a consumer, which calls `deleter` once when it is done. Never null.
DLManagedTensor* to_dlpack(const Tensor& tensor);
DLManagedTensorVersioned* to_dlpack_versioned(const Tensor& tensor, bool read_only = false);

DLDataType to_dlpack(DType dtype);
Result<DType> from_dlpack(DLDataType dtype);

}  // namespace tilewright
