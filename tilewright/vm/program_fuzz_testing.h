// For fuzz tests of machines: programs with damaged words. What the verifier accepts must run inside of its buffers.
// They have exactly the sizes that the program declares, so the address sanitiser sees every step beyond them.
#pragma once

#include <algorithm>

#include "tilewright/base/fuzz_testing.h"
#include "tilewright/isa/example_programs.h"
#include "tilewright/isa/layout.h"
#include "tilewright/vm/machine.h"

namespace tilewright::vm::testing {

// Fields that say how often a task goes over its memory.
inline bool repeats(std::string_view field) {
  static constexpr std::string_view kNames[] = {"k",       "panel",   "keys",    "depth", "channels",
                                                "window1", "window2", "window3", "limit", "count"};
  return std::ranges::find(kNames, field) != std::end(kNames);
}

// Strides of 0 let a short program over a small buffer run for years: only what ends soon is run.
inline bool ends_soon(const isa::Program& program) {
  for (std::size_t at = 0; at < program.words.size(); at += isa::Inst(program.words.data() + at).num_words()) {
    isa::Layout layout;
    isa::read_layout(program.words.data() + at, program.words.size() - at, layout);
    const isa::Inst inst(layout.words);
    double work = (1.0 + static_cast<double>(inst.inner())) * (1.0 + static_cast<double>(inst.tasks()));
    for (int d = 0; d < layout.rank; ++d) work *= 1.0 + static_cast<double>(layout.dims()[d]);
    const std::vector<isa::FieldInfo>& fields = isa::find_inst(inst.opcode())->fields;
    for (std::size_t i = 0; i < fields.size(); ++i) {
      if (repeats(fields[i].name)) work *= std::max(1.0, static_cast<double>(layout.field(static_cast<int>(i))));
    }
    if (work > 2e6) return false;
  }
  return true;
}

inline void damage_words(isa::Program& program, tilewright::testing::FuzzRun& run) {
  for (std::uint64_t i = run.below(3) + 1; i > 0; --i) {
    isa::Word& word = program.words[run.below(program.words.size())];
    switch (run.below(5)) {
      case 0:
        word ^= isa::Word{1} << run.below(64);
        break;
      case 1:
        word += run.below(17) - 8;
        break;
      case 2:
        word = program.words[run.below(program.words.size())];
        break;
      case 3:
        word = run.below(2) == 0 ? 0 : run.below(4096);
        break;
      default:
        word = word * run.below(4) / (run.below(3) + 1);
        break;
    }
  }
  if (run.below(8) == 0 && !program.buffers.empty())
    program.buffers[run.below(program.buffers.size())].bytes = static_cast<std::int64_t>(run.below(2000));
}

inline bool reads_bools(const isa::Program& program) {
  for (std::size_t at = 0; at < program.words.size(); at += isa::Inst(program.words.data() + at).num_words()) {
    const isa::Layout layout = isa::layout_of(isa::Inst(program.words.data() + at));
    for (int i = 0; i < layout.streams; ++i)
      if (layout.stream(i).dtype() == DType::kBool) return true;
  }
  return false;
}

// Zeros, words of 0 and 1 (indices and bools of them are good), or anything.
inline void fill_memory(std::vector<std::byte>& bytes, bool bools, tilewright::testing::FuzzRun& run) {
  const std::uint64_t manner = run.below(bools ? 2 : 3);
  for (std::size_t i = 0; manner != 0 && i < bytes.size(); ++i)
    bytes[i] = static_cast<std::byte>(manner == 2 ? run.random() : i % 8 == 0 ? run.below(2) : 0);
}

inline void run_in_exact_memory(Machine& machine, const isa::Program& program, tilewright::testing::FuzzRun& run) {
  const bool bools = reads_bools(program);
  std::vector<std::unique_ptr<std::byte[]>> memory;
  std::vector<std::byte*> addresses;
  for (const isa::Buffer& buffer : program.buffers) {
    std::vector<std::byte> bytes(static_cast<std::size_t>(buffer.bytes));
    fill_memory(bytes, bools, run);
    memory.push_back(std::make_unique<std::byte[]>(bytes.size()));
    std::copy(bytes.begin(), bytes.end(), memory.back().get());
    addresses.push_back(memory.back().get());
  }
  (void)machine.run(program.words, program.scratch_bytes, addresses).ok();  // an index out of range is an error
}

// Damages programs and runs what the verifier accepts on `machine`, for the time of one fuzz test.
inline void expect_programs_stay_in_their_buffers(Machine& machine) {
  std::vector<isa::Program> programs;
  for (const std::string_view text : isa::testing::kExamplePrograms) programs.push_back(*isa::assemble(text));
  std::uint64_t accepted = 0;
  tilewright::testing::FuzzRun run;
  while (run.next()) {
    isa::Program program = programs[run.below(programs.size())];
    damage_words(program, run);
    if (!isa::verify_program(program) || !ends_soon(program)) continue;
    ++accepted;
    run_in_exact_memory(machine, program, run);
  }
  EXPECT_GT(accepted, run.rounds() / 100) << "of " << run.rounds() << " programs";
}

}  // namespace tilewright::vm::testing
