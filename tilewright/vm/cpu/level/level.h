// One level of the CPU backend. Every source in this folder is compiled once per instruction set, with TW_LEVEL set to
// the namespace of the level (cmake/cpu_levels.cmake).
// Rules: no standard containers, no fmt, no shared inline functions that could be emitted out of line (the linker
// would keep one copy, perhaps with instructions that the machine lacks); own functions have internal linkage or live
// in the namespace of the level. No allocation, lock or log anywhere: a task writes only what its instruction names.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tilewright/isa/program.h"
#include "tilewright/vm/cpu/levels.h"

#ifndef TW_LEVEL
#error "sources of vm/cpu/level are compiled per level, see cmake/cpu_levels.cmake"
#endif

namespace tilewright::vm::cpu::TW_LEVEL {

// ---- Numbers of the level -------------------------------------------------------------------------------------------
#if defined(TW_LEVEL_AVX512)
inline constexpr int kVectorBytes = 64;
#elif defined(TW_LEVEL_AVX2)
inline constexpr int kVectorBytes = 32;
#else
inline constexpr int kVectorBytes = 16;
#endif
inline constexpr int kVectorFloats = kVectorBytes / 4;
inline constexpr int kStripVectors = 8;
inline constexpr int kStripBytes = kVectorBytes * kStripVectors;

// ---- Task handlers: one per row of instructions.def; a missing one does not link
// ----------------------------------------
#define INST(opcode, Name, ...) void exec_##Name(const isa::Inst& inst, const TaskContext& context, std::int64_t task);
#define FIELD(...)
#define END_INST(...)
#include "tilewright/isa/instructions.def"
#undef INST
#undef FIELD
#undef END_INST

// ---- Strip programs
// --------------------------------------------------------------------------------------------------- Runs `code` at
// the elements first .. first + count - 1 of `run`. Accumulators are folded to one vector at the address of their
// stream where its mask is 0, and are kept per element where the mask is set.
enum class Reach { kNear, kFar, kStreaming };  // far: operands are prefetched; streaming: results bypass the cache, too
void run_strip_range(const isa::Word* code, StripRun& run, std::int64_t first, std::int64_t count,
                     Reach reach = Reach::kNear);
void run_strip(const isa::Word* code, StripRun& run, std::int64_t count);
void fill_strip_tables();  // before the first run; level_table() does it

// The streams of one instruction.
struct StreamSet {
  const isa::StreamHead* first;
  int count;
  int rank;
  const isa::StreamHead& head(int s) const {
    return *reinterpret_cast<const isa::StreamHead*>(reinterpret_cast<const isa::Word*>(first) + s * (3 + rank));
  }
};
template <typename Fields>
static inline StreamSet stream_set(const isa::Inst& inst) {
  return {&inst.stream<Fields>(0), inst.num_streams(), inst.rank()};
}

// Where the block of a matmul or conv lies: address of row 0, column 0, and its row stride in bytes.
struct TileBlock {
  char* address = nullptr;
  std::int64_t row_stride = 0;
};

// Fills `run` for one row: address of inner position `inner_first` at the outer indices `index`. `tile_row` is the row
// within the tile (index[rank - 1] minus the first row of the task), which is what scratch and tile streams count.
void place_row(StripRun& run, const StreamSet& streams, const TaskContext& context, const std::int64_t* index,
               std::int64_t tile_row, std::int64_t inner_first, const TileBlock& tile = {});

// What one row further adds to the address of each stream, and the addition: of integers, for iota streams and null
// buffers.
void row_steps(std::int64_t* steps, const StreamSet& streams, const TileBlock& tile = {});
static inline __attribute__((always_inline)) char* moved(char* address, std::int64_t bytes) {
  return reinterpret_cast<char*>(reinterpret_cast<std::uintptr_t>(address) + static_cast<std::uintptr_t>(bytes));
}
static inline __attribute__((always_inline)) void next_row(StripRun& run, const std::int64_t* steps, int num_streams) {
  for (int s = 0; s < num_streams; ++s) run.address[s] = moved(run.address[s], steps[s]);
}

// As place_row, with the last outer dim as the inner one: element i of the run is row index[rank - 1] + i.
void place_column(StripRun& run, const StreamSet& streams, const TaskContext& context, const std::int64_t* index,
                  std::int64_t tile_row, const TileBlock& tile = {});

// Runs the phases of an instruction on `rows` rows that start at `index` (rank entries; the last one is the first row),
// along inner positions inner_first .. inner_first + inner_count - 1. This is how rows and matmul epilogues run.
void run_phases(const isa::Word* phases, const isa::Word* end, const StreamSet& streams, const TaskContext& context,
                const std::int64_t* index, std::int64_t tile_row, std::int64_t rows, std::int64_t inner_first,
                std::int64_t inner_count, const TileBlock& tile = {}, Reach reach = Reach::kNear);

// How far away the memory of an instruction is that touches every element of its domain once.
Reach reach_of(const isa::Inst& inst, const std::int64_t* dims);
void stream_fence_of(Reach reach);  // ends a task: what was streamed is visible to other threads

}  // namespace tilewright::vm::cpu::TW_LEVEL
