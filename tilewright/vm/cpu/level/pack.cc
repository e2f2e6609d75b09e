// The pack instruction: one task copies one panel of one batch, so that the matmul kernels read b in the order of use.
#include "tilewright/isa/tasks.h"
#include "tilewright/vm/cpu/level/pack_copy.h"

namespace tilewright::vm::cpu::TW_LEVEL {
namespace {

template <typename T>
void pack_task(const isa::Inst& inst, const TaskContext& context, const isa::Task& task) {
  const auto& f = inst.fields<isa::PackFields>();
  const int rank = inst.rank();
  const isa::StreamHead& from = inst.stream<isa::PackFields>(0);
  const isa::StreamHead& to = inst.stream<isa::PackFields>(1);
  char* source = reinterpret_cast<char*>(context.buffers[from.buffer()]) + from.offset;
  char* target = reinterpret_cast<char*>(context.buffers[to.buffer()]) + to.offset;
  for (int d = 0; d + 1 < rank; ++d) {
    source += task.index[d] * from.strides()[d];
    target += task.index[d] * to.strides()[d];
  }
  const std::int64_t depth = inst.dims<isa::PackFields>()[rank - 1];
  target += task.inner_begin / f.panel * depth * f.panel * static_cast<std::int64_t>(sizeof(T));
  source += task.inner_begin * from.inner_stride;
  pack_panel<T>(reinterpret_cast<T*>(target), f.panel, source, from.dtype(), from.strides()[rank - 1],
                from.inner_stride, depth, task.inner_end - task.inner_begin);
}

}  // namespace

void exec_Pack(const isa::Inst& inst, const TaskContext& context, std::int64_t number) {
  const isa::Task task = isa::decode_task(isa::tiling_of(inst, inst.fields<isa::PackFields>()), number);
  switch (inst.stream<isa::PackFields>(1).dtype()) {
    case DType::kF64:
      return pack_task<double>(inst, context, task);
    case DType::kI32:
      return pack_task<std::uint32_t>(inst, context, task);
    case DType::kI64:
      return pack_task<std::uint64_t>(inst, context, task);
    default:
      return pack_task<float>(inst, context, task);
  }
}

}  // namespace tilewright::vm::cpu::TW_LEVEL
