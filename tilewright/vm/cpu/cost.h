// The cost model of the machine: what an instruction takes on one core, predicted from its sizes and a few rates. It
// decides whether a launch is worth a second thread and how large a chunk of tasks is; results never depend on it.
// bench/models/cost_model.cc compares it with measured times. HOT: called once per launch.
#pragma once

#include "tilewright/isa/program.h"
#include "tilewright/isa/traits.h"

namespace tilewright::vm::cpu {

// Of all tasks of the instruction together. Finite.
double predict_microseconds(const isa::Inst& inst, const BackendTraits& traits);

}  // namespace tilewright::vm::cpu
