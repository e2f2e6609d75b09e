// What the machine knows of a level: one table of task handlers per instruction set (portable, AVX2, AVX-512), each
// compiled in objects of its own (vm/cpu/level). The machine picks a table once at start and calls through it.
// Plain data only: these types are shared by objects built with different instruction sets.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tilewright/isa/program.h"

namespace tilewright::vm::cpu {

// What a bad value in the data of an instruction was. The machine turns it into an Error.
struct Fault {
  std::int64_t stream;  // where the value came from
  std::int64_t value;
  std::int64_t limit;  // the size of the axis that it is an index of
};

// One worker's surroundings while it runs a task. Handlers keep nothing between tasks.
struct TaskContext {
  std::byte* const* buffers;
  std::byte* scratch;          // at least the program's scratch_bytes, 64-byte aligned
  std::byte* private_scratch;  // kPrivateBytes of the worker for the handlers' own use, 64-byte aligned
  void (*report)(void* sink, const Fault& fault);  // thread-safe; the task goes on or returns early
  void* sink;
};

inline constexpr std::int64_t kPrivateBytes = std::int64_t{4} << 20;  // touched only where a handler needs it

using TaskHandler = void (*)(const isa::Inst& inst, const TaskContext& context, std::int64_t task);

// Handlers are looked up by opcode; opcodes are small numbers.
constexpr int num_opcodes() {
  int last = 0;
#define INST(opcode, ...) last = (opcode) > last ? (opcode) : last;
#define FIELD(...)
#define END_INST(...)
#include "tilewright/isa/instructions.def"
#undef INST
#undef FIELD
#undef END_INST
  return last + 1;
}
inline constexpr int kNumOpcodes = num_opcodes();

// Where the streams of a strip program are. Element i of stream s lies at address + (i & mask) * bytes for a unit form,
// at address + (i & mask) * stride for a strided form, at address for a one-element form.
struct StripRun {
  char* address[isa::kMaxStreams];        // of element 0; of an iota stream: its value at element 0
  std::uint64_t mask[isa::kMaxStreams];   // all bits set: moves with the element; 0: stays
  std::int64_t stride[isa::kMaxStreams];  // inner stride in bytes; of an iota stream: its step

  // Of the engine, while it runs:
  const isa::Word* code;
  const void* tail_table;
  std::uint64_t end;  // the last element + 1
  std::int64_t tail;  // elements of the tail strip
  alignas(64) unsigned char tail_masks[512];
  alignas(64) unsigned char staging[2][1024];  // for operations that work through memory
};

struct LevelTable {
  const char* name;
  bool variant;                       // all but a few handlers are those of the level before it
  std::int64_t vector_floats;         // 4-byte lanes of a vector; a strip is eight vectors
  std::int64_t matmul_rows;           // of the micro-kernel
  std::int64_t matmul_panel;          // columns of the micro-kernel = width of a packed panel
  TaskHandler handlers[kNumOpcodes];  // null where no instruction has the opcode
  void (*run_strip)(const isa::Word* code, StripRun& run, std::int64_t count);
};

namespace portable {
const LevelTable& level_table();
}
#if defined(__x86_64__)
namespace avx2 {
const LevelTable& level_table();
const LevelTable& vnni_level_table();  // the same handlers, but dots of bytes by the VNNI instruction
}  // namespace avx2
namespace avx512 {
const LevelTable& level_table();
}
#endif

}  // namespace tilewright::vm::cpu
