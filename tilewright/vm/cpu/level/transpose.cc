// The transpose instruction: squares of elements are turned in registers, edges go one by one. A task walks along the
// contiguous axis of `from`, so that whole cache lines of it are used at once; the lines of `to` that are begun stay in
// L1 until the next squares complete them (the compiler's tiles are small enough). HOT: no allocation, no call.
#include "tilewright/isa/tasks.h"
#include "tilewright/vm/cpu/level/turn.h"

namespace tilewright::vm::cpu::TW_LEVEL {

void exec_Transpose(const isa::Inst& inst, const TaskContext& context, std::int64_t number) {
  const isa::Task task = isa::decode_task(isa::tiling_of(inst, inst.fields<isa::TransposeFields>()), number);
  const isa::StreamHead& from = inst.stream<isa::TransposeFields>(0);
  const isa::StreamHead& to = inst.stream<isa::TransposeFields>(1);
  const int last = inst.rank() - 1;
  const auto place = [&](const isa::StreamHead& head) {
    char* at =
        reinterpret_cast<char*>(context.buffers[head.buffer()]) + head.offset + task.inner_begin * head.inner_stride;
    for (int d = 0; d < last; ++d) at += task.index[d] * head.strides()[d];
    return at + task.row_begin * head.strides()[last];
  };
  const std::int64_t rows = task.row_end - task.row_begin, count = task.inner_end - task.inner_begin;
  const auto run = [&]<typename T>() {
    turn<T>(place(to), to.strides()[last], place(from), from.inner_stride, rows, count);
  };
  switch (byte_size(from.dtype())) {
    case 1:
      return run.template operator()<std::uint8_t>();
    case 2:
      return run.template operator()<std::uint16_t>();
    case 4:
      return run.template operator()<std::uint32_t>();
    default:
      return run.template operator()<std::uint64_t>();
  }
}

}  // namespace tilewright::vm::cpu::TW_LEVEL
