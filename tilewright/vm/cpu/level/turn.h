// Turns a matrix around: squares of elements in registers, edges one by one. HOT: no allocation, no call.
#pragma once

#include <utility>

#include "tilewright/vm/cpu/level/level.h"

namespace tilewright::vm::cpu::TW_LEVEL {

// Squares of 16 bytes a side for narrow elements, 32 for wide ones where there are such vectors.
template <typename T>
inline constexpr int kSide = (sizeof(T) <= 2 || kVectorBytes < 32 ? 16 : 32) / static_cast<int>(sizeof(T));
template <typename T>
struct RowVector {
  typedef T Type __attribute__((vector_size(kSide<T> * sizeof(T))));
  typedef T Unaligned __attribute__((vector_size(kSide<T> * sizeof(T)), aligned(1), may_alias));
};

template <typename V, int... I>
[[gnu::always_inline]] inline V zip_low(V a, V b, std::integer_sequence<int, I...>) {
  constexpr int kSize = sizeof...(I);
  return (V)__builtin_shufflevector(a, b, (I % 2 * kSize + I / 2)...);
}
template <typename V, int... I>
[[gnu::always_inline]] inline V zip_high(V a, V b, std::integer_sequence<int, I...>) {
  constexpr int kSize = sizeof...(I);
  return (V)__builtin_shufflevector(a, b, (I % 2 * kSize + kSize / 2 + I / 2)...);
}

// Element j of row i becomes number j * N + i of all: each round of zips rotates the bits of the number by one.
template <typename V, int N>
[[gnu::always_inline]] inline void zip_rows(V (&rows)[N]) {
  constexpr auto kOrder = std::make_integer_sequence<int, static_cast<int>(sizeof(V) / sizeof(rows[0][0]))>{};
#pragma GCC unroll 4
  for (int round = 1; round < N; round *= 2) {
    V next[N];
#pragma GCC unroll 8
    for (int i = 0; i < N / 2; ++i) {
      next[2 * i] = zip_low(rows[i], rows[i + N / 2], kOrder);
      next[2 * i + 1] = zip_high(rows[i], rows[i + N / 2], kOrder);
    }
#pragma GCC unroll 16
    for (int i = 0; i < N; ++i) rows[i] = next[i];
  }
}

// Rows of N elements at `to`, to_stride apart, become those of kSide elements at `from`: N x kSide elements.
template <typename T, int N>
[[gnu::always_inline]] inline void turn_block(char* to, std::int64_t to_stride, const char* from,
                                              std::int64_t from_stride) {
  using Unaligned = typename RowVector<T>::Unaligned;
  typename RowVector<T>::Type rows[N];
#pragma GCC unroll 16
  for (int i = 0; i < N; ++i)
    rows[i] = (typename RowVector<T>::Type) * reinterpret_cast<const Unaligned*>(from + i * from_stride);
  zip_rows(rows);
#pragma GCC unroll 16
  for (int i = 0; i < N; ++i) *reinterpret_cast<Unaligned*>(to + i * to_stride) = (Unaligned)rows[i];
}

// to[r, p] (p contiguous) = from[p, r] (r contiguous)
template <typename T>
static void turn(char* to, std::int64_t to_stride, const char* from, std::int64_t from_stride, std::int64_t rows,
                 std::int64_t count) {
  constexpr int kSize = kSide<T>;
  constexpr auto kBytes = static_cast<std::int64_t>(sizeof(T));
  const auto one = [&](std::int64_t r, std::int64_t p) [[gnu::always_inline]] {
    __builtin_memcpy(to + r * to_stride + p * kBytes, from + p * from_stride + r * kBytes, sizeof(T));
  };
  if ((count == 2 || count == 4) && count < kSize && to_stride == count * kBytes) {  // the rows of `to` are one
    const std::int64_t whole = rows / kSize * kSize;
    for (std::int64_t r = 0; r < whole; r += kSize) {
      if (count == 2) turn_block<T, 2>(to + r * to_stride, kSize * kBytes, from + r * kBytes, from_stride);
      if (count == 4) turn_block<T, 4>(to + r * to_stride, kSize * kBytes, from + r * kBytes, from_stride);
    }
    for (std::int64_t r = whole; r < rows; ++r) {
      for (std::int64_t p = 0; p < count; ++p) one(r, p);
    }
    return;
  }
  const std::int64_t whole_rows = rows / kSize * kSize, whole = count / kSize * kSize;
  for (std::int64_t p = 0; p < whole; p += kSize) {
    for (std::int64_t r = 0; r < whole_rows; r += kSize) {
      turn_block<T, kSize>(to + r * to_stride + p * kBytes, to_stride, from + p * from_stride + r * kBytes,
                           from_stride);
    }
    for (std::int64_t r = whole_rows; r < rows; ++r) {
      for (std::int64_t i = p; i < p + kSize; ++i) one(r, i);
    }
  }
  for (std::int64_t p = whole; p < count; ++p) {
    for (std::int64_t r = 0; r < rows; ++r) one(r, p);
  }
}

}  // namespace tilewright::vm::cpu::TW_LEVEL
