// transpose: an element-by-element copy; tiles do not matter here.
#include "tilewright/vm/reference/element.h"
#include "tilewright/vm/reference/execute.h"

namespace tilewright::vm::reference {

Status exec_Transpose(const Memory& memory, const isa::Inst& inst) {
  const isa::Layout at = isa::layout_of(inst);
  const Frame frame{memory, at};
  const isa::Tiling tiling = isa::tiling_of(inst, inst.fields<isa::TransposeFields>());
  for (std::int64_t number = 0; number < inst.tasks(); ++number) {
    isa::Task task = isa::decode_task(tiling, number);
    for (std::int64_t row = task.row_begin; row < task.row_end; ++row) {
      task.index[at.rank - 1] = row;
      for (std::int64_t p = task.inner_begin; p < task.inner_end; ++p) {
        const Place place{task.index, 0, p, 0};
        copy_element(address(frame, 1, place), address(frame, 0, place), at.stream(0).dtype());
      }
    }
  }
  return {};
}

}  // namespace tilewright::vm::reference
