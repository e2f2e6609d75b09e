// What has no operator, in plain C++: 16-byte vectors, lane loops where the compiler has no vector form. Included by
// vec.h. fma goes through double, so it is exact enough for polynomials; exact_fma rounds once.
#pragma once

#include "tilewright/tensor/half.h"

namespace tilewright::vm::cpu::TW_LEVEL {

typedef float f32x2 __attribute__((vector_size(8)));
typedef std::int32_t i32x2 __attribute__((vector_size(8)));

TW_INLINE f64x low_f64(f32x x) {
  return f64x{x[0], x[1]};
}
TW_INLINE f64x high_f64(f32x x) {
  return f64x{x[2], x[3]};
}
TW_INLINE f32x join_f32(f64x low, f64x high) {
  f32x joined{static_cast<float>(low[0]), static_cast<float>(low[1]), static_cast<float>(high[0]),
              static_cast<float>(high[1])};
#if defined(__x86_64__)  // g++ 12 takes the halves of a narrowed vector for the wide ones, without the rounding
  __asm__("" : "+x"(joined));
#elif defined(__aarch64__)
  __asm__("" : "+w"(joined));
#endif
  return joined;
}

TW_INLINE f32x fma(f32x a, f32x b, f32x c) {
  return join_f32(low_f64(a) * low_f64(b) + low_f64(c), high_f64(a) * high_f64(b) + high_f64(c));
}
TW_INLINE f64x fma(f64x a, f64x b, f64x c) {
  return f64x{__builtin_fma(a[0], b[0], c[0]), __builtin_fma(a[1], b[1], c[1])};
}
TW_INLINE f32x fnma(f32x a, f32x b, f32x c) {
  return fma(-a, b, c);
}
TW_INLINE f32x fms(f32x a, f32x b, f32x c) {
  return fma(a, b, -c);
}
TW_INLINE f32x exact_fma(f32x a, f32x b, f32x c) {
  return f32x{__builtin_fmaf(a[0], b[0], c[0]), __builtin_fmaf(a[1], b[1], c[1]), __builtin_fmaf(a[2], b[2], c[2]),
              __builtin_fmaf(a[3], b[3], c[3])};
}
TW_INLINE f64x exact_fma(f64x a, f64x b, f64x c) {
  return fma(a, b, c);
}

#define TW_PER_LANE(name, suffix_name)                                                                                \
  TW_INLINE f32x name(f32x x) {                                                                                       \
    return f32x{__builtin_##suffix_name##f(x[0]), __builtin_##suffix_name##f(x[1]), __builtin_##suffix_name##f(x[2]), \
                __builtin_##suffix_name##f(x[3])};                                                                    \
  }                                                                                                                   \
  TW_INLINE f64x name(f64x x) {                                                                                       \
    return f64x{__builtin_##suffix_name(x[0]), __builtin_##suffix_name(x[1])};                                        \
  }
TW_PER_LANE(sqrt, sqrt)
TW_PER_LANE(floor, floor)
TW_PER_LANE(ceil, ceil)
TW_PER_LANE(round_even, nearbyint)
TW_PER_LANE(trunc, trunc)
#undef TW_PER_LANE

// The second operand where any is nan.
TW_INLINE f32x max_or_second(f32x a, f32x b) {
  return a > b ? a : b;
}
TW_INLINE f64x max_or_second(f64x a, f64x b) {
  return a > b ? a : b;
}
TW_INLINE f32x min_or_second(f32x a, f32x b) {
  return a < b ? a : b;
}
TW_INLINE f64x min_or_second(f64x a, f64x b) {
  return a < b ? a : b;
}

// Truncates; the lowest integer where out of range, which some machines give by themselves.
TW_INLINE std::int64_t to_i64(double x) {
  return x >= -0x1p63 && x < 0x1p63 ? static_cast<std::int64_t>(x) : INT64_MIN;
}
TW_INLINE std::int32_t to_i32(double x) {
  return x > -0x1p31 - 1 && x < 0x1p31 ? static_cast<std::int32_t>(x) : INT32_MIN;
}
TW_INLINE i32x to_i32(f32x x) {
  return i32x{to_i32(double{x[0]}), to_i32(double{x[1]}), to_i32(double{x[2]}), to_i32(double{x[3]})};
}
TW_INLINE f32x to_f32(i32x x) {
  return __builtin_convertvector(x, f32x);
}
TW_INLINE i64x to_i64(f64x x) {
  return i64x{to_i64(x[0]), to_i64(x[1])};
}
TW_INLINE f64x to_f64(i64x x) {
  return __builtin_convertvector(x, f64x);
}
TW_INLINE i32x join_i32(f64x low, f64x high) {
  return i32x{to_i32(low[0]), to_i32(low[1]), to_i32(high[0]), to_i32(high[1])};
}
TW_INLINE f32x join_f32(i64x low, i64x high) {
  return f32x{static_cast<float>(low[0]), static_cast<float>(low[1]), static_cast<float>(high[0]),
              static_cast<float>(high[1])};
}
TW_INLINE i32x join_i32(i64x low, i64x high) {
  return i32x{static_cast<std::int32_t>(low[0]), static_cast<std::int32_t>(low[1]), static_cast<std::int32_t>(high[0]),
              static_cast<std::int32_t>(high[1])};
}
TW_INLINE i64x low_i64(i32x x) {
  return i64x{x[0], x[1]};
}
TW_INLINE i64x high_i64(i32x x) {
  return i64x{x[2], x[3]};
}
TW_INLINE i64x low_i64(f32x x) {
  return i64x{to_i64(double{x[0]}), to_i64(double{x[1]})};
}
TW_INLINE i64x high_i64(f32x x) {
  return i64x{to_i64(double{x[2]}), to_i64(double{x[3]})};
}

TW_INLINE bool any(i32x mask) {
  return (mask[0] | mask[1] | mask[2] | mask[3]) != 0;
}
TW_INLINE bool any(i64x mask) {
  return (mask[0] | mask[1]) != 0;
}

// All lanes to one, halves first.
TW_INLINE float sum_lanes(f32x v) {
  return (v[0] + v[2]) + (v[1] + v[3]);
}
TW_INLINE float max_lanes(f32x v) {  // of numbers
  const float even = v[0] > v[2] ? v[0] : v[2], odd = v[1] > v[3] ? v[1] : v[3];
  return even > odd ? even : odd;
}

// Elements of a narrow type, kLanes<float> of them at p.
template <typename T>
TW_INLINE i32x load_narrow(const void* p) {
  T e[4];
  __builtin_memcpy(e, p, sizeof(e));
  return i32x{e[0], e[1], e[2], e[3]};
}
TW_INLINE i32x load_i8(const void* p) {
  return load_narrow<std::int8_t>(p);
}
TW_INLINE i32x load_u8(const void* p) {
  return load_narrow<std::uint8_t>(p);
}
TW_INLINE i32x load_i16(const void* p) {
  return load_narrow<std::int16_t>(p);
}
template <typename T>
TW_INLINE void store_narrow(void* p, i32x x) {
  const T e[4] = {static_cast<T>(x[0]), static_cast<T>(x[1]), static_cast<T>(x[2]), static_cast<T>(x[3])};
  __builtin_memcpy(p, e, sizeof(e));
}
TW_INLINE void store_low8(void* p, i32x x) {
  store_narrow<std::uint8_t>(p, x);
}
TW_INLINE void store_low16(void* p, i32x x) {
  store_narrow<std::uint16_t>(p, x);
}
TW_INLINE f32x load_bf16(const void* p) {
  return (f32x)(load_narrow<std::uint16_t>(p) << 16);
}
TW_INLINE f32x load_f16(const void* p) {
  // Exponent and mantissa move to their places; multiplying by 2^112 corrects the bias and normalises denormals.
  const i32x half = load_narrow<std::uint16_t>(p);
  const f32x magnitude = (f32x)((half & 0x7fff) << 13) * f32(0x1p112f);
  const i32x special = (half & 0x7c00) == 0x7c00;
  const i32x bits = special ? ((i32x)magnitude | 0x7f800000) : (i32x)magnitude;
  return (f32x)(bits | (half & 0x8000) << 16);
}
TW_INLINE void store_f16(void* p, f32x x) {
  const i32x bits = (i32x)x;
  const i32x sign = (i32x)((u32x)bits >> 16) & 0x8000;
  const i32x magnitude = bits & 0x7fffffff;
  const i32x denormal = (i32x)((f32x)magnitude + f32(0.5f)) - 0x3f000000;
  const i32x normal = (magnitude - 0x38000000 + 0xfff + ((magnitude >> 13) & 1)) >> 13;
  const i32x finite = magnitude < 0x38800000 ? denormal : normal;
  const i32x limited = magnitude >= 0x477ff000 ? i32(0x7c00) : finite;
  const i32x quiet = 0x7e00 | (bits >> 13 & 0x1ff);
  store_low16(p, sign | (magnitude > 0x7f800000 ? quiet : limited));
}

// ---- Tails
// ------------------------------------------------------------------------------------------------------------
template <typename T>
TW_INLINE void prepare_tail(StripRun&, std::int64_t) {}
template <typename T>
TW_INLINE std::int64_t tail_lanes(const StripRun& run, int k) {
  const std::int64_t left = run.tail - k * kLanes<T>;
  return left < 0 ? 0 : left > kLanes<T> ? kLanes<T> : left;
}
template <typename T>
TW_INLINE VecOf<T> load_tail(const void* p, const StripRun& run, int k) {
  VecOf<T> v{};
  for (std::int64_t i = 0; i < tail_lanes<T>(run, k); ++i) v[i] = load_element<T>(static_cast<const T*>(p) + i);
  return v;
}
template <typename T>
TW_INLINE void store_tail(void* p, const StripRun& run, int k, VecOf<T> v) {
  for (std::int64_t i = 0; i < tail_lanes<T>(run, k); ++i) store_element<T>(static_cast<T*>(p) + i, v[i]);
}
// v where the lane lies in the tail, else `other`.
template <typename T>
TW_INLINE VecOf<T> keep_tail(const StripRun& run, int k, VecOf<T> v, VecOf<T> other) {
  for (std::int64_t i = tail_lanes<T>(run, k); i < kLanes<T>; ++i) v[i] = other[i];
  return v;
}

TW_INLINE void stream_store(void* p, f32x v) {
  store<float>(p, v);
}
TW_INLINE void stream_fence() {}

}  // namespace tilewright::vm::cpu::TW_LEVEL
