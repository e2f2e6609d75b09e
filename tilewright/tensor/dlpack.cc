#include "tilewright/tensor/dlpack.h"

#include <algorithm>
#include <cstddef>
#include <type_traits>

namespace tilewright {
namespace {

static_assert(std::is_standard_layout_v<DLManagedTensorVersioned> && std::is_standard_layout_v<DLManagedTensor>);
static_assert(sizeof(void*) != 8 || (sizeof(DLTensor) == 48 && offsetof(DLTensor, shape) == 24));
static_assert(sizeof(void*) != 8 || offsetof(DLManagedTensorVersioned, tensor) == 32);

constexpr std::int32_t kHighestRank = 64;

enum Code : std::uint8_t { kInt = 0, kUInt = 1, kFloat = 2, kBFloat = 4, kBool = 6 };

constexpr std::uint8_t code_of(DType dtype) {
  if (dtype == DType::kBF16) return kBFloat;
  switch (kind(dtype)) {
    case 'f':
      return kFloat;
    case 'i':
      return kInt;
    case 'u':
      return kUInt;
    default:
      return kBool;
  }
}

// Every element lies within an address range that int64 can hold, so that offsets never overflow.
Status check_extent(std::span<const std::int64_t> sizes, std::span<const std::int64_t> strides, std::int64_t element) {
  std::int64_t count = 1, low = 0, high = 0;
  for (const std::int64_t size : sizes) {
    if (size < 0) return fail(ErrorKind::kInvalidArgument, "DLPack tensor has a negative size: {}", size);
  }
  if (std::find(sizes.begin(), sizes.end(), 0) != sizes.end()) return {};
  for (std::size_t axis = 0; axis < sizes.size(); ++axis) {
    std::int64_t reach = 0;
    std::int64_t& end = strides[axis] < 0 ? low : high;
    const bool overflow = __builtin_mul_overflow(count, sizes[axis], &count) ||
                          __builtin_mul_overflow(sizes[axis] - 1, strides[axis], &reach) ||
                          __builtin_add_overflow(end, reach, &end);
    std::int64_t bytes = 0;
    if (overflow || __builtin_mul_overflow(count, element, &bytes) || __builtin_mul_overflow(end, element, &bytes)) {
      return fail(ErrorKind::kInvalidArgument, "DLPack tensor is larger than memory: size {} with stride {} at axis {}",
                  sizes[axis], strides[axis], axis);
    }
  }
  return {};
}

Result<Tensor> import_view(const DLTensor& in, std::shared_ptr<void> owner) {
  TW_ASSIGN(const DType dtype, from_dlpack(in.dtype));
  if (in.device.type != kDLCpu) {
    return fail(ErrorKind::kUnsupported, "DLPack tensor is on device type {}, only the CPU (1) is supported",
                in.device.type);
  }
  if (in.ndim < 0 || in.ndim > kHighestRank) {
    return fail(ErrorKind::kInvalidArgument, "DLPack tensor has rank {}, expected 0 to {}", in.ndim, kHighestRank);
  }
  if (in.ndim > 0 && in.shape == nullptr) {
    return fail(ErrorKind::kInvalidArgument, "DLPack tensor of rank {} has no shape", in.ndim);
  }
  const auto rank = static_cast<std::size_t>(in.ndim);
  std::vector<std::int64_t> sizes(in.shape, in.shape + rank);
  std::vector<std::int64_t> strides;
  if (in.strides != nullptr) {
    strides.assign(in.strides, in.strides + rank);
  } else {
    // Row-major strides of sizes that are not checked yet: any product that overflows is caught by check_extent.
    strides.resize(rank);
    std::uint64_t stride = 1;
    for (std::size_t axis = rank; axis-- > 0;) {
      strides[axis] = static_cast<std::int64_t>(stride);
      stride *= static_cast<std::uint64_t>(std::max<std::int64_t>(sizes[axis], 1));
    }
  }
  TW_TRY(check_extent(sizes, strides, byte_size(dtype)));
  const bool empty = std::find(sizes.begin(), sizes.end(), 0) != sizes.end();
  if (in.data == nullptr && !empty) return fail(ErrorKind::kInvalidArgument, "DLPack tensor has no data");
  void* data = in.data == nullptr ? nullptr : static_cast<std::byte*>(in.data) + in.byte_offset;
  if (reinterpret_cast<std::uintptr_t>(data) % static_cast<std::uintptr_t>(byte_size(dtype)) != 0) {
    return fail(ErrorKind::kUnsupported, "DLPack tensor of {} is not aligned to {} bytes", dtype, byte_size(dtype));
  }
  return Tensor(dtype, std::move(sizes), std::move(strides), data, std::move(owner));
}

// Checks first, and only then takes ownership.
template <typename Managed>
Result<Tensor> import_managed(Managed* managed) {
  TW_ASSIGN(Tensor view, import_view(managed->tensor, nullptr));
  std::shared_ptr<void> owner(managed, [](void* pointer) {
    auto* self = static_cast<Managed*>(pointer);
    if (self->deleter != nullptr) self->deleter(self);
  });
  const std::span<const std::int64_t> sizes = view.sizes(), strides = view.strides();
  return Tensor(view.dtype(), {sizes.begin(), sizes.end()}, {strides.begin(), strides.end()}, view.data(),
                std::move(owner));
}

// The exported struct with what it points at; the consumer's deleter call frees both.
template <typename Managed>
struct Exported {
  Managed managed{};
  Tensor tensor;
  std::vector<std::int64_t> sizes, strides;
};

template <typename Managed>
Managed* export_managed(const Tensor& tensor) {
  auto* out = new Exported<Managed>;
  out->tensor = tensor;
  out->sizes.assign(tensor.sizes().begin(), tensor.sizes().end());
  out->strides.assign(tensor.strides().begin(), tensor.strides().end());
  out->managed.tensor = {tensor.data(),
                         {kDLCpu, 0},
                         static_cast<std::int32_t>(tensor.rank()),
                         to_dlpack(tensor.dtype()),
                         out->sizes.data(),
                         out->strides.data(),
                         0};
  out->managed.context = out;
  out->managed.deleter = [](Managed* self) { delete static_cast<Exported<Managed>*>(self->context); };
  return &out->managed;
}

}  // namespace

DLDataType to_dlpack(DType dtype) {
  return {code_of(dtype), static_cast<std::uint8_t>(byte_size(dtype) * 8), 1};
}

Result<DType> from_dlpack(DLDataType type) {
  if (type.lanes == 1) {
#define DTYPE(Name, ...)                                                                            \
  if (to_dlpack(DType::k##Name).code == type.code && to_dlpack(DType::k##Name).bits == type.bits) { \
    return DType::k##Name;                                                                          \
  }
#include "tilewright/tensor/dtypes.def"
#undef DTYPE
  }
  return fail(ErrorKind::kUnsupported, "DLPack dtype is not supported: code {}, {} bits, {} lanes", type.code,
              type.bits, type.lanes);
}

Result<Tensor> from_dlpack(DLManagedTensor* managed) {
  if (managed == nullptr) return fail(ErrorKind::kInvalidArgument, "DLPack tensor is null");
  return import_managed(managed);
}

Result<Tensor> from_dlpack(DLManagedTensorVersioned* managed) {
  if (managed == nullptr) return fail(ErrorKind::kInvalidArgument, "DLPack tensor is null");
  if (managed->version.major != kDLPackVersion.major) {
    return fail(ErrorKind::kUnsupported, "DLPack version {}.{} is not supported, expected {}.x", managed->version.major,
                managed->version.minor, kDLPackVersion.major);
  }
  return import_managed(managed);
}

DLManagedTensor* to_dlpack(const Tensor& tensor) {
  return export_managed<DLManagedTensor>(tensor);
}

DLManagedTensorVersioned* to_dlpack_versioned(const Tensor& tensor, bool read_only) {
  auto* out = export_managed<DLManagedTensorVersioned>(tensor);
  out->version = kDLPackVersion;
  out->flags = read_only ? kDLReadOnly : 0;
  return out;
}

}  // namespace tilewright
