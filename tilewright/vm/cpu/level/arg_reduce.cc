// The arg_reduce instruction. A block of floats whose extreme does not beat the best one so far is passed over by
// vectors; only the others are searched. Where rows lie side by side in memory they advance together. HOT: no
// allocation, no call but conversions.
#include "tilewright/vm/cpu/level/lines.h"
#include "tilewright/vm/cpu/level/vec.h"

namespace tilewright::vm::cpu::TW_LEVEL {
namespace {

constexpr std::int64_t kChunk = 256;
constexpr std::int64_t kRowsTogether = 64;

template <typename T>
struct Best {
  T value;
  std::int64_t at;
};

template <bool smallest, typename T>
[[gnu::always_inline]] inline void meet(Best<T>& best, T value, std::int64_t at, bool last) {
  const bool better =
      is_nan(value) ? !is_nan(best.value) : !is_nan(best.value) && (smallest ? value < best.value : value > best.value);
  const bool equal = is_nan(best.value) ? is_nan(value) : value == best.value;
  if (at == 0 || better || (equal && last)) best = {value, at};
}

// Whether some of `count` floats may replace the best one.
template <bool smallest>
[[gnu::always_inline]] inline bool worth_search(const float* from, std::int64_t count, float best) {
  if (count != kChunk) return true;
  f32x extreme = load<float>(from);
  i32x nan = extreme != extreme;
  for (std::int64_t i = kLanes<float>; i < kChunk; i += kLanes<float>) {
    const f32x value = load<float>(from + i);
    nan |= value != value;
    extreme = select(smallest ? value < extreme : value > extreme, value, extreme);
  }
  const f32x limit = f32(best);
  return any(nan | (smallest ? !(extreme > limit) : !(extreme < limit)));
}

template <bool smallest, typename T>
std::int64_t search_row(const Line& x, std::int64_t count, bool last) {
  T buffer[kChunk];
  Best<T> best{};
  for (std::int64_t first = 0; first < count; first += kChunk) {
    const std::int64_t now = isa::least(kChunk, count - first);
    const T* from = read_line<T>(x.from(first), now, buffer);
    if constexpr (__is_same(T, float)) {
      if (first > 0 && !worth_search<smallest>(from, now, best.value)) continue;
    }
    for (std::int64_t i = 0; i < now; ++i) meet<smallest, T>(best, from[i], first + i, last);
  }
  return best.at;
}

template <bool smallest, typename T>
void search_columns(const Rows& x, const Rows& to, std::int64_t row, std::int64_t rows, std::int64_t count, bool last) {
  T buffer[kRowsTogether];
  Best<T> best[kRowsTogether] = {};
  for (std::int64_t p = 0; p < count; ++p) {
    const T* from = read_line<T>(x.column(row, p), rows, buffer);
    for (std::int64_t r = 0; r < rows; ++r) meet<smallest, T>(best[r], from[r], p, last);
  }
  for (std::int64_t r = 0; r < rows; ++r) __builtin_memcpy(to.row(row + r).first, &best[r].at, 8);
}

template <bool smallest>
void search(const Rows& x, const Rows& to, std::int64_t rows, std::int64_t count, bool last) {
  with_number(x.line.dtype, [&]<typename T>() [[gnu::always_inline]] {
    if (side_by_side(x, rows)) {
      for (std::int64_t row = 0; row < rows; row += kRowsTogether) {
        search_columns<smallest, T>(x, to, row, isa::least(kRowsTogether, rows - row), count, last);
      }
      return;
    }
    for (std::int64_t row = 0; row < rows; ++row) {
      const std::int64_t at = search_row<smallest, T>(x.row(row), count, last);
      __builtin_memcpy(to.row(row).first, &at, 8);
    }
  });
}

}  // namespace

void exec_ArgReduce(const isa::Inst& inst, const TaskContext& context, std::int64_t number) {
  const auto& f = inst.fields<isa::ArgReduceFields>();
  const isa::Task task = isa::decode_task(isa::tiling_of(inst, f), number);
  const Rows x = rows_of<isa::ArgReduceFields>(inst, 0, context, task),
             to = rows_of<isa::ArgReduceFields>(inst, 1, context, task);
  const std::int64_t rows = task.row_end - task.row_begin;
  if (f.smallest != 0) return search<true>(x, to, rows, inst.inner(), f.last != 0);
  search<false>(x, to, rows, inst.inner(), f.last != 0);
}

}  // namespace tilewright::vm::cpu::TW_LEVEL
