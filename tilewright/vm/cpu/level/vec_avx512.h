// What has no operator, for AVX-512 (F, BW, DQ, VL). Included by vec.h. `run.tail_masks` holds one 16-bit mask per
// vector.
#pragma once

#include <immintrin.h>

namespace tilewright::vm::cpu::TW_LEVEL {

TW_INLINE f32x fma(f32x a, f32x b, f32x c) {
  return _mm512_fmadd_ps(a, b, c);
}
TW_INLINE f64x fma(f64x a, f64x b, f64x c) {
  return _mm512_fmadd_pd(a, b, c);
}
TW_INLINE f32x fnma(f32x a, f32x b, f32x c) {
  return _mm512_fnmadd_ps(a, b, c);
}  // c - a * b
TW_INLINE f32x fms(f32x a, f32x b, f32x c) {
  return _mm512_fmsub_ps(a, b, c);
}  // a * b - c
TW_INLINE f32x exact_fma(f32x a, f32x b, f32x c) {
  return fma(a, b, c);
}
TW_INLINE f64x exact_fma(f64x a, f64x b, f64x c) {
  return fma(a, b, c);
}
TW_INLINE f32x sqrt(f32x x) {
  return _mm512_sqrt_ps(x);
}
TW_INLINE f64x sqrt(f64x x) {
  return _mm512_sqrt_pd(x);
}
TW_INLINE f32x floor(f32x x) {
  return _mm512_roundscale_ps(x, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
}
TW_INLINE f64x floor(f64x x) {
  return _mm512_roundscale_pd(x, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
}
TW_INLINE f32x ceil(f32x x) {
  return _mm512_roundscale_ps(x, _MM_FROUND_TO_POS_INF | _MM_FROUND_NO_EXC);
}
TW_INLINE f64x ceil(f64x x) {
  return _mm512_roundscale_pd(x, _MM_FROUND_TO_POS_INF | _MM_FROUND_NO_EXC);
}
TW_INLINE f32x round_even(f32x x) {
  return _mm512_roundscale_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}
TW_INLINE f64x round_even(f64x x) {
  return _mm512_roundscale_pd(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}
TW_INLINE f32x trunc(f32x x) {
  return _mm512_roundscale_ps(x, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC);
}
TW_INLINE f64x trunc(f64x x) {
  return _mm512_roundscale_pd(x, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC);
}

// The second operand where any is nan.
TW_INLINE f32x max_or_second(f32x a, f32x b) {
  return _mm512_max_ps(a, b);
}
TW_INLINE f64x max_or_second(f64x a, f64x b) {
  return _mm512_max_pd(a, b);
}
TW_INLINE f32x min_or_second(f32x a, f32x b) {
  return _mm512_min_ps(a, b);
}
TW_INLINE f64x min_or_second(f64x a, f64x b) {
  return _mm512_min_pd(a, b);
}

TW_INLINE i32x to_i32(f32x x) {
  return (i32x)_mm512_cvttps_epi32(x);
}  // truncates; the lowest i32 where out of range
TW_INLINE f32x to_f32(i32x x) {
  return _mm512_cvtepi32_ps((__m512i)x);
}
TW_INLINE i64x to_i64(f64x x) {
  return (i64x)_mm512_cvttpd_epi64(x);
}
TW_INLINE f64x to_f64(i64x x) {
  return _mm512_cvtepi64_pd((__m512i)x);
}

// Halves of a 4-byte vector as 8-byte vectors, and back.
TW_INLINE f64x low_f64(f32x x) {
  return _mm512_cvtps_pd(_mm512_castps512_ps256(x));
}
TW_INLINE f64x high_f64(f32x x) {
  return _mm512_cvtps_pd(_mm512_extractf32x8_ps(x, 1));
}
TW_INLINE f32x join_f32(f64x low, f64x high) {
  return _mm512_insertf32x8(_mm512_castps256_ps512(_mm512_cvtpd_ps(low)), _mm512_cvtpd_ps(high), 1);
}
TW_INLINE i32x join_i32(f64x low, f64x high) {
  return (i32x)_mm512_inserti32x8(_mm512_castsi256_si512(_mm512_cvttpd_epi32(low)), _mm512_cvttpd_epi32(high), 1);
}
TW_INLINE f32x join_f32(i64x low, i64x high) {
  return _mm512_insertf32x8(_mm512_castps256_ps512(_mm512_cvtepi64_ps((__m512i)low)), _mm512_cvtepi64_ps((__m512i)high),
                            1);
}
TW_INLINE i32x join_i32(i64x low, i64x high) {
  return (i32x)_mm512_inserti32x8(_mm512_castsi256_si512(_mm512_cvtepi64_epi32((__m512i)low)),
                                  _mm512_cvtepi64_epi32((__m512i)high), 1);
}
TW_INLINE i64x low_i64(i32x x) {
  return (i64x)_mm512_cvtepi32_epi64(_mm512_castsi512_si256((__m512i)x));
}
TW_INLINE i64x high_i64(i32x x) {
  return (i64x)_mm512_cvtepi32_epi64(_mm512_extracti32x8_epi32((__m512i)x, 1));
}
TW_INLINE i64x low_i64(f32x x) {
  return (i64x)_mm512_cvttps_epi64(_mm512_castps512_ps256(x));
}
TW_INLINE i64x high_i64(f32x x) {
  return (i64x)_mm512_cvttps_epi64(_mm512_extractf32x8_ps(x, 1));
}

TW_INLINE bool any(i32x mask) {
  return _mm512_movepi32_mask((__m512i)mask) != 0;
}
TW_INLINE bool any(i64x mask) {
  return _mm512_movepi64_mask((__m512i)mask) != 0;
}

// All lanes to one, halves first: the latency of a short row is mostly this.
TW_INLINE float sum_lanes(f32x v) {
  const __m256 half = _mm256_add_ps(_mm512_castps512_ps256(v), _mm512_extractf32x8_ps(v, 1));
  const __m128 quarter = _mm_add_ps(_mm256_castps256_ps128(half), _mm256_extractf128_ps(half, 1));
  const __m128 pair = _mm_add_ps(quarter, _mm_movehl_ps(quarter, quarter));
  return _mm_cvtss_f32(_mm_add_ss(pair, _mm_movehdup_ps(pair)));
}
TW_INLINE float max_lanes(f32x v) {  // of numbers
  const __m256 half = _mm256_max_ps(_mm512_castps512_ps256(v), _mm512_extractf32x8_ps(v, 1));
  const __m128 quarter = _mm_max_ps(_mm256_castps256_ps128(half), _mm256_extractf128_ps(half, 1));
  const __m128 pair = _mm_max_ps(quarter, _mm_movehl_ps(quarter, quarter));
  return _mm_cvtss_f32(_mm_max_ss(pair, _mm_movehdup_ps(pair)));
}

// f16 and bf16: kLanes<float> elements at p.
TW_INLINE f32x load_f16(const void* p) {
  return _mm512_cvtph_ps(_mm256_loadu_si256(static_cast<const __m256i*>(p)));
}
TW_INLINE void store_f16(void* p, f32x x) {
  _mm256_storeu_si256(static_cast<__m256i*>(p), _mm512_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}
TW_INLINE f32x load_bf16(const void* p) {
  return (f32x)(_mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm256_loadu_si256(static_cast<const __m256i*>(p))), 16));
}

// 8- and 16-bit integers, kLanes<int32> elements at p.
TW_INLINE i32x load_i8(const void* p) {
  return (i32x)_mm512_cvtepi8_epi32(_mm_loadu_si128(static_cast<const __m128i*>(p)));
}
TW_INLINE i32x load_u8(const void* p) {
  return (i32x)_mm512_cvtepu8_epi32(_mm_loadu_si128(static_cast<const __m128i*>(p)));
}
TW_INLINE i32x load_i16(const void* p) {
  return (i32x)_mm512_cvtepi16_epi32(_mm256_loadu_si256(static_cast<const __m256i*>(p)));
}
TW_INLINE void store_low8(void* p, i32x x) {
  _mm_storeu_si128(static_cast<__m128i*>(p), _mm512_cvtepi32_epi8((__m512i)x));
}
TW_INLINE void store_low16(void* p, i32x x) {
  _mm256_storeu_si256(static_cast<__m256i*>(p), _mm512_cvtepi32_epi16((__m512i)x));
}

// ---- Tails
// ------------------------------------------------------------------------------------------------------------
template <typename T>
TW_INLINE void prepare_tail(StripRun& run, std::int64_t count) {
  auto* masks = reinterpret_cast<std::uint16_t*>(run.tail_masks);
  for (int k = 0; k < kStripVectors; ++k) {
    const std::int64_t left = count - k * kLanes<T>;
    masks[k] = static_cast<std::uint16_t>(_bzhi_u32(0xffff, left < 0           ? 0u
                                                            : left > kLanes<T> ? kLanes<T>
                                                                               : static_cast<unsigned>(left)));
  }
}
template <typename T>
TW_INLINE unsigned tail_mask(const StripRun& run, int k) {
  return reinterpret_cast<const std::uint16_t*>(run.tail_masks)[k];
}

template <typename T>
TW_INLINE VecOf<T> load_tail(const void* p, const StripRun& run, int k) {
  if constexpr (sizeof(T) == 4) {
    return (VecOf<T>)_mm512_maskz_loadu_epi32(static_cast<__mmask16>(tail_mask<T>(run, k)), p);
  } else {
    return (VecOf<T>)_mm512_maskz_loadu_epi64(static_cast<__mmask8>(tail_mask<T>(run, k)), p);
  }
}
template <typename T>
TW_INLINE void store_tail(void* p, const StripRun& run, int k, VecOf<T> v) {
  if constexpr (sizeof(T) == 4) {
    _mm512_mask_storeu_epi32(p, static_cast<__mmask16>(tail_mask<T>(run, k)), (__m512i)v);
  } else {
    _mm512_mask_storeu_epi64(p, static_cast<__mmask8>(tail_mask<T>(run, k)), (__m512i)v);
  }
}
// v where the lane lies in the tail, else `other`.
template <typename T>
TW_INLINE VecOf<T> keep_tail(const StripRun& run, int k, VecOf<T> v, VecOf<T> other) {
  if constexpr (sizeof(T) == 4) {
    return (VecOf<T>)_mm512_mask_mov_epi32((__m512i)other, static_cast<__mmask16>(tail_mask<T>(run, k)), (__m512i)v);
  } else {
    return (VecOf<T>)_mm512_mask_mov_epi64((__m512i)other, static_cast<__mmask8>(tail_mask<T>(run, k)), (__m512i)v);
  }
}

TW_INLINE void stream_store(void* p, f32x v) {
  _mm512_stream_ps(static_cast<float*>(p), v);
}
TW_INLINE void stream_fence() {
  _mm_sfence();
}

}  // namespace tilewright::vm::cpu::TW_LEVEL
