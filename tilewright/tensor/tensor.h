// Tensor: a strided view of memory with an owner. Strides are in elements and may be 0 or negative; rank 0 is a scalar.
// Copying a Tensor shares the memory. Used at borders (constants, sessions, the oracle), not inside kernels.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "tilewright/base/result.h"
#include "tilewright/tensor/dtype.h"

namespace tilewright {

class Tensor {
 public:
  Tensor() = default;
  // New contiguous memory, 64-byte aligned, not initialised.
  Tensor(DType dtype, std::vector<std::int64_t> sizes);
  // A view of memory that `owner` keeps alive (null: the caller does). Strides in elements.
  Tensor(DType dtype, std::vector<std::int64_t> sizes, std::vector<std::int64_t> strides, void* data,
         std::shared_ptr<void> owner = nullptr);
  static Tensor zeros(DType dtype, std::vector<std::int64_t> sizes);
  template <typename T>
  static Tensor from(std::vector<std::int64_t> sizes, std::span<const T> values);
  template <typename T>
  static Tensor scalar(T value);

  DType dtype() const { return dtype_; }
  std::span<const std::int64_t> sizes() const { return sizes_; }
  std::span<const std::int64_t> strides() const { return strides_; }
  std::size_t rank() const { return sizes_.size(); }
  std::int64_t count() const;  // number of elements
  std::int64_t bytes() const { return count() * byte_size(dtype_); }
  bool is_contiguous() const;
  Tensor contiguous() const;  // itself, or a row-major copy
  const std::shared_ptr<void>& owner() const { return owner_; }

  void* data() const { return data_; }
  template <typename T>
  T* data_as() const {
    return static_cast<T*>(data_);
  }  // unchecked: the caller knows the dtype
  template <typename T>
  T& at(std::span<const std::int64_t> index) const;  // unchecked

 private:
  DType dtype_ = DType::kF32;
  std::vector<std::int64_t> sizes_;
  std::vector<std::int64_t> strides_;
  void* data_ = nullptr;
  std::shared_ptr<void> owner_;
};

std::vector<std::int64_t> contiguous_strides(std::span<const std::int64_t> sizes);

template <typename T>
Tensor Tensor::from(std::vector<std::int64_t> sizes, std::span<const T> values) {
  Tensor out(DTypeOf<T>::value, std::move(sizes));
  TW_CHECK(out.count() == static_cast<std::int64_t>(values.size()), "one value per element");
  for (std::size_t i = 0; i < values.size(); ++i) out.data_as<T>()[i] = values[i];
  return out;
}

template <typename T>
Tensor Tensor::scalar(T value) {
  Tensor out(DTypeOf<T>::value, {});
  *out.data_as<T>() = value;
  return out;
}

template <typename T>
T& Tensor::at(std::span<const std::int64_t> index) const {
  std::int64_t offset = 0;
  for (std::size_t axis = 0; axis < index.size(); ++axis) offset += index[axis] * strides_[axis];
  return data_as<T>()[offset];
}

}  // namespace tilewright
