#include "tilewright/runtime/unique.h"

#include <algorithm>
#include <numeric>

namespace tilewright::runtime {
namespace {

template <typename T>
bool before(T a, T b) {
  if constexpr (!std::is_integral_v<T>) {
    const auto x = static_cast<double>(a), y = static_cast<double>(b);
    if (x != x || y != y) return x == x;  // numbers before nan
    return x < y;
  } else {
    return a < b;
  }
}

template <typename T>
UniqueResult unique_of(const Tensor& x) {
  const std::int64_t n = x.count();
  const T* data = x.data_as<T>();
  std::vector<std::int64_t> order(static_cast<std::size_t>(n));
  std::iota(order.begin(), order.end(), std::int64_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::int64_t a, std::int64_t b) { return before(data[a], data[b]); });
  std::vector<T> values;
  std::vector<std::int64_t> counts;
  UniqueResult out{.inverse = Tensor(DType::kI64, {n})};
  for (std::int64_t place : order) {
    const T element = data[place];
    const bool is_nan = static_cast<double>(element) != static_cast<double>(element);
    if (values.empty() || is_nan || before<T>(values.back(), element)) {
      values.push_back(element);
      counts.push_back(0);
    }
    counts.back()++;
    out.inverse.data_as<std::int64_t>()[place] = static_cast<std::int64_t>(values.size()) - 1;
  }
  const auto count = static_cast<std::int64_t>(values.size());
  out.values = Tensor(x.dtype(), {count});
  std::copy(values.begin(), values.end(), out.values.data_as<T>());
  out.counts = Tensor(DType::kI64, {count});
  std::copy(counts.begin(), counts.end(), out.counts.data_as<std::int64_t>());
  return out;
}

}  // namespace

UniqueResult unique(const Tensor& contiguous) {
  return visit(contiguous.dtype(), [&]<typename T>() { return unique_of<T>(contiguous); });
}

}  // namespace tilewright::runtime
