// make_reference_machine(): runs instructions in order, their tasks in order, on the calling thread.
#include "tilewright/vm/machine.h"
#include "tilewright/vm/reference/execute.h"

namespace tilewright::vm {
namespace reference {

Status execute(const Memory& memory, const isa::Inst& inst) {
  switch (inst.opcode()) {
#define INST(opcode, Name, ...) \
  case isa::Opcode::k##Name:    \
    return exec_##Name(memory, inst);
#define FIELD(...)
#define END_INST(...)
#include "tilewright/isa/instructions.def"
#undef INST
#undef FIELD
#undef END_INST
  }
  check_failed("the opcode exists", __FILE__, __LINE__, "the program was not verified");
}

class ReferenceMachine final : public Machine {
 public:
  const BackendTraits& traits() const override { return traits_; }

  Status run(std::span<const isa::Word> words, std::int64_t scratch_bytes,
             std::span<std::byte* const> buffers) override {
    std::vector<std::byte> scratch(static_cast<std::size_t>(scratch_bytes));
    const Memory memory{buffers, scratch.data()};
    for (std::size_t at = 0; at < words.size();) {
      const isa::Inst inst(words.data() + at);
      TW_TRY(execute(memory, inst));
      at += inst.num_words();
    }
    return {};
  }

 private:
  BackendTraits traits_{.name = "reference",
                        .threads = 1,
                        .fast_bytes = 32 << 10,
                        .l2_bytes = 256 << 10,
                        .strip_elements = 64,
                        .vector_floats = 1,
                        .matmul_rows = 4,
                        .matmul_panel = 16,
                        .flops_per_us = 500,
                        .bytes_per_us = 1000};
};

}  // namespace reference

std::unique_ptr<Machine> make_reference_machine() {
  return std::make_unique<reference::ReferenceMachine>();
}

}  // namespace tilewright::vm
