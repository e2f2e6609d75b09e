// Vectors of one level: f32x, i32x, f64x, i64x hold kVectorBytes each. They are the compiler's generic vectors, so that
// + - * / < == & | ^ and ?: work on them at every level; what has no operator (fused multiply-add, rounding, masked
// loads) comes from vec_avx512.h, vec_avx2.h or vec_portable.h. A comparison gives a lane mask: i32x or i64x, all bits
// set where true. Every function is always inlined: nothing here may be emitted out of line.
#pragma once

#include <cstdint>

#include "tilewright/vm/cpu/level/level.h"

#define TW_INLINE inline __attribute__((always_inline))
#define TW_LAMBDA __attribute__((always_inline))

namespace tilewright::vm::cpu::TW_LEVEL {

typedef float f32x __attribute__((vector_size(kVectorBytes), may_alias));
typedef std::int32_t i32x __attribute__((vector_size(kVectorBytes), may_alias));
typedef std::uint32_t u32x __attribute__((vector_size(kVectorBytes), may_alias));
typedef double f64x __attribute__((vector_size(kVectorBytes), may_alias));
typedef std::int64_t i64x __attribute__((vector_size(kVectorBytes), may_alias));
typedef std::uint64_t u64x __attribute__((vector_size(kVectorBytes), may_alias));

// Element type -> vector type, mask type, unsigned vector type.
template <typename T>
struct VectorOf;
template <>
struct VectorOf<float> {
  using Vec = f32x;
  using Mask = i32x;
  using Unsigned = u32x;
  using UnsignedElement = std::uint32_t;
};
template <>
struct VectorOf<std::int32_t> {
  using Vec = i32x;
  using Mask = i32x;
  using Unsigned = u32x;
  using UnsignedElement = std::uint32_t;
};
template <>
struct VectorOf<double> {
  using Vec = f64x;
  using Mask = i64x;
  using Unsigned = u64x;
  using UnsignedElement = std::uint64_t;
};
template <>
struct VectorOf<std::int64_t> {
  using Vec = i64x;
  using Mask = i64x;
  using Unsigned = u64x;
  using UnsignedElement = std::uint64_t;
};
template <typename T>
using VecOf = typename VectorOf<T>::Vec;
template <typename T>
using MaskOf = typename VectorOf<T>::Mask;

template <typename T>
inline constexpr int kLanes = kVectorBytes / static_cast<int>(sizeof(T));

template <typename T>
TW_INLINE VecOf<T> load(const void* p) {
  typedef T Unaligned __attribute__((vector_size(kVectorBytes), aligned(1), may_alias));
  return (VecOf<T>)*static_cast<const Unaligned*>(p);
}
template <typename T>
TW_INLINE void store(void* p, VecOf<T> v) {
  typedef T Unaligned __attribute__((vector_size(kVectorBytes), aligned(1), may_alias));
  *static_cast<Unaligned*>(p) = (Unaligned)v;
}
template <typename T>
TW_INLINE T load_element(const void* p) {
  T value;
  __builtin_memcpy(&value, p, sizeof(T));
  return value;
}
template <typename T>
TW_INLINE void store_element(void* p, T value) {
  __builtin_memcpy(p, &value, sizeof(T));
}
template <typename T>
TW_INLINE VecOf<T> splat(T value) {
  return value - (VecOf<T>){};  // the compiler's broadcast; keeps -0 and nan
}
TW_INLINE f32x f32(float value) {
  return splat<float>(value);
}
TW_INLINE i32x i32(std::int32_t value) {
  return splat<std::int32_t>(value);
}
TW_INLINE f64x f64(double value) {
  return splat<double>(value);
}
TW_INLINE i64x i64(std::int64_t value) {
  return splat<std::int64_t>(value);
}

// mask ? a : b, bit by bit of the mask's lanes.
TW_INLINE f32x select(i32x mask, f32x a, f32x b) {
  return mask ? a : b;
}
TW_INLINE i32x select(i32x mask, i32x a, i32x b) {
  return mask ? a : b;
}
TW_INLINE f64x select(i64x mask, f64x a, f64x b) {
  return mask ? a : b;
}
TW_INLINE i64x select(i64x mask, i64x a, i64x b) {
  return mask ? a : b;
}

TW_INLINE f32x abs(f32x x) {
  return (f32x)((i32x)x & i32(0x7fffffff));
}
TW_INLINE f64x abs(f64x x) {
  return (f64x)((i64x)x & i64(0x7fffffffffffffff));
}
TW_INLINE i32x sign_bit(f32x x) {
  return (i32x)x & i32(INT32_MIN);
}
TW_INLINE i64x sign_bit(f64x x) {
  return (i64x)x & i64(INT64_MIN);
}
TW_INLINE f32x copy_sign(f32x magnitude, f32x sign) {
  return (f32x)((i32x)abs(magnitude) | sign_bit(sign));
}
TW_INLINE f64x copy_sign(f64x magnitude, f64x sign) {
  return (f64x)((i64x)abs(magnitude) | sign_bit(sign));
}

}  // namespace tilewright::vm::cpu::TW_LEVEL

#if defined(TW_LEVEL_AVX512)
#include "tilewright/vm/cpu/level/vec_avx512.h"
#elif defined(TW_LEVEL_AVX2)
#include "tilewright/vm/cpu/level/vec_avx2.h"
#else
#include "tilewright/vm/cpu/level/vec_portable.h"
#endif
