// The scatter instruction. A task walks its serial dims in row-major order, so equal places are met in the order of the
// index, whatever the number of threads.
// HOT: no allocation, no call but memcpy.
#include <type_traits>

#include "tilewright/vm/cpu/level/index_pairs.h"
#include "tilewright/vm/cpu/level/vec.h"

namespace tilewright::vm::cpu::TW_LEVEL {
namespace {

enum Mode { kReplace, kAdd, kMultiply, kSmaller, kLarger };

template <typename T>
inline constexpr bool kIsReal = __is_same(T, float) || __is_same(T, double);

// Integers wrap: their arithmetic is that of the unsigned type.
template <typename T>
[[gnu::always_inline]] inline T combined(int mode, T a, T b) {
  using Unsigned = std::conditional_t<kIsReal<T>, T, std::uint64_t>;
  switch (mode) {
    case kAdd:
      if constexpr (__is_same(T, bool)) return a || b;
      return static_cast<T>(static_cast<Unsigned>(a) + static_cast<Unsigned>(b));
    case kMultiply:
      return static_cast<T>(static_cast<Unsigned>(a) * static_cast<Unsigned>(b));
    case kSmaller:
      return a != a || a < b ? a : b;
    case kLarger:
      return a != a || a > b ? a : b;
    default:
      return b;
  }
}

template <int mode, typename T>
void combine_row(char* to, std::int64_t to_stride, const char* from, std::int64_t from_stride, std::int64_t count) {
  constexpr auto kBytes = static_cast<std::int64_t>(sizeof(T));
  std::int64_t i = 0;
  if constexpr (mode == kAdd && kIsReal<T>) {
    if (to_stride == kBytes && from_stride == kBytes) {
      for (; i + kLanes<T> <= count; i += kLanes<T>) {
        store<T>(to + i * kBytes, load<T>(to + i * kBytes) + load<T>(from + i * kBytes));
      }
    }
  }
  for (; i < count; ++i) {
    store_element<T>(to + i * to_stride,
                     combined<T>(mode, load_element<T>(to + i * to_stride), load_element<T>(from + i * from_stride)));
  }
}

template <int mode, typename T>
bool scatter_row(const isa::Inst& inst, const TaskContext& context, const std::int64_t* index, std::int64_t begin,
                 std::int64_t end) {
  const isa::StreamHead& out = inst.stream<isa::ScatterFields>(0);
  const isa::StreamHead& x = inst.stream<isa::ScatterFields>(1);
  const IndexPairs pairs = index_pairs<isa::ScatterFields>(inst, context, index);
  char* to = place_at(out, context, index, inst.rank());
  const char* from = place_at(x, context, index, inst.rank());
  const std::int64_t to_stride = out.inner_stride, from_stride = x.inner_stride;
  if (!pairs.moves) {
    const std::int64_t bytes = pairs.bytes_at(0, context);
    if (bytes == IndexPairs::kOutside) return false;
    combine_row<mode, T>(to + bytes + begin * to_stride, to_stride, from + begin * from_stride, from_stride,
                         end - begin);
    return true;
  }
  for (std::int64_t p = begin; p < end; ++p) {
    const std::int64_t bytes = pairs.bytes_at(p, context);
    if (bytes == IndexPairs::kOutside) return false;
    combine_row<mode, T>(to + bytes + p * to_stride, to_stride, from + p * from_stride, from_stride, 1);
  }
  return true;
}

template <int mode, typename T>
void scatter(const isa::Inst& inst, const TaskContext& context, isa::Task& task) {
  const int rank = inst.rank();
  const int first = rank - static_cast<int>(inst.fields<isa::ScatterFields>().serial);
  const std::int64_t* dims = inst.dims<isa::ScatterFields>();
  for (int d = first; d < rank; ++d) {
    if (dims[d] == 0) return;
    task.index[d] = 0;
  }
  while (scatter_row<mode, T>(inst, context, task.index, task.inner_begin, task.inner_end)) {
    int d = rank - 1;
    while (d >= first && ++task.index[d] == dims[d]) task.index[d--] = 0;
    if (d < first) return;
  }
}

template <typename T>
void scatter_mode(const isa::Inst& inst, const TaskContext& context, isa::Task& task) {
  switch (inst.fields<isa::ScatterFields>().mode) {
    case kAdd:
      return scatter<kAdd, T>(inst, context, task);
    case kMultiply:
      return scatter<kMultiply, T>(inst, context, task);
    case kSmaller:
      return scatter<kSmaller, T>(inst, context, task);
    default:
      return scatter<kLarger, T>(inst, context, task);
  }
}

void replace(const isa::Inst& inst, const TaskContext& context, isa::Task& task) {
  switch (byte_size(inst.stream<isa::ScatterFields>(0).dtype())) {
    case 1:
      return scatter<kReplace, std::uint8_t>(inst, context, task);
    case 2:
      return scatter<kReplace, std::int16_t>(inst, context, task);
    case 4:
      return scatter<kReplace, std::int32_t>(inst, context, task);
    default:
      return scatter<kReplace, std::int64_t>(inst, context, task);
  }
}

}  // namespace

void exec_Scatter(const isa::Inst& inst, const TaskContext& context, std::int64_t number) {
  isa::Task task = isa::decode_task(isa::tiling_of(inst, inst.fields<isa::ScatterFields>()), number);
  if (inst.fields<isa::ScatterFields>().mode == kReplace) return replace(inst, context, task);
  switch (inst.stream<isa::ScatterFields>(0).dtype()) {
    case DType::kF32:
      return scatter_mode<float>(inst, context, task);
    case DType::kF64:
      return scatter_mode<double>(inst, context, task);
    case DType::kI8:
      return scatter_mode<std::int8_t>(inst, context, task);
    case DType::kU8:
      return scatter_mode<std::uint8_t>(inst, context, task);
    case DType::kI16:
      return scatter_mode<std::int16_t>(inst, context, task);
    case DType::kI32:
      return scatter_mode<std::int32_t>(inst, context, task);
    case DType::kI64:
      return scatter_mode<std::int64_t>(inst, context, task);
    case DType::kBool:
      return scatter_mode<bool>(inst, context, task);
    default:
      return;  // f16 and bf16 are only replaced
  }
}

}  // namespace tilewright::vm::cpu::TW_LEVEL
