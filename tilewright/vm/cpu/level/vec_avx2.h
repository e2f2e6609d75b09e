// What has no operator, for AVX2 with FMA and F16C. Included by vec.h. `run.tail_masks` holds one mask vector per
// vector.
#pragma once

#include <immintrin.h>

namespace tilewright::vm::cpu::TW_LEVEL {

TW_INLINE f32x fma(f32x a, f32x b, f32x c) {
  return _mm256_fmadd_ps(a, b, c);
}
TW_INLINE f64x fma(f64x a, f64x b, f64x c) {
  return _mm256_fmadd_pd(a, b, c);
}
TW_INLINE f32x fnma(f32x a, f32x b, f32x c) {
  return _mm256_fnmadd_ps(a, b, c);
}  // c - a * b
TW_INLINE f32x fms(f32x a, f32x b, f32x c) {
  return _mm256_fmsub_ps(a, b, c);
}  // a * b - c
TW_INLINE f32x exact_fma(f32x a, f32x b, f32x c) {
  return fma(a, b, c);
}
TW_INLINE f64x exact_fma(f64x a, f64x b, f64x c) {
  return fma(a, b, c);
}
TW_INLINE f32x sqrt(f32x x) {
  return _mm256_sqrt_ps(x);
}
TW_INLINE f64x sqrt(f64x x) {
  return _mm256_sqrt_pd(x);
}
TW_INLINE f32x floor(f32x x) {
  return _mm256_floor_ps(x);
}
TW_INLINE f64x floor(f64x x) {
  return _mm256_floor_pd(x);
}
TW_INLINE f32x ceil(f32x x) {
  return _mm256_ceil_ps(x);
}
TW_INLINE f64x ceil(f64x x) {
  return _mm256_ceil_pd(x);
}
TW_INLINE f32x round_even(f32x x) {
  return _mm256_round_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}
TW_INLINE f64x round_even(f64x x) {
  return _mm256_round_pd(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}
TW_INLINE f32x trunc(f32x x) {
  return _mm256_round_ps(x, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC);
}
TW_INLINE f64x trunc(f64x x) {
  return _mm256_round_pd(x, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC);
}

// The second operand where any is nan.
TW_INLINE f32x max_or_second(f32x a, f32x b) {
  return _mm256_max_ps(a, b);
}
TW_INLINE f64x max_or_second(f64x a, f64x b) {
  return _mm256_max_pd(a, b);
}
TW_INLINE f32x min_or_second(f32x a, f32x b) {
  return _mm256_min_ps(a, b);
}
TW_INLINE f64x min_or_second(f64x a, f64x b) {
  return _mm256_min_pd(a, b);
}

TW_INLINE i32x to_i32(f32x x) {
  return (i32x)_mm256_cvttps_epi32(x);
}  // truncates; the lowest i32 where out of range
TW_INLINE f32x to_f32(i32x x) {
  return _mm256_cvtepi32_ps((__m256i)x);
}
TW_INLINE i64x to_i64(f64x x) {
  return i64x{_mm_cvttsd_si64(__m128d{x[0], 0}), _mm_cvttsd_si64(__m128d{x[1], 0}), _mm_cvttsd_si64(__m128d{x[2], 0}),
              _mm_cvttsd_si64(__m128d{x[3], 0})};
}
TW_INLINE f64x to_f64(i64x x) {
  return __builtin_convertvector(x, f64x);
}

// Halves of a 4-byte vector as 8-byte vectors, and back.
TW_INLINE f64x low_f64(f32x x) {
  return _mm256_cvtps_pd(_mm256_castps256_ps128(x));
}
TW_INLINE f64x high_f64(f32x x) {
  return _mm256_cvtps_pd(_mm256_extractf128_ps(x, 1));
}
TW_INLINE f32x join_f32(f64x low, f64x high) {
  return _mm256_set_m128(_mm256_cvtpd_ps(high), _mm256_cvtpd_ps(low));
}
TW_INLINE i32x join_i32(f64x low, f64x high) {
  return (i32x)_mm256_set_m128i(_mm256_cvttpd_epi32(high), _mm256_cvttpd_epi32(low));
}
TW_INLINE f32x join_f32(i64x low, i64x high) {
  return f32x{static_cast<float>(low[0]),  static_cast<float>(low[1]),  static_cast<float>(low[2]),
              static_cast<float>(low[3]),  static_cast<float>(high[0]), static_cast<float>(high[1]),
              static_cast<float>(high[2]), static_cast<float>(high[3])};
}
TW_INLINE i32x join_i32(i64x low, i64x high) {
  const __m256 even = _mm256_shuffle_ps((__m256)low, (__m256)high, 0x88);  // low words, in 128-bit halves
  return (i32x)_mm256_permute4x64_epi64((__m256i)even, 0xd8);
}
TW_INLINE i64x low_i64(i32x x) {
  return (i64x)_mm256_cvtepi32_epi64(_mm256_castsi256_si128((__m256i)x));
}
TW_INLINE i64x high_i64(i32x x) {
  return (i64x)_mm256_cvtepi32_epi64(_mm256_extracti128_si256((__m256i)x, 1));
}
TW_INLINE i64x low_i64(f32x x) {
  return to_i64(low_f64(x));
}
TW_INLINE i64x high_i64(f32x x) {
  return to_i64(high_f64(x));
}

TW_INLINE bool any(i32x mask) {
  return _mm256_movemask_ps((__m256)mask) != 0;
}
TW_INLINE bool any(i64x mask) {
  return _mm256_movemask_pd((__m256d)mask) != 0;
}

// All lanes to one, halves first: the latency of a short row is mostly this.
TW_INLINE float sum_lanes(f32x v) {
  const __m128 quarter = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
  const __m128 pair = _mm_add_ps(quarter, _mm_movehl_ps(quarter, quarter));
  return _mm_cvtss_f32(_mm_add_ss(pair, _mm_movehdup_ps(pair)));
}
TW_INLINE float max_lanes(f32x v) {  // of numbers
  const __m128 quarter = _mm_max_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
  const __m128 pair = _mm_max_ps(quarter, _mm_movehl_ps(quarter, quarter));
  return _mm_cvtss_f32(_mm_max_ss(pair, _mm_movehdup_ps(pair)));
}

// f16 and bf16: kLanes<float> elements at p.
TW_INLINE f32x load_f16(const void* p) {
  return _mm256_cvtph_ps(_mm_loadu_si128(static_cast<const __m128i*>(p)));
}
TW_INLINE void store_f16(void* p, f32x x) {
  _mm_storeu_si128(static_cast<__m128i*>(p), _mm256_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}
TW_INLINE f32x load_bf16(const void* p) {
  return (f32x)(_mm256_slli_epi32(_mm256_cvtepu16_epi32(_mm_loadu_si128(static_cast<const __m128i*>(p))), 16));
}

// 8- and 16-bit integers, kLanes<int32> elements at p.
TW_INLINE i32x load_i8(const void* p) {
  return (i32x)_mm256_cvtepi8_epi32(_mm_loadl_epi64(static_cast<const __m128i*>(p)));
}
TW_INLINE i32x load_u8(const void* p) {
  return (i32x)_mm256_cvtepu8_epi32(_mm_loadl_epi64(static_cast<const __m128i*>(p)));
}
TW_INLINE i32x load_i16(const void* p) {
  return (i32x)_mm256_cvtepi16_epi32(_mm_loadu_si128(static_cast<const __m128i*>(p)));
}
TW_INLINE __m128i low_words(i32x x) {
  const __m256i masked = (__m256i)(x & i32(0xffff));
  return _mm_packus_epi32(_mm256_castsi256_si128(masked), _mm256_extracti128_si256(masked, 1));
}
TW_INLINE void store_low16(void* p, i32x x) {
  _mm_storeu_si128(static_cast<__m128i*>(p), low_words(x));
}
TW_INLINE void store_low8(void* p, i32x x) {
  const __m128i words = low_words(x & i32(0xff));
  _mm_storel_epi64(static_cast<__m128i*>(p), _mm_packus_epi16(words, words));
}

// ---- Tails
// ------------------------------------------------------------------------------------------------------------
template <typename T>
TW_INLINE void prepare_tail(StripRun& run, std::int64_t count) {
  alignas(32) static const std::int32_t kOnes[16] = {-1, -1, -1, -1, -1, -1, -1, -1, 0, 0, 0, 0, 0, 0, 0, 0};
  for (int k = 0; k < kStripVectors; ++k) {
    const std::int64_t left = count - k * kLanes<T>;
    const std::int64_t lanes = left < 0 ? 0 : left > kLanes<T> ? kLanes<T> : left;
    store<std::int32_t>(run.tail_masks + k * kVectorBytes,
                        load<std::int32_t>(kOnes + 8 - lanes * static_cast<int>(sizeof(T)) / 4));
  }
}
template <typename T>
TW_INLINE __m256i tail_mask(const StripRun& run, int k) {
  return (__m256i)load<std::int32_t>(run.tail_masks + k * kVectorBytes);
}
template <typename T>
TW_INLINE VecOf<T> load_tail(const void* p, const StripRun& run, int k) {
  if constexpr (sizeof(T) == 4) {
    return (VecOf<T>)_mm256_maskload_epi32(static_cast<const int*>(p), tail_mask<T>(run, k));
  } else {
    return (VecOf<T>)_mm256_maskload_epi64(static_cast<const long long*>(p), tail_mask<T>(run, k));
  }
}
template <typename T>
TW_INLINE void store_tail(void* p, const StripRun& run, int k, VecOf<T> v) {
  if constexpr (sizeof(T) == 4) {
    _mm256_maskstore_epi32(static_cast<int*>(p), tail_mask<T>(run, k), (__m256i)v);
  } else {
    _mm256_maskstore_epi64(static_cast<long long*>(p), tail_mask<T>(run, k), (__m256i)v);
  }
}
// v where the lane lies in the tail, else `other`.
template <typename T>
TW_INLINE VecOf<T> keep_tail(const StripRun& run, int k, VecOf<T> v, VecOf<T> other) {
  return (VecOf<T>)_mm256_blendv_epi8((__m256i)other, (__m256i)v, tail_mask<T>(run, k));
}

TW_INLINE void stream_store(void* p, f32x v) {
  _mm256_stream_ps(static_cast<float*>(p), v);
}
TW_INLINE void stream_fence() {
  _mm_sfence();
}

}  // namespace tilewright::vm::cpu::TW_LEVEL
