// columns: the first phase accumulates every element of the reduced dims per inner position; then the accumulators are
// written to scratch, where the second phase reads them.
#include <vector>

#include "tilewright/vm/reference/execute.h"

namespace tilewright::vm::reference {
namespace {

// Calls body for every index of the dims [first, rank), the last fastest.
template <typename Body>
void for_each_index(const std::int64_t* dims, int first, int rank, std::int64_t* index, Body body) {
  if (first == rank) return body();
  for (index[first] = 0; index[first] < dims[first]; ++index[first]) for_each_index(dims, first + 1, rank, index, body);
}

}  // namespace

Status exec_Columns(const Memory& memory, const isa::Inst& inst) {
  const auto& fields = inst.fields<isa::ColumnsFields>();
  const isa::Layout at = isa::layout_of(inst);
  Frame frame{memory, at};
  const auto& reduce = *reinterpret_cast<const isa::PhaseHead*>(at.phases());
  const auto& finish = *reinterpret_cast<const isa::PhaseHead*>(isa::after(&reduce));
  const isa::Tiling tiling = isa::tiling_of(inst, fields);
  for (std::int64_t number = 0; number < inst.tasks(); ++number) {
    isa::Task task = isa::decode_task(tiling, number);
    const std::int64_t width = task.inner_end - task.inner_begin;
    const Place place{task.index, 0, task.inner_begin, 0};
    reset_sums(frame, reduce, width);
    for_each_index(at.dims(), tiling.outer, at.rank, task.index, [&] { run_strip(frame, reduce, place, width); });
    for (int i = reduce.a(); i < reduce.a() + reduce.b(); ++i) {
      const isa::StreamHead& head = at.stream(i);
      for (std::int64_t q = 0; q < width; ++q) {
        store_sum(frame, i, frame.sums[static_cast<std::size_t>(i)][static_cast<std::size_t>(q)],
                  memory.scratch + head.offset + q * byte_size(head.dtype()));
      }
    }
    for (int d = tiling.outer; d < at.rank; ++d) task.index[d] = 0;
    run_strip(frame, finish, place, width);
  }
  return {};
}

}  // namespace tilewright::vm::reference
