// Lines of elements of any dtype as numbers to compute with: float (f32, f16, bf16), double, or int64_t (integers,
// bool). Elements that are such numbers already, side by side in memory, are used where they lie.
#pragma once

#include "tilewright/isa/tasks.h"
#include "tilewright/vm/cpu/level/pack_copy.h"

namespace tilewright::vm::cpu::TW_LEVEL {

// Elements `stride` bytes apart.
struct Line {
  char* first;
  DType dtype;
  std::int64_t stride;
  Line from(std::int64_t i) const { return {first + i * stride, dtype, stride}; }
};

template <typename T>
[[gnu::always_inline]] inline bool in_place(const Line& line) {
  const DType native = __is_same(T, float) ? DType::kF32 : __is_same(T, double) ? DType::kF64 : DType::kI64;
  return line.dtype == native && line.stride == static_cast<std::int64_t>(sizeof(T));
}

// `count` elements, in `buffer` if they cannot be used in place.
template <typename T>
[[gnu::always_inline]] inline const T* read_line(const Line& line, std::int64_t count, T* buffer) {
  if (in_place<T>(line)) return reinterpret_cast<const T*>(line.first);
  if constexpr (__is_same(T, std::int64_t)) {
    widen_row<std::uint64_t>(reinterpret_cast<std::uint64_t*>(buffer), line.first, line.dtype, line.stride, count);
  } else {
    widen_row<T>(buffer, line.first, line.dtype, line.stride, count);
  }
  return buffer;
}

// Where to compute `count` elements of a line that is written, and the end of that.
template <typename T>
[[gnu::always_inline]] inline T* target_line(const Line& line, T* buffer) {
  return in_place<T>(line) ? reinterpret_cast<T*>(line.first) : buffer;
}
template <typename T>
[[gnu::always_inline]] inline void finish_line(const Line& line, std::int64_t count, const T* buffer) {
  if (in_place<T>(line)) return;
  if constexpr (__is_same(T, std::int64_t)) {
    narrow_row<std::uint64_t>(line.first, line.dtype, line.stride, reinterpret_cast<const std::uint64_t*>(buffer),
                              count);
  } else {
    narrow_row<T>(line.first, line.dtype, line.stride, buffer, count);
  }
}

// The rows of a task: their inner dim, and the step from row to row.
struct Rows {
  Line line;  // of the first row
  std::int64_t step;
  Line row(std::int64_t r) const { return {line.first + r * step, line.dtype, line.stride}; }
  Line column(std::int64_t first, std::int64_t p) const {
    return {line.first + first * step + p * line.stride, line.dtype, step};
  }
};

template <typename Fields>
static inline Rows rows_of(const isa::Inst& inst, int stream, const TaskContext& context, const isa::Task& task) {
  const isa::StreamHead& head = inst.stream<Fields>(stream);
  char* at = reinterpret_cast<char*>(context.buffers[head.buffer()]) + head.offset;
  const int last = inst.rank() - 1;
  for (int d = 0; d < last; ++d) at += task.index[d] * head.strides()[d];
  const std::int64_t step = last < 0 ? 0 : head.strides()[last];
  return {{at + task.row_begin * step, head.dtype(), head.inner_stride}, step};
}

// Whether the elements of different rows lie closer together than those of a row: then rows are walked side by side.
[[gnu::always_inline]] inline bool side_by_side(const Rows& x, std::int64_t rows) {
  const std::int64_t across = x.step < 0 ? -x.step : x.step, along = x.line.stride < 0 ? -x.line.stride : x.line.stride;
  return rows > 1 && across < along;
}

// Calls run.template operator()<T>() with the type to compute in.
template <typename F>
[[gnu::always_inline]] inline void with_number(DType dtype, F run) {
  switch (dtype) {
    case DType::kF32:
    case DType::kF16:
    case DType::kBF16:
      return run.template operator()<float>();
    case DType::kF64:
      return run.template operator()<double>();
    default:
      return run.template operator()<std::int64_t>();
  }
}

template <typename T>
[[gnu::always_inline]] inline bool is_nan(T value) {
  return value != value;
}

}  // namespace tilewright::vm::cpu::TW_LEVEL
