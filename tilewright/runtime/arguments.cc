#include "tilewright/runtime/arguments.h"

#include <algorithm>
#include <cstdlib>

namespace tilewright::runtime {

TensorArg TensorArg::of(const Tensor& tensor) {
  TensorArg arg{
      .dtype = tensor.dtype(), .rank = static_cast<int>(tensor.rank()), .data = static_cast<std::byte*>(tensor.data())};
  const std::size_t rank = std::min(tensor.rank(), arg.sizes.size());  // a call refuses what has more
  std::copy_n(tensor.sizes().begin(), rank, arg.sizes.begin());
  std::copy_n(tensor.strides().begin(), rank, arg.strides.begin());
  return arg;
}

Result<std::byte*> TensorSink::allocate(std::size_t output, DType dtype, std::span<const std::int64_t> sizes,
                                        std::span<const std::int64_t> strides) {
  std::int64_t last = 0;
  bool empty = false;
  for (std::size_t axis = 0; axis < sizes.size(); ++axis) {
    empty = empty || sizes[axis] == 0;
    last += (sizes[axis] - 1) * strides[axis];
  }
  const std::int64_t bytes = empty ? 0 : (last + 1) * byte_size(dtype);
  void* memory = std::aligned_alloc(64, static_cast<std::size_t>((bytes + 127) / 64 * 64));
  if (memory == nullptr) return fail(ErrorKind::kOutOfMemory, "output {} needs {} bytes", output, bytes);
  if (tensors_.size() <= output) tensors_.resize(output + 1);
  tensors_[output] = Tensor(dtype, {sizes.begin(), sizes.end()}, {strides.begin(), strides.end()}, memory,
                            std::shared_ptr<void>(memory, std::free));
  return static_cast<std::byte*>(memory);
}

}  // namespace tilewright::runtime
