// Map: one strip program over a task's rows. Outputs too large for the cache are stored past it.
// Hot: per row one addition per stream and one call.
#include "tilewright/isa/tasks.h"
#include "tilewright/vm/cpu/level/short_rows.h"

namespace tilewright::vm::cpu::TW_LEVEL {

namespace {

// The task's index with the first row in the place of the last outer dim.
void first_row(std::int64_t* index, const isa::Task& task, int rank) {
  for (int d = 0; d + 1 < rank; ++d) index[d] = task.index[d];
  if (rank > 0) index[rank - 1] = task.row_begin;
}

}  // namespace

void exec_Map(const isa::Inst& inst, const TaskContext& context, std::int64_t number) {
  const auto& fields = inst.fields<isa::MapFields>();
  const isa::Task task = isa::decode_task(isa::tiling_of(inst, fields), number);
  const StreamSet streams = stream_set<isa::MapFields>(inst);
  const auto& phase = *reinterpret_cast<const isa::PhaseHead*>(inst.phases<isa::MapFields>());
  std::int64_t index[isa::kMaxRank], steps[isa::kMaxStreams];
  first_row(index, task, inst.rank());
  row_steps(steps, streams);
  StripRun run;
  place_row(run, streams, context, index, 0, task.inner_begin);
  const Reach reach = reach_of(inst, inst.dims<isa::MapFields>());
  const std::int64_t width = task.inner_end - task.inner_begin;
  std::int64_t row = task.row_begin;
  const std::int64_t period =
      width == inst.inner() && inst.rank() > 0 ? short_row_period(streams, phase.code(), width) : 0;
  if (period > 0) {
    const std::int64_t done = run_short_rows(phase.code(), run, task.row_end - row, width, period);
    for (int s = 0; s < streams.count; ++s) run.address[s] = moved(run.address[s], done * steps[s]);
    row += done;
  }
  for (; row < task.row_end; ++row) {
    run_strip_range(phase.code(), run, 0, width, reach);
    next_row(run, steps, streams.count);
  }
  stream_fence_of(reach);
}

}  // namespace tilewright::vm::cpu::TW_LEVEL
