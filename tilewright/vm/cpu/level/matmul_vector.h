// What the contraction kernels add to the vectors of the level: their shape, multiply-add, and vectors of which only
// the first lanes exist in memory. Compute types are float, double, uint32_t and uint64_t: integer sums wrap.
#pragma once

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "tilewright/vm/cpu/level/vec.h"

namespace tilewright::vm::cpu::TW_LEVEL {

template <>
struct VectorOf<std::uint32_t> {
  using Vec = u32x;
};
template <>
struct VectorOf<std::uint64_t> {
  using Vec = u64x;
};
template <typename T>
using Vec = VecOf<T>;

// What the micro-kernels keep in registers: kRows x kVecs accumulators, kVecs vectors of b, one element of a.
#if defined(TW_LEVEL_AVX512)
inline constexpr int kRows = 8;
inline constexpr int kVecs = 3;
inline constexpr int kMaxVecs = 4;  // up to six rows: value rows of 64 floats are common in attention
#else
inline constexpr int kRows = 6;
inline constexpr int kVecs = 2;
inline constexpr int kMaxVecs = 2;
#endif
constexpr std::int64_t rows_with(int vectors) {
  return vectors > kVecs ? 6 : kRows;
}
template <typename T>
inline constexpr int kPanel = kVecs* kLanes<T>;

// a * b + c; rounded once where the level has the instruction.
template <typename T>
TW_INLINE Vec<T> multiply_add(Vec<T> a, Vec<T> b, Vec<T> c) {
#if defined(TW_LEVEL_AVX512)
  if constexpr (__is_same(T, float)) return (Vec<T>)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c);
  if constexpr (__is_same(T, double)) return (Vec<T>)_mm512_fmadd_pd((__m512d)a, (__m512d)b, (__m512d)c);
#elif defined(TW_LEVEL_AVX2)
  if constexpr (__is_same(T, float)) return (Vec<T>)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c);
  if constexpr (__is_same(T, double)) return (Vec<T>)_mm256_fmadd_pd((__m256d)a, (__m256d)b, (__m256d)c);
#endif
  return a * b + c;
}

// Which lanes of a last vector exist.
template <typename T>
struct PartMask {
#if defined(TW_LEVEL_AVX512)
  explicit PartMask(int lanes) : bits(static_cast<std::uint16_t>((std::uint32_t{1} << lanes) - 1)) {}
  std::uint16_t bits;
#else
  explicit PartMask(int count) : lanes(count) {}
  int lanes;
#endif
};

template <typename T>
TW_INLINE Vec<T> load_part(const T* from, PartMask<T> mask) {
#if defined(TW_LEVEL_AVX512)
  if constexpr (sizeof(T) == 4) return (Vec<T>)_mm512_maskz_loadu_ps(mask.bits, from);
  return (Vec<T>)_mm512_maskz_loadu_pd(static_cast<__mmask8>(mask.bits), from);
#else
  if (mask.lanes == kLanes<T>) return load<T>(from);
  Vec<T> value{};
  for (int i = 0; i < mask.lanes; ++i) value[i] = from[i];
  return value;
#endif
}
template <typename T>
TW_INLINE void store_part(T* to, PartMask<T> mask, Vec<T> value) {
#if defined(TW_LEVEL_AVX512)
  if constexpr (sizeof(T) == 4) return _mm512_mask_storeu_ps(to, mask.bits, (__m512)value);
  _mm512_mask_storeu_pd(to, static_cast<__mmask8>(mask.bits), (__m512d)value);
#else
  if (mask.lanes == kLanes<T>) return store<T>(to, value);
  for (int i = 0; i < mask.lanes; ++i) to[i] = value[i];
#endif
}

}  // namespace tilewright::vm::cpu::TW_LEVEL
