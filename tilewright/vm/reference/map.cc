// map: one strip phase at every element of the domain.
#include <algorithm>

#include "tilewright/vm/reference/execute.h"

namespace tilewright::vm::reference {

Status exec_Map(const Memory& memory, const isa::Inst& inst) {
  const auto& fields = inst.fields<isa::MapFields>();
  const isa::Layout at = isa::layout_of(inst);
  Frame frame{memory, at};
  const auto& phase = *reinterpret_cast<const isa::PhaseHead*>(at.phases());
  const isa::Tiling tiling = isa::tiling_of(inst, fields);
  for (std::int64_t number = 0; number < inst.tasks(); ++number) {
    isa::Task task = isa::decode_task(tiling, number);
    for (std::int64_t row = task.row_begin; row < task.row_end; ++row) {
      if (at.rank > 0) task.index[at.rank - 1] = row;
      run_strip(frame, phase, {task.index, row - task.row_begin, task.inner_begin, 0},
                task.inner_end - task.inner_begin);
    }
  }
  return {};
}

}  // namespace tilewright::vm::reference
