// Convolution of one input channel with one output channel.
#pragma once

#include "tilewright/isa/tasks.h"
#include "tilewright/vm/cpu/level/level.h"

namespace tilewright::vm::cpu::TW_LEVEL {

// One task of a conv instruction with one channel per group and one row per task. T: float, double, uint32_t, uint64_t.
template <typename T>
void convolve_channel(const isa::Inst& inst, const TaskContext& context, const isa::Task& task);

}  // namespace tilewright::vm::cpu::TW_LEVEL
