// Widening, narrowing and panel copies. Unit-stride loops are left to the compiler, which vectorises them; the
// transposing copy goes through registers, one square of kLanes x kLanes elements at a time.
#include "tilewright/vm/cpu/level/pack_copy.h"

#include <cstring>

#include "tilewright/vm/cpu/level/matmul_vector.h"
#include "tilewright/vm/cpu/level/turn.h"

namespace tilewright::vm::cpu::TW_LEVEL {
namespace {

template <typename S>
[[gnu::always_inline]] inline S read(const char* from) {
  S value;
  std::memcpy(&value, from, sizeof(S));
  return value;
}
template <typename S>
[[gnu::always_inline]] inline void write(char* to, S value) {
  std::memcpy(to, &value, sizeof(S));
}

[[gnu::always_inline]] inline float float_from_bits(std::uint32_t bits) {
  return __builtin_bit_cast(float, bits);
}
[[gnu::always_inline]] inline std::uint32_t bits_from_float(float value) {
  return __builtin_bit_cast(std::uint32_t, value);
}

// Scaling by 2^112 moves the exponent and normalises denormals; infinity and nan get the largest exponent back.
[[gnu::always_inline]] inline float widen_f16(std::uint16_t h) {
  const float scaled = float_from_bits((h & 0x7fffu) << 13) * 0x1p112f;
  std::uint32_t bits = bits_from_float(scaled) | (h & 0x8000u) << 16;
  bits |= (h & 0x7c00u) == 0x7c00u ? 0x7f800000u : 0u;
  return float_from_bits(bits);
}
[[gnu::always_inline]] inline std::uint16_t narrow_f16(float value) {
  const std::uint32_t bits = bits_from_float(value);
  const std::uint32_t sign = bits >> 16 & 0x8000u, magnitude = bits & 0x7fffffffu;
  // Denormal results: adding 0.5 aligns the last kept bit and rounds to nearest even.
  const std::uint32_t small = bits_from_float(float_from_bits(magnitude) + 0.5f) - 0x3f000000u;
  const std::uint32_t normal = (magnitude + 0xfffu + (magnitude >> 13 & 1u) - 0x38000000u) >> 13;
  std::uint32_t half = magnitude < 0x38800000u ? small : normal;
  half = magnitude >= 0x477ff000u ? 0x7c00u : half;
  half = magnitude > 0x7f800000u ? 0x7e00u : half;
  return static_cast<std::uint16_t>(sign | half);
}
[[gnu::always_inline]] inline std::uint16_t narrow_bf16(float value) {
  const std::uint32_t bits = bits_from_float(value);
  const std::uint32_t rounded = (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16;
  return static_cast<std::uint16_t>((bits & 0x7fffffffu) > 0x7f800000u ? (bits >> 16 | 0x40u) : rounded);
}

template <typename S, typename T, typename Convert>
[[gnu::always_inline]] inline void widen_loop(T* to, const char* from, std::int64_t stride, std::int64_t count,
                                              Convert convert) {
  if (stride == static_cast<std::int64_t>(sizeof(S))) {
    for (std::int64_t i = 0; i < count; ++i) to[i] = convert(read<S>(from + i * static_cast<std::int64_t>(sizeof(S))));
  } else {
    for (std::int64_t i = 0; i < count; ++i) to[i] = convert(read<S>(from + i * stride));
  }
}
template <typename S, typename T, typename Convert>
[[gnu::always_inline]] inline void narrow_loop(char* to, std::int64_t stride, const T* from, std::int64_t count,
                                               Convert convert) {
  if (stride == static_cast<std::int64_t>(sizeof(S))) {
    for (std::int64_t i = 0; i < count; ++i) write<S>(to + i * static_cast<std::int64_t>(sizeof(S)), convert(from[i]));
  } else {
    for (std::int64_t i = 0; i < count; ++i) write<S>(to + i * stride, convert(from[i]));
  }
}

// Columns of unit-stride memory become panel rows. `panel` is a multiple of kLanes.
template <typename T>
void pack_transposed(T* to, std::int64_t panel, const char* from, std::int64_t n_stride, std::int64_t k,
                     std::int64_t columns) {
  constexpr int kSize = kLanes<T>;
  for (std::int64_t n = 0; n < panel; n += kSize) {
    for (std::int64_t first = 0; first < k; first += kSize) {
      const int length = k - first < kSize ? static_cast<int>(k - first) : kSize;
      const PartMask<T> part(length);
      Vec<T> rows[kSize];
#pragma GCC unroll 16
      for (int i = 0; i < kSize; ++i) {
        const T* row = reinterpret_cast<const T*>(from + (n + i) * n_stride) + first;
        __builtin_prefetch(from + (n + i + kSize) * n_stride + first * static_cast<std::int64_t>(sizeof(T)));
        rows[i] = n + i < columns ? load_part(row, part) : Vec<T>{};
      }
      zip_rows(rows);  // rows[i] = column i of the square
#pragma GCC unroll 16
      for (int i = 0; i < kSize; ++i) {
        if (i < length) store<T>(to + (first + i) * panel + n, rows[i]);
      }
    }
  }
}

// Rows of unit-stride memory are panel rows already. `panel` is a multiple of kLanes.
template <typename T>
void copy_rows(T* to, std::int64_t panel, const char* from, std::int64_t k_stride, std::int64_t k,
               std::int64_t columns) {
  const std::int64_t whole = columns / kLanes<T> * kLanes<T>;
  const PartMask<T> part(static_cast<int>(columns - whole));
  for (std::int64_t step = 0; step < k; ++step, to += panel, from += k_stride) {
    const T* row = reinterpret_cast<const T*>(from);
    for (std::int64_t byte = 0; byte < columns * static_cast<std::int64_t>(sizeof(T)); byte += 64) {
      __builtin_prefetch(from + 8 * k_stride +
                         byte);  // rows may lie a page apart, where the processor does not look ahead
    }
    for (std::int64_t n = 0; n < whole; n += kLanes<T>) store<T>(to + n, load<T>(row + n));
    if (whole < panel) store<T>(to + whole, load_part<T>(row + whole, part));
    for (std::int64_t n = whole + kLanes<T>; n < panel; n += kLanes<T>) store<T>(to + n, Vec<T>{});
  }
}

// As pack_transposed for memory that must be widened first: a few columns at a time go through a small buffer.
template <typename T>
void pack_widened(T* to, std::int64_t panel, const char* from, DType dtype, std::int64_t k_stride,
                  std::int64_t n_stride, std::int64_t k, std::int64_t columns) {
  constexpr std::int64_t kStep = 64;
  T buffer[kLanes<T>][kStep];
  for (std::int64_t first = 0; first < k; first += kStep) {
    const std::int64_t length = k - first < kStep ? k - first : kStep;
    for (std::int64_t n = 0; n < panel; n += kLanes<T>) {
      const std::int64_t wanted = panel - n < kLanes<T> ? panel - n : kLanes<T>;
      for (std::int64_t i = 0; i < wanted; ++i) {
        if (n + i < columns) {
          widen_row<T>(buffer[i], from + (n + i) * n_stride + first * k_stride, dtype, k_stride, length);
        } else {
          std::memset(buffer[i], 0, sizeof buffer[i]);
        }
      }
      for (std::int64_t step = 0; step < length; ++step) {
        for (std::int64_t i = 0; i < wanted; ++i) to[(first + step) * panel + n + i] = buffer[i][step];
      }
    }
  }
}

}  // namespace

template <typename T>
void widen_row(T* to, const char* from, DType dtype, std::int64_t stride, std::int64_t count) {
  if constexpr (__is_same(T, float)) {
    switch (dtype) {
      case DType::kF16:
        return widen_loop<std::uint16_t>(to, from, stride, count, [](std::uint16_t v) { return widen_f16(v); });
      case DType::kBF16:
        return widen_loop<std::uint16_t>(to, from, stride, count,
                                         [](std::uint16_t v) { return float_from_bits(std::uint32_t{v} << 16); });
      case DType::kF64:
        return widen_loop<double>(to, from, stride, count, [](double v) { return static_cast<float>(v); });
      default:
        if (stride == 4) {
          std::memmove(to, from, static_cast<std::size_t>(count) * 4);  // a program may name one place twice
          return;
        }
        return widen_loop<float>(to, from, stride, count, [](float v) { return v; });
    }
  } else if constexpr (__is_same(T, double)) {
    if (dtype == DType::kF64) return widen_loop<double>(to, from, stride, count, [](double v) { return v; });
    for (std::int64_t i = 0; i < count; ++i) {
      float value;
      widen_row<float>(&value, from + i * stride, dtype, 4, 1);
      to[i] = value;
    }
  } else {
    const auto convert = [](auto v) { return static_cast<T>(v); };
    switch (dtype) {
      case DType::kI8:
        return widen_loop<std::int8_t>(to, from, stride, count, convert);
      case DType::kU8:
      case DType::kBool:
        return widen_loop<std::uint8_t>(to, from, stride, count, convert);
      case DType::kI16:
        return widen_loop<std::int16_t>(to, from, stride, count, convert);
      case DType::kI32:
        return widen_loop<std::int32_t>(to, from, stride, count, convert);
      default:
        return widen_loop<std::int64_t>(to, from, stride, count, convert);
    }
  }
}

template <typename T>
void narrow_row(char* to, DType dtype, std::int64_t stride, const T* from, std::int64_t count) {
  if constexpr (__is_same(T, float)) {
    switch (dtype) {
      case DType::kF16:
        return narrow_loop<std::uint16_t>(to, stride, from, count, [](float v) { return narrow_f16(v); });
      case DType::kBF16:
        return narrow_loop<std::uint16_t>(to, stride, from, count, [](float v) { return narrow_bf16(v); });
      case DType::kF64:
        return narrow_loop<double>(to, stride, from, count, [](float v) { return static_cast<double>(v); });
      default:
        return narrow_loop<float>(to, stride, from, count, [](float v) { return v; });
    }
  } else if constexpr (__is_same(T, double)) {
    if (dtype == DType::kF64) return narrow_loop<double>(to, stride, from, count, [](double v) { return v; });
    for (std::int64_t i = 0; i < count; ++i) {
      const auto value = static_cast<float>(from[i]);
      narrow_row<float>(to + i * stride, dtype, 4, &value, 1);
    }
  } else {
    switch (dtype) {
      case DType::kBool:
        return narrow_loop<std::uint8_t>(to, stride, from, count,
                                         [](T v) { return static_cast<std::uint8_t>(v != 0); });
      case DType::kI8:
      case DType::kU8:
        return narrow_loop<std::uint8_t>(to, stride, from, count, [](T v) { return static_cast<std::uint8_t>(v); });
      case DType::kI16:
        return narrow_loop<std::uint16_t>(to, stride, from, count, [](T v) { return static_cast<std::uint16_t>(v); });
      case DType::kI32:
        return narrow_loop<std::uint32_t>(to, stride, from, count, [](T v) { return static_cast<std::uint32_t>(v); });
      default:
        return narrow_loop<std::uint64_t>(to, stride, from, count,
                                          [](T v) { return static_cast<std::uint64_t>(static_cast<std::int64_t>(v)); });
    }
  }
}

template <typename T>
void pack_panel(T* to, std::int64_t panel, const char* from, DType dtype, std::int64_t k_stride, std::int64_t n_stride,
                std::int64_t k, std::int64_t columns) {
  constexpr auto kBytes = static_cast<std::int64_t>(sizeof(T));
  if (n_stride == kBytes && is_native<T>(dtype) && panel % kLanes<T> == 0) {
    copy_rows<T>(to, panel, from, k_stride, k, columns);
  } else if (n_stride == byte_size(dtype)) {
    for (std::int64_t step = 0; step < k; ++step) {
      widen_row<T>(to + step * panel, from + step * k_stride, dtype, n_stride, columns);
      for (std::int64_t n = columns; n < panel; ++n) to[step * panel + n] = T{};
    }
  } else if (is_native<T>(dtype) && k_stride == kBytes && panel % kLanes<T> == 0) {
    pack_transposed<T>(to, panel, from, n_stride, k, columns);
  } else {
    pack_widened<T>(to, panel, from, dtype, k_stride, n_stride, k, columns);
  }
}

#define TW_COPIES(T)                                                                                        \
  template void widen_row(T* to, const char* from, DType dtype, std::int64_t stride, std::int64_t count);   \
  template void narrow_row(char* to, DType dtype, std::int64_t stride, const T* from, std::int64_t count);  \
  template void pack_panel(T* to, std::int64_t panel, const char* from, DType dtype, std::int64_t k_stride, \
                           std::int64_t n_stride, std::int64_t k, std::int64_t columns)
TW_COPIES(float);
TW_COPIES(double);
TW_COPIES(std::uint32_t);
TW_COPIES(std::uint64_t);
#undef TW_COPIES

}  // namespace tilewright::vm::cpu::TW_LEVEL
