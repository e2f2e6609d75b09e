// Convolutions of one channel each, in planes.
#pragma once

#include "tilewright/vm/cpu/level/lines.h"

namespace tilewright::vm::cpu::TW_LEVEL {

// Runs a task of an f32 conv with one input and one or two output channels to a group. False, with nothing written, for
// windows over three axes, elements moved apart, tasks of a part of the plane, x whose columns do not stand side by
// side, and what private scratch does not hold.
bool convolve_depthwise(const isa::Inst& inst, const TaskContext& context, const isa::Task& task);

}  // namespace tilewright::vm::cpu::TW_LEVEL
