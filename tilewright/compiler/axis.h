// Axes count in signed numbers; arrays are indexed by std::size_t.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tilewright::compiler {

constexpr std::size_t at(std::int64_t axis) {
  return static_cast<std::size_t>(axis);
}

}  // namespace tilewright::compiler
