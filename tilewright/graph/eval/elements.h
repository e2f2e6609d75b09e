// Elements of tensors as plain numbers. The oracle computes in two lanes only: floats of every dtype as double,
// integers and bool as int64. A result is rounded (floats) or wrapped (integers) to its dtype once, when it is stored;
// for + - * / and sqrt this equals computing in the dtype itself, because double holds more than twice the digits of
// f32.
#pragma once

#include <span>
#include <type_traits>

#include "tilewright/graph/graph.h"

namespace tilewright {

template <typename T>
using Elements = std::vector<T>;  // in row-major order

// `tensor` may have any strides. A lane must fit the dtype: double for floats, int64_t for integers and bool.
template <typename T>
Elements<T> load(const Tensor& tensor);
template <typename T>
Tensor store(DType dtype, Ints sizes, const Elements<T>& elements);

// The nearest value that a float dtype holds.
double round_to(DType dtype, double value);
// The value an integer dtype keeps of `value`: its low bits; for bool whether it is not 0.
std::int64_t wrap_to(DType dtype, std::int64_t value);

// Calls f.template operator()<double>() or <int64_t>(), whichever lane holds `dtype`.
template <typename F>
decltype(auto) visit_lane(DType dtype, F&& f) {
  return is_float(dtype) ? f.template operator()<double>() : f.template operator()<std::int64_t>();
}

// Arithmetic that wraps for integers.
inline double plus(double a, double b) {
  return a + b;
}
inline double minus(double a, double b) {
  return a - b;
}
inline double times(double a, double b) {
  return a * b;
}
inline std::int64_t plus(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}
inline std::int64_t minus(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b));
}
inline std::int64_t times(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
}
inline bool is_nan(double value) {
  return value != value;
}
inline bool is_nan(std::int64_t) {
  return false;
}
// The order of sorting: nan is larger than every number.
template <typename T>
bool before(T a, T b) {
  return is_nan(b) ? !is_nan(a) : a < b;
}
// The lowest and highest value of a dtype, infinities included.
template <typename T>
T lowest(DType dtype);
template <typename T>
T highest(DType dtype);

std::int64_t product(std::span<const std::int64_t> sizes);
// No size is negative, and the elements can be counted in bytes.
Status check_sizes(std::span<const std::int64_t> sizes);
// Position of `index` in row-major order.
std::int64_t position(std::span<const std::int64_t> index, std::span<const std::int64_t> sizes);
// Steps `index` to the next element in row-major order; false after the last one.
bool advance(Ints& index, std::span<const std::int64_t> sizes);

// Calls f(index) for every index of `sizes` in row-major order.
template <typename F>
void for_each_index(std::span<const std::int64_t> sizes, F&& f) {
  if (product(sizes) == 0) return;
  Ints index(sizes.size(), 0);
  do {
    f(static_cast<const Ints&>(index));
  } while (advance(index, sizes));
}

// Copies element `from` of row-major `source` to element `to` of row-major `target`, bit by bit. Same dtype.
void copy_element(const Tensor& source, std::int64_t from, const Tensor& target, std::int64_t to);
// A new tensor whose element at each index is the element of row-major `x` at position source(index).
template <typename F>
Tensor copy_elements(const Tensor& x, Ints sizes, F&& source) {
  Tensor out(x.dtype(), sizes);
  std::int64_t to = 0;
  for_each_index(sizes, [&](const Ints& index) { copy_element(x, source(index), out, to++); });
  return out;
}
// A copy in row-major memory of its own.
Tensor clone(const Tensor& tensor);
Ints sizes_of(const Tensor& tensor);

// The sizes that the tensors have once broadcast together, aligned at the last axis.
Result<Ints> broadcast_sizes(std::span<const Tensor> tensors);
// A view of `tensor` with `sizes`, to which it broadcasts.
Result<Tensor> expand(const Tensor& tensor, std::span<const std::int64_t> sizes);

}  // namespace tilewright
