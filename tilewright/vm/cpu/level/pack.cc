// The pack instruction: one task copies one panel of one batch, so that the matmul kernels read b in the order of use.
#include "tilewright/isa/panels.h"
#include "tilewright/vm/cpu/level/dot_copy.h"
#include "tilewright/vm/cpu/level/pack_copy.h"

namespace tilewright::vm::cpu::TW_LEVEL {
namespace {

// Where the elements of a task lie, and where its panel does.
struct PanelCopy {
  char* source;
  char* target;
  std::int64_t depth, columns;
};

PanelCopy panel_copy(const isa::Inst& inst, const TaskContext& context, const isa::Task& task) {
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
  const std::int64_t depth = inst.dims<isa::PackFields>()[rank - 1], panel = task.inner_begin / f.panel;
  const std::int64_t size = byte_size(to.dtype());
  target += panel * (size < 4 ? isa::panel_bytes(to.dtype(), depth, f.panel) : depth * f.panel * size);
  return {source + task.inner_begin * from.inner_stride, target, depth, task.inner_end - task.inner_begin};
}

template <typename T>
void pack_task(const isa::Inst& inst, const TaskContext& context, const isa::Task& task) {
  const isa::StreamHead& from = inst.stream<isa::PackFields>(0);
  const PanelCopy copy = panel_copy(inst, context, task);
  pack_panel<T>(reinterpret_cast<T*>(copy.target), inst.fields<isa::PackFields>().panel, copy.source, from.dtype(),
                from.strides()[inst.rank() - 1], from.inner_stride, copy.depth, copy.columns);
}

void pack_narrow(const isa::Inst& inst, const TaskContext& context, const isa::Task& task) {
  const isa::StreamHead& from = inst.stream<isa::PackFields>(0);
  const std::int64_t panel = inst.fields<isa::PackFields>().panel;
  const PanelCopy copy = panel_copy(inst, context, task);
  auto* words = reinterpret_cast<std::uint32_t*>(copy.target);
  const bool bytes = byte_size(from.dtype()) == 1;
  std::uint32_t* sums = bytes ? words + isa::tiles_of(copy.depth, 4) * panel : nullptr;
  pack_groups(words, panel, copy.source, from.dtype(), from.strides()[inst.rank() - 1], from.inner_stride, copy.depth,
              copy.columns, sums);
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
    case DType::kBF16:
    case DType::kU8:
    case DType::kI8:
      return pack_narrow(inst, context, task);
    default:
      return pack_task<float>(inst, context, task);
  }
}

}  // namespace tilewright::vm::cpu::TW_LEVEL
