// The scan instruction. Float sums and products are carried in double. A sum goes four elements at a time: only one
// addition per four depends on the one before. Where rows lie side by side in memory they advance together, 64 at a
// time. HOT: no allocation, no call but conversions.
#include <type_traits>

#include "tilewright/vm/cpu/level/lines.h"

namespace tilewright::vm::cpu::TW_LEVEL {
namespace {

enum Kind { kSum, kProduct, kLargest, kSmallest };
constexpr std::int64_t kChunk = 512;
constexpr std::int64_t kRowsTogether = 64;

// What a sum is carried in: double, or integers that wrap.
template <typename T>
using Carry = std::conditional_t<std::is_same_v<T, std::int64_t>, std::uint64_t, double>;

template <int kind, typename T>
[[gnu::always_inline]] inline Carry<T> combined(Carry<T> a, T b) {
  return kind == kSum ? a + static_cast<Carry<T>>(b) : a * static_cast<Carry<T>>(b);
}

template <int kind, typename T>
void accumulate(const T* from, T* to, std::int64_t count, bool exclusive, Carry<T>& carry) {
  std::int64_t i = 0;
  Carry<T> sum = carry;
  if (kind == kSum && !exclusive) {
    for (; i + 4 <= count; i += 4) {
      const auto a = static_cast<Carry<T>>(from[i]), b = static_cast<Carry<T>>(from[i + 1]);
      const auto c = static_cast<Carry<T>>(from[i + 2]), d = static_cast<Carry<T>>(from[i + 3]);
      const Carry<T> ab = a + b, cd = c + d;
      to[i] = static_cast<T>(sum + a);
      to[i + 1] = static_cast<T>(sum + ab);
      to[i + 2] = static_cast<T>(sum + (ab + c));
      sum += ab + cd;
      to[i + 3] = static_cast<T>(sum);
    }
  }
  for (; i < count; ++i) {
    const Carry<T> next = combined<kind, T>(sum, from[i]);
    to[i] = static_cast<T>(exclusive ? sum : next);
    sum = next;
  }
  carry = sum;
}

template <typename T>
struct Extreme {
  T value;
  std::int64_t at;
};

template <int kind, typename T>
[[gnu::always_inline]] inline void meet(Extreme<T>& best, T value, std::int64_t at) {
  const bool better = kind == kLargest ? value >= best.value : value <= best.value;
  if (at == 0 || is_nan(value) || (!is_nan(best.value) && better)) best = {value, at};
}

struct Streams {
  Rows x, to, positions;
  bool has_positions;
};

template <int kind, typename T>
void scan_row(const Streams& s, std::int64_t row, std::int64_t count, bool exclusive) {
  T in[kChunk], out[kChunk];
  std::int64_t places[kChunk];
  Carry<T> carry = kind == kProduct ? 1 : 0;
  Extreme<T> best{};
  const Line x = s.x.row(row), to = s.to.row(row);
  for (std::int64_t first = 0; first < count; first += kChunk) {
    const std::int64_t now = isa::least(kChunk, count - first);
    const T* from = read_line<T>(x.from(first), now, in);
    T* target = target_line<T>(to.from(first), out);
    if constexpr (kind <= kProduct) {
      accumulate<kind, T>(from, target, now, exclusive, carry);
    } else {
      for (std::int64_t i = 0; i < now; ++i) {
        meet<kind, T>(best, from[i], first + i);
        target[i] = best.value;
        places[i] = best.at;
      }
      if (s.has_positions) {
        const Line line = s.positions.row(row).from(first);
        for (std::int64_t i = 0; i < now; ++i) __builtin_memcpy(line.first + i * line.stride, &places[i], 8);
      }
    }
    finish_line<T>(to.from(first), now, target);
  }
}

template <int kind, typename T>
void scan_columns(const Streams& s, std::int64_t row, std::int64_t rows, std::int64_t count, bool exclusive) {
  T in[kRowsTogether], out[kRowsTogether];
  Carry<T> carry[kRowsTogether];
  Extreme<T> best[kRowsTogether] = {};
  for (std::int64_t r = 0; r < rows; ++r) carry[r] = kind == kProduct ? 1 : 0;
  for (std::int64_t p = 0; p < count; ++p) {
    const T* from = read_line<T>(s.x.column(row, p), rows, in);
    T* target = target_line<T>(s.to.column(row, p), out);
    for (std::int64_t r = 0; r < rows; ++r) {
      if constexpr (kind <= kProduct) {
        const Carry<T> next = combined<kind, T>(carry[r], from[r]);
        target[r] = static_cast<T>(exclusive ? carry[r] : next);
        carry[r] = next;
      } else {
        meet<kind, T>(best[r], from[r], p);
        target[r] = best[r].value;
      }
    }
    if (kind > kProduct && s.has_positions) {
      const Line line = s.positions.column(row, p);
      for (std::int64_t r = 0; r < rows; ++r) __builtin_memcpy(line.first + r * line.stride, &best[r].at, 8);
    }
    finish_line<T>(s.to.column(row, p), rows, target);
  }
}

template <int kind>
void scan(const Streams& s, std::int64_t rows, std::int64_t count, bool exclusive) {
  with_number(s.x.line.dtype, [&]<typename T>() [[gnu::always_inline]] {
    if (side_by_side(s.x, rows)) {
      for (std::int64_t row = 0; row < rows; row += kRowsTogether) {
        scan_columns<kind, T>(s, row, isa::least(kRowsTogether, rows - row), count, exclusive);
      }
    } else {
      for (std::int64_t row = 0; row < rows; ++row) scan_row<kind, T>(s, row, count, exclusive);
    }
  });
}

}  // namespace

void exec_Scan(const isa::Inst& inst, const TaskContext& context, std::int64_t number) {
  const auto& f = inst.fields<isa::ScanFields>();
  const isa::Task task = isa::decode_task(isa::tiling_of(inst, f), number);
  Streams s{rows_of<isa::ScanFields>(inst, 0, context, task),
            rows_of<isa::ScanFields>(inst, 1, context, task),
            {},
            inst.num_streams() > 2};
  if (s.has_positions) s.positions = rows_of<isa::ScanFields>(inst, 2, context, task);
  const std::int64_t rows = task.row_end - task.row_begin;
  switch (f.kind) {
    case kSum:
      return scan<kSum>(s, rows, inst.inner(), f.exclusive != 0);
    case kProduct:
      return scan<kProduct>(s, rows, inst.inner(), f.exclusive != 0);
    case kLargest:
      return scan<kLargest>(s, rows, inst.inner(), false);
    default:
      return scan<kSmallest>(s, rows, inst.inner(), false);
  }
}

}  // namespace tilewright::vm::cpu::TW_LEVEL
