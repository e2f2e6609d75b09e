// Machine: runs verified programs on one backend. Implementations: vm/reference (obvious, the second oracle), vm/cpu.
#pragma once

#include <memory>
#include <span>

#include "tilewright/isa/program.h"
#include "tilewright/isa/traits.h"

namespace tilewright::vm {

class Machine {
 public:
  virtual ~Machine() = default;
  virtual const BackendTraits& traits() const = 0;
  // Runs the instructions in `words` (whole instructions, from a verified program). buffers[i] is the address of buffer
  // i. Thread-safe: calls from several threads run one after another or side by side, each on memory of its own. The
  // error of an instruction that met a bad value in its data (an index out of range) names the value.
  virtual Status run(std::span<const isa::Word> words, std::int64_t scratch_bytes,
                     std::span<std::byte* const> buffers) = 0;
};

std::unique_ptr<Machine> make_reference_machine();

}  // namespace tilewright::vm
