// The gather instruction. Where the indices stay along the inner dim a row is one copy (embedding tables); else every
// element has an address of its own.
// HOT: no allocation, no call but memmove.
#include "tilewright/vm/cpu/level/index_pairs.h"

namespace tilewright::vm::cpu::TW_LEVEL {
namespace {

template <typename T>
void copy_row(char* to, std::int64_t to_stride, const char* from, std::int64_t from_stride, std::int64_t count) {
  constexpr auto kBytes = static_cast<std::int64_t>(sizeof(T));
  if (to_stride == kBytes && from_stride == kBytes) {
    __builtin_memmove(to, from, static_cast<std::size_t>(count * kBytes));  // a program may name one place twice
    return;
  }
  for (std::int64_t i = 0; i < count; ++i) __builtin_memcpy(to + i * to_stride, from + i * from_stride, sizeof(T));
}

template <typename T>
bool gather_row(const isa::Inst& inst, const TaskContext& context, const std::int64_t* index, std::int64_t begin,
                std::int64_t end) {
  const isa::StreamHead& x = inst.stream<isa::GatherFields>(0);
  const isa::StreamHead& out = inst.stream<isa::GatherFields>(1);
  const IndexPairs pairs = index_pairs<isa::GatherFields>(inst, context, index);
  const char* from = place_at(x, context, index, inst.rank());
  char* to = place_at(out, context, index, inst.rank());
  const std::int64_t from_stride = x.inner_stride, to_stride = out.inner_stride;
  if (!pairs.moves) {
    const std::int64_t bytes = pairs.bytes_at(0, context);
    if (bytes == IndexPairs::kOutside) return false;
    copy_row<T>(to + begin * to_stride, to_stride, from + bytes + begin * from_stride, from_stride, end - begin);
    return true;
  }
  for (std::int64_t p = begin; p < end; ++p) {
    const std::int64_t bytes = pairs.bytes_at(p, context);
    if (bytes == IndexPairs::kOutside) return false;
    __builtin_memcpy(to + p * to_stride, from + bytes + p * from_stride, sizeof(T));
  }
  return true;
}

template <typename T>
void gather(const isa::Inst& inst, const TaskContext& context, isa::Task& task) {
  for (std::int64_t row = task.row_begin; row < task.row_end; ++row) {
    if (inst.rank() > 0) task.index[inst.rank() - 1] = row;
    if (!gather_row<T>(inst, context, task.index, task.inner_begin, task.inner_end)) return;
  }
}

}  // namespace

void exec_Gather(const isa::Inst& inst, const TaskContext& context, std::int64_t number) {
  isa::Task task = isa::decode_task(isa::tiling_of(inst, inst.fields<isa::GatherFields>()), number);
  switch (byte_size(inst.stream<isa::GatherFields>(0).dtype())) {
    case 1:
      return gather<std::uint8_t>(inst, context, task);
    case 2:
      return gather<std::uint16_t>(inst, context, task);
    case 4:
      return gather<std::uint32_t>(inst, context, task);
    default:
      return gather<std::uint64_t>(inst, context, task);
  }
}

}  // namespace tilewright::vm::cpu::TW_LEVEL
