// The reference machine: the obvious interpreter, one task after the other, one element at a time. It is the second
// oracle: nothing here is fast, everything is plain. It assumes a verified program. Each instruction has a file of its
// own with the function that the table asks for; an instruction without one does not link.
#pragma once

#include <span>
#include <vector>

#include "tilewright/isa/layout.h"
#include "tilewright/isa/tasks.h"

namespace tilewright::vm::reference {

using isa::Word;

// The memory that a program runs on.
struct Memory {
  std::span<std::byte* const> buffers;
  std::byte* scratch;
};

// Where a strip begins. index has one entry per outer dim.
struct Place {
  const std::int64_t* index;
  std::int64_t tile_row = 0;       // row - first row of the tile
  std::int64_t position = 0;       // p: inner position
  std::int64_t tile_position = 0;  // q: inner position that scratch counts by
};

// One accumulator while its phase runs: floats in f64, integers and masks in i64. Rows keep one, columns one per
// position.
struct Sum {
  double real = 0;
  std::int64_t integer = 0;
};

// The instruction that runs, and what its task has computed.
struct Frame {
  const Memory& memory;
  const isa::Layout& at;
  std::byte* block = nullptr;  // kTile: the computed block
  std::int64_t block_row_bytes = 0;
  std::int64_t block_column = 0;         // inner position of its first column
  std::vector<std::vector<Sum>> sums{};  // by stream number
};

// The address of a stream's element at `place`, not for kLiteral, kIota and kAccumulator.
std::byte* address(const Frame& frame, int stream, const Place& place);

// Runs a strip program on `count` positions from `place` on. along_rows: a scalar phase, position and row advance
// together.
void run_strip(Frame& frame, const isa::PhaseHead& phase, const Place& place, std::int64_t count,
               bool along_rows = false);

// Accumulators of a phase: set to their identity (`width` of them each), and their values as the bits of the lane type.
void reset_sums(Frame& frame, const isa::PhaseHead& phase, std::int64_t width);
void store_sum(const Frame& frame, int stream, const Sum& sum, std::byte* to);
inline int sum_target(const isa::StreamHead& head) {
  return static_cast<int>(head.inner_stride & 0xffffffff);
}

// softmax .. rms_norm on one row of `count` floats.
void run_row_phase(const Frame& frame, const isa::PhaseHead& phase, const Place& place, std::int64_t count);

#define INST(opcode, Name, ...) Status exec_##Name(const Memory& memory, const isa::Inst& inst);
#define FIELD(...)
#define END_INST(...)
#include "tilewright/isa/instructions.def"
#undef INST
#undef FIELD
#undef END_INST

}  // namespace tilewright::vm::reference
