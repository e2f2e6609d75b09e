// BackendTraits: what the operator compiler needs to know of a machine, as numbers. The same compiler serves any of
// them.
#pragma once

#include <cstdint>
#include <string_view>

namespace tilewright {

struct BackendTraits {
  std::string_view name;  // "avx512", "reference"
  std::int64_t threads = 1;
  std::int64_t fast_bytes = 0;  // memory per core that a tile should fit (L1 + part of L2)
  std::int64_t l2_bytes = 0;
  std::int64_t strip_elements = 64;  // 4-byte lanes per strip
  std::int64_t vector_floats = 1;
  std::int64_t matmul_rows = 1;      // micro-kernel rows
  std::int64_t matmul_panel = 1;     // micro-kernel columns = width of a packed panel
  std::int64_t flops_per_us = 1000;  // one core, for splitting work into tasks
  std::int64_t bytes_per_us = 10000;
};

}  // namespace tilewright
