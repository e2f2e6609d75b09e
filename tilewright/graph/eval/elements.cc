// Loading, storing and walking over elements; broadcasting.
#include "tilewright/graph/eval/elements.h"

#include <algorithm>
#include <cstring>
#include <limits>

namespace tilewright {
namespace {

// Converts between a lane and an element type.
template <typename T, typename Lane>
Lane to_lane(T value) {
  if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) {
    return static_cast<Lane>(static_cast<float>(value));
  } else {
    return static_cast<Lane>(value);
  }
}

template <typename T, typename Lane>
T from_lane(Lane value) {
  if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) {
    return T(static_cast<float>(value));
  } else if constexpr (std::is_same_v<T, bool>) {
    return value != 0;
  } else {
    return static_cast<T>(value);
  }
}

template <typename T, typename Lane>
constexpr bool fits_lane() {
  constexpr bool is_float_type = DTypeOf<T>::value == DType::kF32 || DTypeOf<T>::value == DType::kF64 ||
                                 DTypeOf<T>::value == DType::kF16 || DTypeOf<T>::value == DType::kBF16;
  return is_float_type == std::is_same_v<Lane, double>;
}

}  // namespace

template <typename Lane>
Elements<Lane> load(const Tensor& tensor) {
  Elements<Lane> out;
  out.reserve(static_cast<std::size_t>(tensor.count()));
  visit(tensor.dtype(), [&]<typename T>() {
    TW_CHECK((fits_lane<T, Lane>()), to_string(tensor.dtype()));
    for_each_index(tensor.sizes(), [&](const Ints& index) { out.push_back(to_lane<T, Lane>(tensor.at<T>(index))); });
  });
  return out;
}

template <typename Lane>
Tensor store(DType dtype, Ints sizes, const Elements<Lane>& elements) {
  Tensor out(dtype, std::move(sizes));
  TW_CHECK(out.count() == static_cast<std::int64_t>(elements.size()), "one value per element");
  visit(dtype, [&]<typename T>() {
    TW_CHECK((fits_lane<T, Lane>()), to_string(dtype));
    for (std::size_t i = 0; i < elements.size(); ++i) out.data_as<T>()[i] = from_lane<T, Lane>(elements[i]);
  });
  return out;
}

template Elements<double> load(const Tensor&);
template Elements<std::int64_t> load(const Tensor&);
template Tensor store(DType, Ints, const Elements<double>&);
template Tensor store(DType, Ints, const Elements<std::int64_t>&);

double round_to(DType dtype, double value) {
  return visit(dtype, [&]<typename T>() -> double {
    if constexpr (fits_lane<T, double>()) return to_lane<T, double>(from_lane<T, double>(value));
    return value;
  });
}

std::int64_t wrap_to(DType dtype, std::int64_t value) {
  return visit(dtype, [&]<typename T>() -> std::int64_t {
    if constexpr (fits_lane<T, std::int64_t>()) return to_lane<T, std::int64_t>(from_lane<T, std::int64_t>(value));
    return value;
  });
}

template <>
double lowest<double>(DType) {
  return -std::numeric_limits<double>::infinity();
}
template <>
double highest<double>(DType) {
  return std::numeric_limits<double>::infinity();
}
template <>
std::int64_t lowest<std::int64_t>(DType dtype) {
  return visit(dtype, []<typename T>() -> std::int64_t {
    if constexpr (fits_lane<T, std::int64_t>()) return std::numeric_limits<T>::lowest();
    return 0;
  });
}
template <>
std::int64_t highest<std::int64_t>(DType dtype) {
  return visit(dtype, []<typename T>() -> std::int64_t {
    if constexpr (fits_lane<T, std::int64_t>()) return std::numeric_limits<T>::max();
    return 0;
  });
}

std::int64_t product(std::span<const std::int64_t> sizes) {
  std::int64_t out = 1;
  for (const std::int64_t size : sizes) out *= size;
  return out;
}

Status check_sizes(std::span<const std::int64_t> sizes) {
  std::int64_t bytes = 8;
  for (std::size_t axis = 0; axis < sizes.size(); ++axis) {
    if (sizes[axis] < 0) return fail(ErrorKind::kShapeMismatch, "size {} of axis {} is negative", sizes[axis], axis);
    // An empty axis does not excuse the others: their product must still be a number.
    if (__builtin_mul_overflow(bytes, std::max<std::int64_t>(sizes[axis], 1), &bytes)) {
      return fail(ErrorKind::kOutOfMemory, "the sizes up to axis {} = {} exceed any memory", axis, sizes[axis]);
    }
  }
  return {};
}

std::int64_t position(std::span<const std::int64_t> index, std::span<const std::int64_t> sizes) {
  std::int64_t out = 0;
  for (std::size_t axis = 0; axis < sizes.size(); ++axis) out = out * sizes[axis] + index[axis];
  return out;
}

bool advance(Ints& index, std::span<const std::int64_t> sizes) {
  for (std::size_t axis = sizes.size(); axis-- > 0;) {
    if (++index[axis] < sizes[axis]) return true;
    index[axis] = 0;
  }
  return false;
}

void copy_element(const Tensor& source, std::int64_t from, const Tensor& target, std::int64_t to) {
  const std::int64_t bytes = byte_size(source.dtype());
  std::memcpy(target.data_as<char>() + to * bytes, source.data_as<const char>() + from * bytes,
              static_cast<std::size_t>(bytes));
}

Ints sizes_of(const Tensor& tensor) {
  return Ints(tensor.sizes().begin(), tensor.sizes().end());
}

Tensor clone(const Tensor& tensor) {
  const Tensor rows = tensor.contiguous();
  Tensor out(tensor.dtype(), sizes_of(tensor));
  if (out.bytes() > 0) std::memcpy(out.data(), rows.data(), static_cast<std::size_t>(out.bytes()));
  return out;
}

Result<Ints> broadcast_sizes(std::span<const Tensor> tensors) {
  std::size_t rank = 0;
  for (const Tensor& tensor : tensors) rank = std::max(rank, tensor.rank());
  Ints out(rank, 1);
  for (const Tensor& tensor : tensors) {
    for (std::size_t axis = rank - tensor.rank(); axis < rank; ++axis) {
      const std::int64_t size = tensor.sizes()[axis - (rank - tensor.rank())];
      if (size == 1 || size == out[axis]) continue;
      if (out[axis] != 1) {
        return fail(ErrorKind::kShapeMismatch, "sizes do not broadcast at axis {}: {} and {}", axis, out[axis], size);
      }
      out[axis] = size;
    }
  }
  return out;
}

Result<Tensor> expand(const Tensor& tensor, std::span<const std::int64_t> sizes) {
  if (tensor.rank() > sizes.size()) {
    return fail(ErrorKind::kShapeMismatch, "rank {} does not broadcast to rank {}", tensor.rank(), sizes.size());
  }
  const std::size_t added = sizes.size() - tensor.rank();
  Ints strides(sizes.size(), 0);
  for (std::size_t axis = added; axis < sizes.size(); ++axis) {
    const std::int64_t size = tensor.sizes()[axis - added];
    if (size != 1 && size != sizes[axis]) {
      return fail(ErrorKind::kShapeMismatch, "size {} does not broadcast to {} at axis {}", size, sizes[axis], axis);
    }
    if (size != 1) strides[axis] = tensor.strides()[axis - added];
  }
  return Tensor(tensor.dtype(), Ints(sizes.begin(), sizes.end()), std::move(strides), tensor.data(), tensor.owner());
}

}  // namespace tilewright
