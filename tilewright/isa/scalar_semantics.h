// What the strip operations mean for one element where C++ leaves it open: integers wrap, division by 0 gives 0, shifts
// and conversions are defined for every input. Machines and tests share these; fast machines may compute them
// otherwise.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace tilewright::isa {

template <typename T>
concept Integer = std::is_integral_v<T>;
template <typename T>
concept Real = std::is_floating_point_v<T>;

template <Integer T>
constexpr T wrapping_add(T a, T b) {
  using U = std::make_unsigned_t<T>;
  return static_cast<T>(static_cast<U>(a) + static_cast<U>(b));
}
template <Integer T>
constexpr T wrapping_sub(T a, T b) {
  using U = std::make_unsigned_t<T>;
  return static_cast<T>(static_cast<U>(a) - static_cast<U>(b));
}
template <Integer T>
constexpr T wrapping_mul(T a, T b) {
  using U = std::make_unsigned_t<T>;
  return static_cast<T>(static_cast<U>(a) * static_cast<U>(b));
}

template <Integer T>
constexpr T trunc_div(T a, T b) {
  if (b == 0) return 0;
  return b == -1 ? wrapping_sub(T{0}, a) : static_cast<T>(a / b);
}
template <Integer T>
constexpr T rem(T a, T b) {
  return b == 0 || b == -1 ? T{0} : static_cast<T>(a % b);
}
template <Integer T>
constexpr T floor_div(T a, T b) {
  const T quotient = trunc_div(a, b);
  return rem(a, b) != 0 && (a < 0) != (b < 0) ? static_cast<T>(quotient - 1) : quotient;
}
template <Integer T>
constexpr T mod(T a, T b) {
  const T rest = rem(a, b);
  return rest != 0 && (rest < 0) != (b < 0) ? static_cast<T>(rest + b) : rest;
}

template <Real T>
T trunc_div(T a, T b) {
  return std::trunc(a / b);
}
template <Real T>
T floor_div(T a, T b) {
  return std::floor(a / b);
}
template <Real T>
T rem(T a, T b) {
  return std::fmod(a, b);
}
template <Real T>
T mod(T a, T b) {
  const T rest = std::fmod(a, b);
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

// A negative exponent gives 1 or -1 for a of 1 or -1, else 0.
template <Integer T>
constexpr T power(T a, T exponent) {
  if (exponent < 0) return a == 1 ? T{1} : a == -1 ? (exponent % 2 == 0 ? T{1} : T{-1}) : T{0};
  T result = 1;
  for (; exponent > 0; exponent = static_cast<T>(exponent >> 1)) {
    if (exponent & 1) result = wrapping_mul(result, a);
    a = wrapping_mul(a, a);
  }
  return result;
}

template <Integer T>
constexpr T shift_left(T a, T count) {
  constexpr T kWidth = std::numeric_limits<std::make_unsigned_t<T>>::digits;
  if (count < 0 || count >= kWidth) return 0;
  return static_cast<T>(static_cast<std::make_unsigned_t<T>>(a) << count);
}
template <Integer T>
constexpr T shift_right(T a, T count) {
  constexpr T kWidth = std::numeric_limits<std::make_unsigned_t<T>>::digits;
  return static_cast<T>(a >> (count < 0 || count >= kWidth ? static_cast<T>(kWidth - 1) : count));
}

template <typename T>
T larger(T a, T b) {
  if constexpr (Real<T>) {
    if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<T>::quiet_NaN();
  }
  return a < b ? b : a;
}
template <typename T>
T smaller(T a, T b) {
  if constexpr (Real<T>) {
    if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<T>::quiet_NaN();
  }
  return b < a ? b : a;
}

// Truncates. nan and values out of range give the lowest value of T, which is i32 or i64.
template <typename T, Real F>
constexpr T truncate_to(F value) {
  static_assert(std::is_same_v<T, std::int32_t> || std::is_same_v<T, std::int64_t>);
  constexpr F kLimit = sizeof(T) == 4 ? static_cast<F>(0x1p31) : static_cast<F>(0x1p63);
  // -2^31 - 0.5 still truncates to -2^31; f32 has no such value, and at 2^63 f64 has none either.
  const bool in_range = sizeof(T) == 4 ? value > -kLimit - 1 && value < kLimit : value >= -kLimit && value < kLimit;
  if (in_range || value == -kLimit) return static_cast<T>(value);
  return std::numeric_limits<T>::min();
}

// The conversion of loads, stores and casts from one arithmetic type to another.
template <typename To, typename From>
constexpr To convert(From value) {
  if constexpr (Real<From> && Integer<To>) {
    using Wide = std::conditional_t<sizeof(To) == 8, std::int64_t, std::int32_t>;
    return static_cast<To>(truncate_to<Wide>(value));
  } else {
    return static_cast<To>(value);
  }
}

}  // namespace tilewright::isa
