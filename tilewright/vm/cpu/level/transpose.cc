// The transpose instruction: squares of elements are turned in registers, edges go one by one. A task walks along the
// contiguous axis of `from`, so that whole cache lines of it are used at once; the lines of `to` that are begun stay in
// L1 until the next squares complete them (the compiler's tiles are small enough). HOT: no allocation, no call.
#include <utility>

#include "tilewright/isa/tasks.h"
#include "tilewright/vm/cpu/level/level.h"

namespace tilewright::vm::cpu::TW_LEVEL {
namespace {

// Squares of 16 bytes a side for narrow elements, 32 for wide ones where there are such vectors.
template <typename T>
inline constexpr int kSide = (sizeof(T) <= 2 || kVectorBytes < 32 ? 16 : 32) / static_cast<int>(sizeof(T));
template <typename T>
struct RowVector {
  typedef T Type __attribute__((vector_size(kSide<T> * sizeof(T))));
  typedef T Unaligned __attribute__((vector_size(kSide<T> * sizeof(T)), aligned(1), may_alias));
};

template <typename T, int... I>
[[gnu::always_inline]] inline auto zip_low(typename RowVector<T>::Type a, typename RowVector<T>::Type b,
                                           std::integer_sequence<int, I...>) {
  return __builtin_shufflevector(a, b, (I % 2 * kSide<T> + I / 2)...);
}
template <typename T, int... I>
[[gnu::always_inline]] inline auto zip_high(typename RowVector<T>::Type a, typename RowVector<T>::Type b,
                                            std::integer_sequence<int, I...>) {
  return __builtin_shufflevector(a, b, (I % 2 * kSide<T> + kSide<T> / 2 + I / 2)...);
}

// to row i, column j = from row j, column i; each round of zips rotates the bits of the element number by one.
template <typename T>
[[gnu::always_inline]] inline void turn_square(char* to, std::int64_t to_stride, const char* from,
                                               std::int64_t from_stride) {
  using Vector = typename RowVector<T>::Type;
  using Unaligned = typename RowVector<T>::Unaligned;
  constexpr int kSize = kSide<T>;
  constexpr auto kOrder = std::make_integer_sequence<int, kSize>{};
  Vector rows[kSize];
#pragma GCC unroll 16
  for (int i = 0; i < kSize; ++i) rows[i] = (Vector) * reinterpret_cast<const Unaligned*>(from + i * from_stride);
#pragma GCC unroll 4
  for (int round = 1; round < kSize; round *= 2) {
    Vector next[kSize];
#pragma GCC unroll 8
    for (int i = 0; i < kSize / 2; ++i) {
      next[2 * i] = (Vector)zip_low<T>(rows[i], rows[i + kSize / 2], kOrder);
      next[2 * i + 1] = (Vector)zip_high<T>(rows[i], rows[i + kSize / 2], kOrder);
    }
#pragma GCC unroll 16
    for (int i = 0; i < kSize; ++i) rows[i] = next[i];
  }
#pragma GCC unroll 16
  for (int i = 0; i < kSize; ++i) *reinterpret_cast<Unaligned*>(to + i * to_stride) = (Unaligned)rows[i];
}

// to[r, p] (p contiguous) = from[p, r] (r contiguous)
template <typename T>
void turn(char* to, std::int64_t to_stride, const char* from, std::int64_t from_stride, std::int64_t rows,
          std::int64_t count) {
  constexpr int kSize = kSide<T>;
  constexpr auto kBytes = static_cast<std::int64_t>(sizeof(T));
  const auto one = [&](std::int64_t r, std::int64_t p) [[gnu::always_inline]] {
    __builtin_memcpy(to + r * to_stride + p * kBytes, from + p * from_stride + r * kBytes, sizeof(T));
  };
  const std::int64_t whole_rows = rows / kSize * kSize, whole = count / kSize * kSize;
  for (std::int64_t p = 0; p < whole; p += kSize) {
    for (std::int64_t r = 0; r < whole_rows; r += kSize) {
      turn_square<T>(to + r * to_stride + p * kBytes, to_stride, from + p * from_stride + r * kBytes, from_stride);
    }
    for (std::int64_t r = whole_rows; r < rows; ++r) {
      for (std::int64_t i = p; i < p + kSize; ++i) one(r, i);
    }
  }
  for (std::int64_t p = whole; p < count; ++p) {
    for (std::int64_t r = 0; r < rows; ++r) one(r, p);
  }
}

}  // namespace

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
