// Which level tables this processor can run, and the numbers that the operator compiler wants of the machine.
#pragma once

#include <span>

#include "tilewright/isa/traits.h"
#include "tilewright/vm/cpu/levels.h"

namespace tilewright::vm::cpu {

// Widest last; at least the portable level.
std::span<const LevelTable* const> available_levels();

// Cache sizes come from the system (with common sizes where it does not say), rates are typical of the level.
BackendTraits traits_of(const LevelTable& level);

}  // namespace tilewright::vm::cpu
