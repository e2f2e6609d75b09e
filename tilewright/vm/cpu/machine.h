// The CPU machine: runs verified programs with the widest instruction set that the processor has, tasks of one
// instruction on the pool of the process. Creating one is cheap; all machines share the pool and the worker memory.
#pragma once

#include <memory>
#include <string>

#include "tilewright/base/result.h"
#include "tilewright/vm/machine.h"

namespace tilewright::vm {

struct CpuOptions {
  std::string isa;  // "portable", "avx2", "avx2_vnni" or "avx512"; empty: the widest that the processor has
};

// What the environment asks for: TILEWRIGHT_ISA.
CpuOptions cpu_options_from_environment();

// An error if the level is unknown, or the processor or this build lacks it.
Result<std::unique_ptr<Machine>> make_cpu_machine(const CpuOptions& options = cpu_options_from_environment());

// The levels that this processor and this build have, widest last: for tests that run on each. avx2_vnni is not listed:
// it differs from avx2 in dots of bytes alone, which have tests of their own.
std::span<const std::string_view> cpu_levels();

}  // namespace tilewright::vm
