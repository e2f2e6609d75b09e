// Conversions between the element types in memory and the lanes of a strip.
//   load_as<From, T>(p): kLanes<T> elements of type From at p, as lanes of type T
//   store_as<To, T>(p, v): the inverse; touches exactly kLanes<T> elements
// Half, BFloat16 and bool stand for their storage. Rules of conversion: strip_ops.def.
#pragma once

#include "tilewright/tensor/half.h"
#include "tilewright/vm/cpu/level/strip_engine.h"

namespace tilewright::vm::cpu::TW_LEVEL {

template <typename A, typename B>
inline constexpr bool kSame = false;
template <typename A>
inline constexpr bool kSame<A, A> = true;

template <typename From>
inline constexpr bool kFloatStorage =
    kSame<From, float> || kSame<From, double> || kSame<From, Half> || kSame<From, BFloat16>;

// A value of From as the 4-byte lane nearest to it: floats up to f32 as f32x, integers up to i32 and bool as i32x.
template <typename From>
TW_INLINE auto load_word_lanes(const char* p) {
  if constexpr (kSame<From, float>)
    return load<float>(p);
  else if constexpr (kSame<From, Half>)
    return load_f16(p);
  else if constexpr (kSame<From, BFloat16>)
    return load_bf16(p);
  else if constexpr (kSame<From, std::int8_t>)
    return load_i8(p);
  else if constexpr (kSame<From, std::uint8_t>)
    return load_u8(p);
  else if constexpr (kSame<From, bool>)
    return (i32x)(load_u8(p) != i32(0));
  else if constexpr (kSame<From, std::int16_t>)
    return load_i16(p);
  else
    return load<std::int32_t>(p);
}

template <typename From, typename T>
TW_INLINE VecOf<T> load_as(const char* p) {
  if constexpr (kSame<From, T>) {
    return load<T>(p);
  } else if constexpr (sizeof(T) == 4) {
    if constexpr (sizeof(From) == 8) {
      const auto low = load<From>(p), high = load<From>(p + kVectorBytes);
      if constexpr (kSame<T, float>)
        return join_f32(low, high);
      else
        return join_i32(low, high);
    } else {
      const auto words = load_word_lanes<From>(p);
      if constexpr (kSame<T, float> && !kFloatStorage<From>)
        return to_f32(words);
      else if constexpr (kSame<T, std::int32_t> && kFloatStorage<From>)
        return to_i32(words);
      else
        return words;
    }
  } else if constexpr (kSame<From, std::int64_t>) {
    return to_f64(load<std::int64_t>(p));
  } else if constexpr (kSame<From, double>) {
    return to_i64(load<double>(p));
  } else {
    alignas(kVectorBytes) char padded[kVectorBytes] = {};  // the word load reads twice as many elements as there are
    __builtin_memcpy(padded, p, static_cast<std::size_t>(kLanes<T>) * sizeof(From));
    const auto words = load_word_lanes<From>(padded);
    if constexpr (kSame<T, std::int64_t>)
      return low_i64(words);
    else if constexpr (kFloatStorage<From>)
      return low_f64(words);
    else
      return to_f64(low_i64(words));
  }
}

TW_INLINE f32x round_to_bf16(f32x x) {  // the nearest value with a zero low half
  const i32x bits = (i32x)x;
  const i32x rounded = (i32x)((u32x)bits + (u32x)(i32(0x7fff) + ((bits >> 16) & i32(1)))) & i32(-0x10000);
  const i32x quiet = (bits | i32(0x400000)) & i32(-0x10000);
  return (f32x)select((i32x)(x != x), quiet, rounded);
}

// 4-byte lanes to the narrower or equal type To.
template <typename To>
TW_INLINE void store_word_lanes(char* p, f32x v) {
  if constexpr (kSame<To, float>)
    store<float>(p, v);
  else if constexpr (kSame<To, Half>)
    store_f16(p, v);
  else if constexpr (kSame<To, BFloat16>)
    store_low16(p, (i32x)((u32x)round_to_bf16(v) >> 16));
  else if constexpr (sizeof(To) == 1)
    store_low8(p, to_i32(v));
  else if constexpr (sizeof(To) == 2)
    store_low16(p, to_i32(v));
  else
    store<std::int32_t>(p, to_i32(v));
}
template <typename To>
TW_INLINE void store_word_lanes(char* p, i32x v) {
  if constexpr (kFloatStorage<To>)
    store_word_lanes<To>(p, to_f32(v));
  else if constexpr (kSame<To, bool>)
    store_low8(p, v & i32(1));
  else if constexpr (sizeof(To) == 1)
    store_low8(p, v);
  else if constexpr (sizeof(To) == 2)
    store_low16(p, v);
  else
    store<std::int32_t>(p, v);
}

template <typename To, typename T>
TW_INLINE void store_as(char* p, VecOf<T> v) {
  if constexpr (kSame<To, T>) {
    store<T>(p, v);
  } else if constexpr (sizeof(T) == 4) {
    if constexpr (kSame<To, double>) {
      if constexpr (kSame<T, float>)
        store<double>(p, low_f64(v)), store<double>(p + kVectorBytes, high_f64(v));
      else
        store<double>(p, to_f64(low_i64(v))), store<double>(p + kVectorBytes, to_f64(high_i64(v)));
    } else if constexpr (kSame<To, std::int64_t>) {
      store<std::int64_t>(p, low_i64(v)), store<std::int64_t>(p + kVectorBytes, high_i64(v));
    } else {
      store_word_lanes<To>(p, v);
    }
  } else if constexpr (kSame<To, double>) {
    store<double>(p, to_f64(v));
  } else if constexpr (kSame<To, std::int64_t>) {
    store<std::int64_t>(p, to_i64(v));
  } else {
    alignas(kVectorBytes) char padded[kVectorBytes];
    if constexpr (kFloatStorage<To>)
      store_word_lanes<To>(padded, join_f32(v, VecOf<T>{}));
    else
      store_word_lanes<To>(padded, join_i32(v, VecOf<T>{}));
    __builtin_memcpy(p, padded, static_cast<std::size_t>(kLanes<T>) * sizeof(To));
  }
}

// The storage type of a load or store operation.
template <StripOp op>
struct Storage;
#define TW_STORAGE(Name, Type)            \
  template <>                             \
  struct Storage<StripOp::kLoad##Name> {  \
    using Type_ = Type;                   \
  };                                      \
  template <>                             \
  struct Storage<StripOp::kStore##Name> { \
    using Type_ = Type;                   \
  };
TW_STORAGE(F32, float)
TW_STORAGE(F64, double)
TW_STORAGE(F16, Half)
TW_STORAGE(BF16, BFloat16)
TW_STORAGE(I8, std::int8_t)
TW_STORAGE(U8, std::uint8_t)
TW_STORAGE(I16, std::int16_t)
TW_STORAGE(I32, std::int32_t)
TW_STORAGE(I64, std::int64_t)
TW_STORAGE(Bool, bool)
#undef TW_STORAGE
template <StripOp op>
using StorageOf = typename Storage<op>::Type_;

}  // namespace tilewright::vm::cpu::TW_LEVEL
