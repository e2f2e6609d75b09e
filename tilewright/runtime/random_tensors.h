// Random input tensors for property tests: few-bit values, any layout; and the comparison with the oracle.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <random>

#include "tilewright/tensor/tensor.h"

namespace tilewright::runtime {

using Random = std::mt19937_64;

inline std::int64_t below(Random& random, std::int64_t limit) {
  return std::uniform_int_distribution<std::int64_t>(0, limit - 1)(random);
}

// Floats are multiples of 1/8 in [-2, 2], signed integers lie in [-5, 5], unsigned ones in [0, 9].
inline void fill(Random& random, const Tensor& contiguous) {
  visit(contiguous.dtype(), [&]<typename T>() {
    for (std::int64_t i = 0; i < contiguous.count(); ++i) {
      const DType dtype = contiguous.dtype();
      const double value = is_float(dtype)         ? static_cast<double>(below(random, 33) - 16) / 8
                           : dtype == DType::kBool ? static_cast<double>(below(random, 2))
                           : dtype == DType::kU8   ? static_cast<double>(below(random, 10))
                                                   : static_cast<double>(below(random, 11) - 5);
      contiguous.data_as<T>()[i] = static_cast<T>(static_cast<float>(value));
    }
  });
}

enum class Layout { kContiguous, kTransposed, kSteps, kExpanded, kReversed, kOffset };

// A tensor of random values whose elements lie in memory as `layout` says.
inline Tensor random_tensor(Random& random, DType dtype, const std::vector<std::int64_t>& sizes, Layout layout) {
  const std::size_t rank = sizes.size();
  std::vector<std::size_t> order(rank);
  std::iota(order.begin(), order.end(), std::size_t{0});
  if (layout == Layout::kTransposed) std::shuffle(order.begin(), order.end(), random);
  std::vector<std::int64_t> strides(rank), steps(rank, 1), held = sizes;
  std::int64_t first = 0;
  for (std::size_t axis = 0; axis < rank; ++axis) {
    if (layout == Layout::kSteps && below(random, 2) == 0) steps[axis] = 2 + below(random, 2);
    if (layout == Layout::kExpanded && below(random, 2) == 0) steps[axis] = 0;
    if (layout == Layout::kReversed && below(random, 2) == 0) steps[axis] = -1;
    held[axis] = steps[axis] == 0 ? 1 : sizes[axis] * std::abs(steps[axis]);
  }
  std::int64_t stride = 1;
  for (std::size_t i = rank; i-- > 0;) {
    const std::size_t axis = order[i];
    strides[axis] = stride * steps[axis];
    if (steps[axis] < 0 && sizes[axis] > 0) first += stride * (sizes[axis] - 1);
    stride *= held[axis];
  }
  const std::int64_t lead = layout == Layout::kOffset ? 1 + below(random, 3) : 0;
  const Tensor storage(dtype, {stride + lead});
  fill(random, storage);
  auto* data = static_cast<std::byte*>(storage.data()) + (first + lead) * byte_size(dtype);
  return Tensor(dtype, sizes, strides, data, storage.owner());
}

inline Layout random_layout(Random& random, bool written) {
  static constexpr Layout kAny[] = {Layout::kContiguous, Layout::kContiguous, Layout::kTransposed, Layout::kSteps,
                                    Layout::kReversed,   Layout::kOffset,     Layout::kExpanded};
  return kAny[below(random, written ? 6 : 7)];
}

inline Tensor clone(const Tensor& tensor) {  // keeps the strides
  std::int64_t low = 0, high = 0;
  for (std::size_t axis = 0; axis < tensor.rank(); ++axis) {
    const std::int64_t reach = (std::max<std::int64_t>(tensor.sizes()[axis], 1) - 1) * tensor.strides()[axis];
    (reach < 0 ? low : high) += reach;
  }
  const std::int64_t bytes = byte_size(tensor.dtype());
  const Tensor storage(tensor.dtype(), {high - low + 1});
  if (tensor.count() > 0)
    std::memcpy(storage.data(), static_cast<std::byte*>(tensor.data()) + low * bytes,
                static_cast<std::size_t>((high - low + 1) * bytes));
  return Tensor(tensor.dtype(), {tensor.sizes().begin(), tensor.sizes().end()},
                {tensor.strides().begin(), tensor.strides().end()},
                static_cast<std::byte*>(storage.data()) - low * bytes, storage.owner());
}

// Empty, or what differs: every element of `got` within `tolerance` of `want`; nan and inf where `want` has them.
inline std::string difference(const Tensor& got, const Tensor& want, double tolerance) {
  if (got.dtype() != want.dtype() || !std::ranges::equal(got.sizes(), want.sizes())) return "type or sizes differ";
  const Tensor a = got.contiguous(), b = want.contiguous();
  std::string text;
  visit(a.dtype(), [&]<typename T>() {
    for (std::int64_t i = 0; i < a.count() && text.empty(); ++i) {
      const T x = a.data_as<T>()[i], y = b.data_as<T>()[i];
      bool same = false;
      if constexpr (std::is_integral_v<T>) {
        same = x == y;
      } else {
        const auto p = static_cast<double>(x), q = static_cast<double>(y);
        same = p == q || (std::isnan(p) && std::isnan(q)) || std::abs(p - q) <= tolerance;
      }
      if (!same)
        text = fmt::format("element {} of {}: got {}, want {}, tolerance {}", i, a.count(), static_cast<double>(x),
                           static_cast<double>(y), tolerance);
    }
  });
  return text;
}

}  // namespace tilewright::runtime
