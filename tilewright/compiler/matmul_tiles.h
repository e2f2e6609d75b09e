// How a matrix product is cut into tasks and its sums into blocks. Pure arithmetic on sizes and the numbers of a
// machine.
#pragma once

#include <cstdint>

#include "tilewright/isa/traits.h"

namespace tilewright::compiler {

struct MatMulTiles {
  std::int64_t m, n;  // rows and columns per task, at least 1
};

// Tasks of about 50 us, whole panels wide, shared by the threads without a small remainder.
MatMulTiles choose_matmul_tiles(std::int64_t batch, std::int64_t m, std::int64_t n, std::int64_t k,
                                const BackendTraits& traits);

// A long sum is cut so that a block of b stays in the first-level cache while rows stream over it.
std::int64_t k_block_of(std::int64_t k);

}  // namespace tilewright::compiler
