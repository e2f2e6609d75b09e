// Copies for dot: panels of narrow elements (isa/panels.h), and rows of a as the words that the kernels read.
#pragma once

#include "tilewright/vm/cpu/level/level.h"

namespace tilewright::vm::cpu::TW_LEVEL {

// Groups of b[k, columns] to to[group][panel] words, zeros beyond. `sums` (may be null) gets the sums of the stored
// columns of bytes. Strides in bytes.
void pack_groups(std::uint32_t* to, std::int64_t panel, const char* from, DType dtype, std::int64_t k_stride,
                 std::int64_t n_stride, std::int64_t k, std::int64_t columns, std::uint32_t* sums);

// A row of `k` elements as ceil(k / group) groups of `parts` words; i8 becomes u8 plus 128; missing elements are 0.
// Returns the sum of the written bytes (0 for bf16).
std::uint32_t copy_groups(std::uint32_t* to, int parts, const char* from, DType dtype, std::int64_t stride,
                          std::int64_t k);

}  // namespace tilewright::vm::cpu::TW_LEVEL
