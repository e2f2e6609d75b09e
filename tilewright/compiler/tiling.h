// The cost model of tiling, in one place: how many rows and elements a task covers.
#pragma once

#include <algorithm>
#include <cstdint>

#include "tilewright/isa/traits.h"

namespace tilewright::compiler {

inline constexpr std::int64_t kRowTileElements = 4096;  // rows in cache: many short rows per tile hide latencies
inline constexpr std::int64_t kTaskElements = 32768;    // elements of a cheap task: 5 to 50 us
inline constexpr std::int64_t kInnerStep = 128;         // inner tiles are whole strips on every level

inline std::int64_t round_up(std::int64_t value, std::int64_t step) {
  return (value + step - 1) / step * step;
}

// Elements per task: big enough to pay for a claim, small enough that a descheduled worker costs one chunk.
inline std::int64_t task_elements(std::int64_t elements, std::int64_t cost, const BackendTraits& traits) {
  const std::int64_t chunk = std::max<std::int64_t>(kTaskElements / std::max<std::int64_t>(cost, 1), 2048);
  if (traits.threads <= 1) return std::max(chunk * 8, std::int64_t{1});
  return std::max<std::int64_t>(chunk, elements / (traits.threads * 64));
}

}  // namespace tilewright::compiler
