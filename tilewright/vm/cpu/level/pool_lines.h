// Pools of which only the value is wanted: first the rows of a window become one line, then its columns one element.
#pragma once

#include "tilewright/vm/cpu/level/window.h"

namespace tilewright::vm::cpu::TW_LEVEL {

// One channel of x and of the results; positions: or null.
struct PoolPlane {
  const isa::PoolFields& f;
  const WindowAxis (&axes)[3];
  const char* x;
  char* to;
  char* positions;
};

// T: float, double, std::int32_t, std::int64_t. False, with nothing written, for windows of more rows or columns than
// the lists hold, and for x whose columns do not stand side by side.
template <typename T>
bool pool_lines(const PoolPlane& plane, std::int64_t positions, const TaskContext& context);

}  // namespace tilewright::vm::cpu::TW_LEVEL
