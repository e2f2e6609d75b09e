// Unit-stride loops are left to the compiler, which vectorises them.
#include "tilewright/vm/cpu/level/dot_copy.h"

#include <cstring>

#include "tilewright/isa/panels.h"

namespace tilewright::vm::cpu::TW_LEVEL {
namespace {

template <typename S>
[[gnu::always_inline]] inline S read(const char* from) {
  S value;
  std::memcpy(&value, from, sizeof(S));
  return value;
}

// The group of up to `count` elements at from, k_stride apart; missing ones are 0.
template <typename S>
[[gnu::always_inline]] inline std::uint32_t part_group(const char* from, std::int64_t k_stride, std::int64_t count,
                                                       std::uint32_t bias) {
  std::uint32_t word = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    word |= (std::uint32_t{read<S>(from + i * k_stride)} ^ bias) << (8 * sizeof(S) * static_cast<unsigned>(i));
  }
  return word;
}

// One group of rows with unit stride along n.
[[gnu::always_inline]] inline void pack_row_bytes(std::uint32_t* to, const char* from, std::int64_t k_stride,
                                                  std::int64_t columns, std::uint32_t bias) {
  const auto* r0 = reinterpret_cast<const std::uint8_t*>(from);
  const std::uint8_t *r1 = r0 + k_stride, *r2 = r1 + k_stride, *r3 = r2 + k_stride;
  for (std::int64_t n = 0; n < columns; ++n) {
    to[n] =
        (std::uint32_t{r0[n]} | std::uint32_t{r1[n]} << 8 | std::uint32_t{r2[n]} << 16 | std::uint32_t{r3[n]} << 24) ^
        bias;
  }
}
[[gnu::always_inline]] inline void pack_row_halves(std::uint32_t* to, const char* from, std::int64_t k_stride,
                                                   std::int64_t columns) {
  for (std::int64_t n = 0; n < columns; ++n) {
    to[n] = std::uint32_t{read<std::uint16_t>(from + 2 * n)} |
            std::uint32_t{read<std::uint16_t>(from + k_stride + 2 * n)} << 16;
  }
}

void add_sums(std::uint32_t* sums, const std::uint32_t* words, std::int64_t panel) {
  for (std::int64_t n = 0; n < panel; ++n) {
    const auto word = static_cast<std::int32_t>(words[n]);
    const auto moved = [&](int bits) {
      return static_cast<std::int32_t>(static_cast<std::uint32_t>(word) << bits) >> 24;
    };
    sums[n] += static_cast<std::uint32_t>(moved(24) + moved(16) + moved(8) + moved(0));
  }
}

template <typename S>
void pack_elements(std::uint32_t* to, std::int64_t panel, const char* from, std::int64_t k_stride,
                   std::int64_t n_stride, std::int64_t k, std::int64_t columns, std::uint32_t bias,
                   std::uint32_t* sums) {
  constexpr auto kSize = static_cast<std::int64_t>(sizeof(S));
  constexpr std::int64_t kGroup = 4 / kSize;
  for (std::int64_t first = 0; first < k; first += kGroup, to += panel) {
    const char* row = from + first * k_stride;
    const bool whole = k - first >= kGroup;
    if (whole && n_stride == kSize) {
      if constexpr (kSize == 1) {
        pack_row_bytes(to, row, k_stride, columns, bias * 0x01010101u);
      } else {
        pack_row_halves(to, row, k_stride, columns);
      }
    } else if (whole && k_stride == kSize) {
      for (std::int64_t n = 0; n < columns; ++n) to[n] = read<std::uint32_t>(row + n * n_stride) ^ bias * 0x01010101u;
    } else {
      const std::int64_t count = whole ? kGroup : k - first;
      for (std::int64_t n = 0; n < columns; ++n) to[n] = part_group<S>(row + n * n_stride, k_stride, count, bias);
    }
    for (std::int64_t n = columns; n < panel; ++n) to[n] = 0;
    if (sums != nullptr) add_sums(sums, to, panel);
  }
}

// A group of a as the words that one kernel multiplies, by its number of parts (dot_kernel.h).
[[gnu::always_inline]] inline void spread_bytes(std::uint32_t* to, int parts, std::uint32_t word) {
  if (parts == 2) {
    to[0] = word & 0x00ff00ffu;
    to[1] = word >> 8 & 0x00ff00ffu;
  } else {
    for (int i = 0; i < 4; ++i) to[i] = word >> 8 * i & 0xffu;
  }
}

[[gnu::always_inline]] inline std::uint32_t sum_bytes(std::uint32_t word) {
  const std::uint32_t pairs = (word & 0x00ff00ffu) + (word >> 8 & 0x00ff00ffu);
  return (pairs & 0xffffu) + (pairs >> 16);
}

}  // namespace

void pack_groups(std::uint32_t* to, std::int64_t panel, const char* from, DType dtype, std::int64_t k_stride,
                 std::int64_t n_stride, std::int64_t k, std::int64_t columns, std::uint32_t* sums) {
  if (sums != nullptr) std::memset(sums, 0, static_cast<std::size_t>(panel) * 4);
  if (byte_size(dtype) == 1) {
    pack_elements<std::uint8_t>(to, panel, from, k_stride, n_stride, k, columns, isa::stored_bias(dtype), sums);
  } else {
    pack_elements<std::uint16_t>(to, panel, from, k_stride, n_stride, k, columns, 0, nullptr);
  }
}

std::uint32_t copy_groups(std::uint32_t* to, int parts, const char* from, DType dtype, std::int64_t stride,
                          std::int64_t k) {
  const std::int64_t size = byte_size(dtype), group = 4 / size, whole = k / group, tail = k % group;
  const std::uint32_t bias = dtype == DType::kI8 ? 0x80 : 0;
  std::uint32_t sum = 0;
  if (size == 2) {
    for (std::int64_t g = 0; g < whole + (tail != 0); ++g) {
      const char* at = from + g * 2 * stride;
      const std::uint32_t word = g < whole && stride == 2
                                     ? read<std::uint32_t>(at)
                                     : part_group<std::uint16_t>(at, stride, g < whole ? 2 : tail, 0);
      if (parts == 1) {
        to[g] = word;
      } else {
        to[2 * g] = word << 16;
        to[2 * g + 1] = word & 0xffff0000u;
      }
    }
    return 0;
  }
  if (parts == 1 && stride == 1) {
    for (std::int64_t g = 0; g < whole; ++g) {
      const std::uint32_t word = read<std::uint32_t>(from + 4 * g) ^ bias * 0x01010101u;
      to[g] = word;
      sum += sum_bytes(word);
    }
  } else {
    for (std::int64_t g = 0; g < whole; ++g) {
      const std::uint32_t word = part_group<std::uint8_t>(from + g * 4 * stride, stride, 4, bias);
      sum += sum_bytes(word);
      if (parts == 1) {
        to[g] = word;
      } else {
        spread_bytes(to + g * parts, parts, word);
      }
    }
  }
  if (tail == 0) return sum;
  const std::uint32_t word = part_group<std::uint8_t>(from + whole * 4 * stride, stride, tail, bias);
  if (parts == 1) {
    to[whole] = word;
  } else {
    spread_bytes(to + whole * parts, parts, word);
  }
  return sum + sum_bytes(word);
}

}  // namespace tilewright::vm::cpu::TW_LEVEL
