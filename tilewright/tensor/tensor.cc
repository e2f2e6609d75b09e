#include "tilewright/tensor/tensor.h"

#include <algorithm>
#include <cstring>
#include <new>

namespace tilewright {
namespace {

constexpr std::align_val_t kAlignment{64};

// Copies a strided view to row-major memory, innermost axis by a loop, the axes around it by recursion.
void copy_strided(const std::byte* from, std::byte*& to, std::span<const std::int64_t> sizes,
                  std::span<const std::int64_t> strides, std::size_t element) {
  if (sizes.empty()) {
    std::memcpy(to, from, element);
    to += element;
    return;
  }
  const std::ptrdiff_t step = strides[0] * static_cast<std::ptrdiff_t>(element);
  if (sizes.size() == 1 && strides[0] == 1) {
    const std::size_t row = static_cast<std::size_t>(sizes[0]) * element;
    if (row > 0) std::memcpy(to, from, row);
    to += row;
    return;
  }
  for (std::int64_t i = 0; i < sizes[0]; ++i)
    copy_strided(from + i * step, to, sizes.subspan(1), strides.subspan(1), element);
}

}  // namespace

std::vector<std::int64_t> contiguous_strides(std::span<const std::int64_t> sizes) {
  std::vector<std::int64_t> strides(sizes.size());
  std::uint64_t stride = 1;  // wraps where another axis is empty: then nothing is strided over
  for (std::size_t axis = sizes.size(); axis-- > 0;) {
    strides[axis] = static_cast<std::int64_t>(stride);
    stride *= static_cast<std::uint64_t>(sizes[axis] > 0 ? sizes[axis] : 1);
  }
  return strides;
}

Tensor::Tensor(DType dtype, std::vector<std::int64_t> sizes)
    : dtype_(dtype), sizes_(std::move(sizes)), strides_(contiguous_strides(sizes_)) {
  for (const std::int64_t size : sizes_) TW_CHECK(size >= 0, "a size is not negative");
  const auto needed = static_cast<std::size_t>(bytes());
  void* memory = ::operator new(needed > 0 ? needed : 1, kAlignment);
  owner_ = std::shared_ptr<void>(memory, [](void* pointer) { ::operator delete(pointer, kAlignment); });
  data_ = memory;
}

Tensor::Tensor(DType dtype, std::vector<std::int64_t> sizes, std::vector<std::int64_t> strides, void* data,
               std::shared_ptr<void> owner)
    : dtype_(dtype), sizes_(std::move(sizes)), strides_(std::move(strides)), data_(data), owner_(std::move(owner)) {
  TW_CHECK(sizes_.size() == strides_.size(), "one stride per size");
}

Tensor Tensor::zeros(DType dtype, std::vector<std::int64_t> sizes) {
  Tensor out(dtype, std::move(sizes));
  std::memset(out.data_, 0, static_cast<std::size_t>(out.bytes()));
  return out;
}

std::int64_t Tensor::count() const {
  if (std::ranges::find(sizes_, 0) != sizes_.end()) return 0;
  std::int64_t count = 1;
  for (const std::int64_t size : sizes_) {
    TW_CHECK(!__builtin_mul_overflow(count, size, &count), "the number of elements fits int64");
  }
  return count;
}

bool Tensor::is_contiguous() const {
  std::int64_t expected = 1;
  for (std::size_t axis = sizes_.size(); axis-- > 0;) {
    if (sizes_[axis] == 0) return true;
    if (sizes_[axis] != 1 && strides_[axis] != expected) return count() == 0;
    expected *= sizes_[axis];
  }
  return true;
}

Tensor Tensor::contiguous() const {
  if (is_contiguous()) return *this;
  Tensor out(dtype_, sizes_);
  auto* to = static_cast<std::byte*>(out.data_);
  copy_strided(static_cast<const std::byte*>(data_), to, sizes_, strides_, static_cast<std::size_t>(byte_size(dtype_)));
  return out;
}

}  // namespace tilewright
