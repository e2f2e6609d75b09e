// Softmax and log_softmax of f32 rows. A row of up to eight vectors stays in registers from load to store, so that many
// short rows overlap in the core and none waits for its own sums; longer rows take three passes over memory that is in
// L1 after the first. Sums of more than kFoldElements go to double block by block.
#include "tilewright/vm/cpu/level/math_f32.h"
#include "tilewright/vm/cpu/level/row_phases.h"

namespace tilewright::vm::cpu::TW_LEVEL {

namespace {

inline constexpr std::int64_t kFoldElements = 4096;

// A nan may be lost here: it comes back with the exponential of its element, through the sum.
TW_INLINE f32x larger(f32x a, f32x b) {
  return max_or_second(a, b);
}

// Rows of exactly `vectors` vectors, the last one partial or full.
template <int vectors, bool logarithm>
void short_rows(const RowStream& from, const RowStream& to, std::int64_t rows, std::int64_t n) {
  const FirstLanes last(n - (vectors - 1) * kVectorFloats);
  const f32x lowest = f32(-__builtin_inff());
  for (std::int64_t r = 0; r < rows; ++r) {
    const float* in = from.row(r);
    float* out = to.row(r);
    f32x x[vectors], e[vectors];
#pragma GCC unroll 8
    for (int k = 0; k < vectors - 1; ++k) x[k] = load<float>(in + k * kVectorFloats);
    x[vectors - 1] = last.load(in + (vectors - 1) * kVectorFloats, lowest);
    f32x peak = x[0];
#pragma GCC unroll 8
    for (int k = 1; k < vectors; ++k) peak = larger(peak, x[k]);
    const f32x top = f32(max_lanes(peak));
    f32x sum{};
#pragma GCC unroll 8
    for (int k = 0; k < vectors; ++k) {
      x[k] = x[k] - top;
      e[k] = exp_of_negative(x[k]);
      sum = sum + (k == vectors - 1 ? last.keep(e[k], f32x{}) : e[k]);
    }
    const float total = sum_lanes(sum);
    const f32x factor = logarithm ? log(f32(total)) : f32(1.0f / total);
#pragma GCC unroll 8
    for (int k = 0; k < vectors; ++k) {
      const f32x y = logarithm ? x[k] - factor : e[k] * factor;
      if (k == vectors - 1)
        last.store(out + k * kVectorFloats, y);
      else
        store<float>(out + k * kVectorFloats, y);
    }
  }
}

float row_max(const float* in, std::int64_t n) {
  const std::int64_t whole = n / (4 * kVectorFloats) * (4 * kVectorFloats);
  f32x a = f32(-__builtin_inff()), b = a, c = a, d = a;
  std::int64_t i = 0;
  for (; i < whole; i += 4 * kVectorFloats) {
    a = larger(a, load<float>(in + i)), b = larger(b, load<float>(in + i + kVectorFloats));
    c = larger(c, load<float>(in + i + 2 * kVectorFloats)), d = larger(d, load<float>(in + i + 3 * kVectorFloats));
  }
  for (; i + kVectorFloats <= n; i += kVectorFloats) a = larger(a, load<float>(in + i));
  if (i < n) b = larger(b, FirstLanes(n - i).load(in + i, f32(-__builtin_inff())));
  return max_lanes(larger(larger(a, b), larger(c, d)));
}

// out = e ** (in - top) unless it is null; returns the sum.
template <bool stores>
double exp_sum(const float* in, float* out, std::int64_t n, float top) {
  const f32x shift = f32(top);
  double total = 0;
  for (std::int64_t begin = 0; begin < n; begin += kFoldElements) {
    const std::int64_t end = begin + kFoldElements < n ? begin + kFoldElements : n;
    f32x a{}, b{};
    std::int64_t i = begin;
    for (; i + 2 * kVectorFloats <= end; i += 2 * kVectorFloats) {
      const f32x first = exp_of_negative(load<float>(in + i) - shift),
                 second = exp_of_negative(load<float>(in + i + kVectorFloats) - shift);
      if constexpr (stores) store<float>(out + i, first), store<float>(out + i + kVectorFloats, second);
      a = a + first, b = b + second;
    }
    for (; i < end; i += kVectorFloats) {
      const FirstLanes lanes(end - i < kVectorFloats ? end - i : kVectorFloats);
      const f32x value = exp_of_negative(lanes.load(in + i, shift) - shift);
      if constexpr (stores) lanes.store(out + i, value);
      a = a + lanes.keep(value, f32x{});
    }
    total += static_cast<double>(sum_lanes(a + b));
  }
  return total;
}

template <bool logarithm>
void long_row(const float* in, float* out, std::int64_t n) {
  const float top = row_max(in, n);
  const auto total = static_cast<float>(exp_sum<!logarithm>(in, out, n, top));
  const f32x shift = f32(top), factor = logarithm ? log(f32(total)) : f32(1.0f / total);
  const float* source = logarithm ? in : out;
  std::int64_t i = 0;
  for (; i + kVectorFloats <= n; i += kVectorFloats) {
    const f32x x = load<float>(source + i);
    store<float>(out + i, logarithm ? (x - shift) - factor : x * factor);
  }
  if (i == n) return;
  const FirstLanes last(n - i);
  const f32x x = last.load(source + i, f32x{});
  last.store(out + i, logarithm ? (x - shift) - factor : x * factor);
}

template <bool logarithm>
void all_rows(const RowStream& from, const RowStream& to, std::int64_t rows, std::int64_t n) {
  switch ((n + kVectorFloats - 1) / kVectorFloats) {
    case 0:
      return;
    case 1:
      return short_rows<1, logarithm>(from, to, rows, n);
    case 2:
      return short_rows<2, logarithm>(from, to, rows, n);
    case 3:
      return short_rows<3, logarithm>(from, to, rows, n);
    case 4:
      return short_rows<4, logarithm>(from, to, rows, n);
    case 5:
      return short_rows<5, logarithm>(from, to, rows, n);
    case 6:
      return short_rows<6, logarithm>(from, to, rows, n);
    case 7:
      return short_rows<7, logarithm>(from, to, rows, n);
    case 8:
      return short_rows<8, logarithm>(from, to, rows, n);
    default:
      break;
  }
  for (std::int64_t r = 0; r < rows; ++r) long_row<logarithm>(from.row(r), to.row(r), n);
}

}  // namespace

void run_softmax(const isa::PhaseHead& phase, const StreamSet& streams, const TaskContext& context, const Tile& tile,
                 bool logarithm) {
  const RowStream from = row_stream(streams, phase.a(), context, tile),
                  to = row_stream(streams, phase.b(), context, tile);
  if (logarithm)
    all_rows<true>(from, to, tile.rows, tile.inner_count);
  else
    all_rows<false>(from, to, tile.rows, tile.inner_count);
}

}  // namespace tilewright::vm::cpu::TW_LEVEL
