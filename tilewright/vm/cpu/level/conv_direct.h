// Convolutions over a slab of x.
#pragma once

#include "tilewright/vm/cpu/level/lines.h"

namespace tilewright::vm::cpu::TW_LEVEL {

// Runs a task of conv. False, with nothing written, where the slab of a few positions or the list of terms would not
// fit.
template <typename T>
bool convolve_slabs(const isa::Inst& inst, const TaskContext& context, const isa::Task& task);

}  // namespace tilewright::vm::cpu::TW_LEVEL
