// pack: b[k, n] to panels [n / panel][k][panel], the last one filled with zeros.
#include "tilewright/vm/reference/strip.h"

namespace tilewright::vm::reference {

Status exec_Pack(const Memory& memory, const isa::Inst& inst) {
  const auto& fields = inst.fields<isa::PackFields>();
  const isa::Layout at = isa::layout_of(inst);
  Frame frame{memory, at};
  const int last = at.rank - 1;
  const std::int64_t size = at.dims()[last];
  const isa::Tiling tiling = isa::tiling_of(inst, fields);
  for (std::int64_t number = 0; number < inst.tasks(); ++number) {
    isa::Task task = isa::decode_task(tiling, number);
    task.index[last] = 0;
    const Elements to{address(frame, 1, {task.index}) + task.inner_begin * size * 4, 4};
    for (std::int64_t k = 0; k < size; ++k) {
      task.index[last] = k;
      const Elements from = elements(frame, 0, {task.index}, false);
      for (std::int64_t n = 0; n < fields.panel; ++n) {
        const std::int64_t column = task.inner_begin + n;
        to.set(k * fields.panel + n, column < task.inner_end ? from.get<float>(column) : 0.0f);
      }
    }
  }
  return {};
}

}  // namespace tilewright::vm::reference
