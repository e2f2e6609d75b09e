// How tensors cross the border of the runtime: addresses, sizes and strides, nothing is copied or owned.
#pragma once

#include "tilewright/compiler/kernel.h"
#include "tilewright/tensor/tensor.h"

namespace tilewright::runtime {

struct TensorArg {
  DType dtype = DType::kF32;
  int rank = 0;
  std::byte* data = nullptr;
  std::array<std::int64_t, compiler::kMaxTensorRank> sizes{};
  std::array<std::int64_t, compiler::kMaxTensorRank> strides{};  // elements
  // Of weights: the same (identity, version) means the same content. 0: unknown, packed anew at each call.
  std::uint64_t identity = 0;
  std::uint64_t version = 0;

  static TensorArg of(const Tensor& tensor);
};

// From the first to the last byte that elements of these sizes take; strides in elements, none negative.
std::int64_t bytes_spanned(DType dtype, std::span<const std::int64_t> sizes, std::span<const std::int64_t> strides);

// Gives memory for results, asked as soon as the sizes are known. Strides in elements.
class OutputSink {
 public:
  virtual ~OutputSink() = default;
  virtual Result<std::byte*> allocate(std::size_t output, DType dtype, std::span<const std::int64_t> sizes,
                                      std::span<const std::int64_t> strides) = 0;
};

// Runs what has no lowering. The inputs are views that are valid during the call.
class HostCalls {
 public:
  virtual ~HostCalls() = default;
  virtual Result<std::vector<Tensor>> call(std::int64_t target, std::span<const Tensor> inputs) = 0;
};

// Results as tensors that own their memory.
class TensorSink final : public OutputSink {
 public:
  Result<std::byte*> allocate(std::size_t output, DType dtype, std::span<const std::int64_t> sizes,
                              std::span<const std::int64_t> strides) override;
  std::vector<Tensor>& tensors() { return tensors_; }

 private:
  std::vector<Tensor> tensors_;
};

}  // namespace tilewright::runtime
