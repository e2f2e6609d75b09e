#include "tilewright/runtime/arguments.h"

#include <algorithm>

#include "tilewright/runtime/result_memory.h"

namespace tilewright::runtime {

TensorArg TensorArg::of(const Tensor& tensor) {
  TensorArg arg{
      .dtype = tensor.dtype(), .rank = static_cast<int>(tensor.rank()), .data = static_cast<std::byte*>(tensor.data())};
  const std::size_t rank = std::min(tensor.rank(), arg.sizes.size());  // a call refuses what has more
  std::copy_n(tensor.sizes().begin(), rank, arg.sizes.begin());
  std::copy_n(tensor.strides().begin(), rank, arg.strides.begin());
  return arg;
}

std::int64_t bytes_spanned(DType dtype, std::span<const std::int64_t> sizes, std::span<const std::int64_t> strides) {
  if (std::ranges::find(sizes, 0) != sizes.end()) return 0;
  std::int64_t last = 0;
  for (std::size_t axis = 0; axis < sizes.size(); ++axis) {
    last += (sizes[axis] - 1) * strides[axis];
  }
  return (last + 1) * byte_size(dtype);
}

Result<std::byte*> TensorSink::allocate(std::size_t output, DType dtype, std::span<const std::int64_t> sizes,
                                        std::span<const std::int64_t> strides) {
  const std::int64_t bytes = bytes_spanned(dtype, sizes, strides);
  std::shared_ptr<void> memory = ResultMemory::of_process().take(static_cast<std::size_t>(bytes));
  if (memory == nullptr) return fail(ErrorKind::kOutOfMemory, "output {} needs {} bytes", output, bytes);
  auto* const data = static_cast<std::byte*>(memory.get());
  if (tensors_.size() <= output) tensors_.resize(output + 1);
  tensors_[output] =
      Tensor(dtype, {sizes.begin(), sizes.end()}, {strides.begin(), strides.end()}, data, std::move(memory));
  return data;
}

}  // namespace tilewright::runtime
