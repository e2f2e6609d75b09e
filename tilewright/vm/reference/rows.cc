// rows: phases over tiles of whole rows. A strip phase may reduce each row into accumulators.
#include "tilewright/vm/reference/execute.h"

namespace tilewright::vm::reference {
namespace {

void run_strip_row(Frame& frame, const isa::PhaseHead& phase, const Place& place, std::int64_t inner) {
  reset_sums(frame, phase, 1);
  run_strip(frame, phase, place, inner);
  for (int i = 0; i < phase.b(); ++i) {
    const int stream = phase.a() + i;
    store_sum(frame, stream, frame.sums[static_cast<std::size_t>(stream)][0],
              address(frame, sum_target(frame.at.stream(stream)), place));
  }
}

void run_phase(Frame& frame, const isa::PhaseHead& phase, isa::Task& task, std::int64_t inner) {
  const int last = frame.at.rank - 1;
  if (phase.op() == isa::PhaseOp::kScalar) {
    task.index[last] = task.row_begin;
    run_strip(frame, phase, {task.index}, task.row_end - task.row_begin, true);
    return;
  }
  for (std::int64_t row = task.row_begin; row < task.row_end; ++row) {
    task.index[last] = row;
    const Place place{task.index, row - task.row_begin};
    if (phase.op() == isa::PhaseOp::kStrip) {
      run_strip_row(frame, phase, place, inner);
    } else {
      run_row_phase(frame, phase, place, inner);
    }
  }
}

}  // namespace

Status exec_Rows(const Memory& memory, const isa::Inst& inst) {
  const isa::Layout at = isa::layout_of(inst);
  Frame frame{memory, at};
  const isa::Tiling tiling = isa::tiling_of(inst, inst.fields<isa::RowsFields>());
  for (std::int64_t number = 0; number < inst.tasks(); ++number) {
    isa::Task task = isa::decode_task(tiling, number);
    for (const Word* words = at.phases(); words != at.end();) {
      const auto& phase = *reinterpret_cast<const isa::PhaseHead*>(words);
      run_phase(frame, phase, task, inst.inner());
      words = isa::after(&phase);
    }
  }
  return {};
}

}  // namespace tilewright::vm::reference
