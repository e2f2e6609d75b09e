// Rows, and the phases that run on rows of a tile (also the epilogues of matmul and attention).
// A row reduction is folded to one vector per accumulator while the row runs, then across lanes. f32 sums of long rows
// go to double every kFoldElements, so that their error does not grow with the length. The order of additions depends
// on the length of the row alone, not on the tile, the thread or the neighbours.
#include "tilewright/isa/tasks.h"
#include "tilewright/vm/cpu/level/reduction.h"
#include "tilewright/vm/cpu/level/row_phases.h"

namespace tilewright::vm::cpu::TW_LEVEL {

namespace {

inline constexpr std::int64_t kFoldElements = 4096;  // a multiple of every strip

struct Accumulator {
  ReduceKind kind;
  DType dtype;
  int stream;
  int target;
  double folded;  // of f32 sums: blocks before the current one
};

int find_accumulators(Accumulator* found, const isa::PhaseHead& phase, const StreamSet& streams) {
  const int count = phase.b();
  for (int i = 0; i < count; ++i) {
    const isa::StreamHead& head = streams.head(phase.a() + i);
    found[i] = {static_cast<ReduceKind>(head.inner_stride >> 32), head.dtype(), phase.a() + i,
                static_cast<int>(head.inner_stride & 0xffffffff), 0};
  }
  return count;
}

void reset(Accumulator& accumulator, StripRun& run) {
  char* slot = run.address[accumulator.stream];
  accumulator.folded = 0;
  visit_accumulator(accumulator.kind, accumulator.dtype,
                    [&]<ReduceKind kind, typename T>() TW_LAMBDA { store<T>(slot, splat<T>(identity<kind, T>())); });
}

void fold(Accumulator& accumulator, StripRun& run) {
  if (accumulator.dtype != DType::kF32) return;
  if (accumulator.kind != ReduceKind::kSum && accumulator.kind != ReduceKind::kSumSquare) return;
  char* slot = run.address[accumulator.stream];
  accumulator.folded += static_cast<double>(reduce_lanes<ReduceKind::kSum, float>(load<float>(slot)));
  store<float>(slot, f32x{});
}

void finish(const Accumulator& accumulator, StripRun& run) {
  const char* slot = run.address[accumulator.stream];
  char* target = run.address[accumulator.target];
  visit_accumulator(accumulator.kind, accumulator.dtype, [&]<ReduceKind kind, typename T>() TW_LAMBDA {
    T value = reduce_lanes<kind, T>(load<T>(slot));
    if constexpr (kSameType<T, float>) {
      if (accumulator.folded != 0) value = static_cast<float>(accumulator.folded + static_cast<double>(value));
    }
    store_element<T>(target, value);
  });
}

void run_strip_phase(const isa::PhaseHead& phase, const StreamSet& streams, const TaskContext& context,
                     const Tile& tile) {
  StripRun run;
  std::int64_t steps[isa::kMaxStreams];
  Accumulator accumulators[isa::kMaxStreams];
  const int num_accumulators = find_accumulators(accumulators, phase, streams);
  place_row(run, streams, context, tile.index, tile.row, tile.inner_first, tile.block);
  row_steps(steps, streams, tile.block);
  for (std::int64_t row = 0; row < tile.rows; ++row) {
    if (num_accumulators == 0) {
      run_strip_range(phase.code(), run, 0, tile.inner_count, tile.reach);
    } else {
      for (int i = 0; i < num_accumulators; ++i) reset(accumulators[i], run);
      for (std::int64_t first = 0; first < tile.inner_count; first += kFoldElements) {
        if (first > 0) {
          for (int i = 0; i < num_accumulators; ++i) fold(accumulators[i], run);
        }
        run_strip_range(phase.code(), run, first, isa::least(kFoldElements, tile.inner_count - first), tile.reach);
      }
      for (int i = 0; i < num_accumulators; ++i) finish(accumulators[i], run);
    }
    next_row(run, steps, streams.count);
  }
}

void run_scalar_phase(const isa::PhaseHead& phase, const StreamSet& streams, const TaskContext& context,
                      const Tile& tile) {
  StripRun run;
  place_column(run, streams, context, tile.index, tile.row, tile.block);
  run_strip(phase.code(), run, tile.rows);
}

}  // namespace

void run_phases(const isa::Word* phases, const isa::Word* end, const StreamSet& streams, const TaskContext& context,
                const std::int64_t* index, std::int64_t tile_row, std::int64_t rows, std::int64_t inner_first,
                std::int64_t inner_count, const TileBlock& block, Reach reach) {
  Tile tile{index, tile_row, rows, inner_first, inner_count, block, reach};
  // Strip phases store to scratch, too; those after the first find most of what they read in it.
  const Reach first_strip = reach == Reach::kNear ? Reach::kNear : Reach::kFar;
  for (const isa::Word* first = phases; phases != end;) {
    const auto& phase = *reinterpret_cast<const isa::PhaseHead*>(phases);
    tile.reach = reach;
    switch (phase.op()) {
      case isa::PhaseOp::kStrip:
        tile.reach = phases == first ? first_strip : Reach::kNear;
        run_strip_phase(phase, streams, context, tile);
        break;
      case isa::PhaseOp::kScalar:
        run_scalar_phase(phase, streams, context, tile);
        break;
      case isa::PhaseOp::kSoftmax:
      case isa::PhaseOp::kLogSoftmax:
      case isa::PhaseOp::kScaledSoftmax:
        run_softmax(phase, streams, context, tile);
        break;
      case isa::PhaseOp::kLayerNorm:
      case isa::PhaseOp::kRmsNorm:
      case isa::PhaseOp::kSumLayerNorm:
      case isa::PhaseOp::kSumRmsNorm:
        run_norm(phase, streams, context, tile);
        break;
    }
    phases = phase.code() + phase.words();
  }
}

void exec_Rows(const isa::Inst& inst, const TaskContext& context, std::int64_t number) {
  const isa::Task task = isa::decode_task(isa::tiling_of(inst, inst.fields<isa::RowsFields>()), number);
  std::int64_t index[isa::kMaxRank];
  for (int d = 0; d + 1 < inst.rank(); ++d) index[d] = task.index[d];
  index[inst.rank() - 1] = task.row_begin;
  const Reach reach = reach_of(inst, inst.dims<isa::RowsFields>());
  run_phases(inst.phases<isa::RowsFields>(), inst.end(), stream_set<isa::RowsFields>(inst), context, index, 0,
             task.row_end - task.row_begin, 0, inst.inner(), {}, reach);
  stream_fence_of(reach);
}

}  // namespace tilewright::vm::cpu::TW_LEVEL
