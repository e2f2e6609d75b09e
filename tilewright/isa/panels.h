// Packed panels of the right operand of a contraction: how many bytes they take. Elements of k stand in groups of four
// bytes, so that one 32-bit word of a meets one 32-bit lane of b:
//   [ceil(k / group)][panel][group]        group = 4 / element size: f32 1, bf16 2, u8 and i8 4; missing k are 0
// Panels of bytes hold i8 (u8 minus 128) and end with [panel] i32, the sums of the stored columns: what zero points
// need. Used by the verifier, the compiler and every machine; no allocation.
#pragma once

#include "tilewright/isa/tasks.h"

namespace tilewright::isa {

constexpr std::int64_t group_of(DType dtype) {
  return byte_size(dtype) < 4 ? 4 / byte_size(dtype) : 1;
}
constexpr std::int64_t panel_words(DType dtype, std::int64_t k) {  // words per column
  return tiles_of(k, group_of(dtype)) + (byte_size(dtype) == 1 ? 1 : 0);
}
// Bytes from one panel to the next.
constexpr std::int64_t panel_bytes(DType dtype, std::int64_t k, std::int64_t panel) {
  return panel_words(dtype, k) * panel * 4;
}
// Bytes of the panels of one k x n matrix; false where they do not fit.
constexpr bool count_panel_bytes(DType dtype, std::int64_t k, std::int64_t n, std::int64_t panel, std::int64_t& bytes) {
  bool overflow = __builtin_mul_overflow(panel_words(dtype, k), panel, &bytes);
  overflow |= __builtin_mul_overflow(bytes, std::int64_t{4}, &bytes);
  overflow |= __builtin_mul_overflow(bytes, tiles_of(n, panel), &bytes);
  return !overflow;
}

// u8 elements are stored minus 128 in panels, i8 elements are multiplied plus 128 on the left: the xor of a byte.
constexpr std::uint8_t stored_bias(DType dtype) {
  return dtype == DType::kU8 ? 0x80 : 0;
}

}  // namespace tilewright::isa
