// Rows split by the remainder of their columns, so that elements a step apart stand side by side. HOT: no allocation.
#pragma once

#include <utility>

#include "tilewright/vm/cpu/level/vec.h"

namespace tilewright::vm::cpu::TW_LEVEL {

template <typename Vector, int... I>
TW_INLINE Vector every_other(Vector a, Vector b, int first, std::integer_sequence<int, I...>) {
  return first == 0 ? __builtin_shufflevector(a, b, (2 * I)...) : __builtin_shufflevector(a, b, (2 * I + 1)...);
}

// to[r * room + j] = from[j * 2 + r] for j below count, rounded up to whole vectors in both.
template <typename T>
static inline void split_by_two(T* to, std::int64_t room, const T* from, std::int64_t count) {
  typedef T Vector __attribute__((vector_size(kVectorBytes), may_alias));
  typedef T Unaligned __attribute__((vector_size(kVectorBytes), aligned(1), may_alias));
  constexpr int kCount = kVectorBytes / static_cast<int>(sizeof(T));
  constexpr auto kOrder = std::make_integer_sequence<int, kCount>{};
  for (std::int64_t j = 0; j < count; j += kCount) {
    const auto a = (Vector) * reinterpret_cast<const Unaligned*>(from + 2 * j);
    const auto b = (Vector) * reinterpret_cast<const Unaligned*>(from + 2 * j + kCount);
    *reinterpret_cast<Unaligned*>(to + j) = (Unaligned)every_other(a, b, 0, kOrder);
    *reinterpret_cast<Unaligned*>(to + room + j) = (Unaligned)every_other(a, b, 1, kOrder);
  }
}

}  // namespace tilewright::vm::cpu::TW_LEVEL
