// Softmax and log_softmax of f32 rows. A row of up to eight vectors stays in registers from load to store, so that many
// short rows overlap in the core and none waits for its own sums; longer rows take three passes, of which the first
// alone meets memory. Sums of more than kFoldElements go to double block by block.
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
template <int vectors, bool logarithm, Prologue prologue>
void short_rows(const RowWork& work) {
  const FirstLanes last(work.n - (vectors - 1) * kVectorFloats);
  const f32x lowest = f32(-__builtin_inff());
  for (std::int64_t r = 0; r < work.rows; ++r) {
    const auto in = work.source<prologue>(r);
    float* out = work.to.row(r);
    f32x x[vectors], e[vectors];
#pragma GCC unroll 8
    for (int k = 0; k < vectors - 1; ++k) x[k] = in.at(k * kVectorFloats);
    x[vectors - 1] = in.at((vectors - 1) * kVectorFloats, last, lowest);
    if (work.far) {
#pragma GCC unroll 8
      for (int k = 0; k < vectors; ++k) in.prefetch(k * kVectorFloats);
    }
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
    const auto value = [&](int k) TW_LAMBDA { return logarithm ? x[k] - factor : e[k] * factor; };
    write_vectors<vectors>(out, last, work.streaming, value, [&]() TW_LAMBDA { return value(vectors - 1); });
  }
}

template <bool far, Prologue prologue>
float row_max(const RowSource<prologue>& in, std::int64_t n) {
  const std::int64_t whole = n / (4 * kVectorFloats) * (4 * kVectorFloats);
  f32x peaks[4];
  for (f32x& peak : peaks) peak = f32(-__builtin_inff());
  std::int64_t i = 0;
  for (; i < whole; i += 4 * kVectorFloats) {
#pragma GCC unroll 4
    for (int k = 0; k < 4; ++k) {
      if constexpr (far) in.prefetch(i + k * kVectorFloats);
      peaks[k] = larger(peaks[k], in.at(i + k * kVectorFloats));
    }
  }
  for (; i + kVectorFloats <= n; i += kVectorFloats) {
    if constexpr (far) in.prefetch(i);
    peaks[0] = larger(peaks[0], in.at(i));
  }
  if (i < n) peaks[1] = larger(peaks[1], in.at(i, FirstLanes(n - i), f32(-__builtin_inff())));
  return max_lanes(larger(larger(peaks[0], peaks[1]), larger(peaks[2], peaks[3])));
}

// out = e ** (in - top) unless it is null; returns the sum.
template <bool stores, Prologue prologue>
double exp_sum(const RowSource<prologue>& in, float* out, std::int64_t n, float top) {
  const f32x shift = f32(top);
  double total = 0;
  for (std::int64_t begin = 0; begin < n; begin += kFoldElements) {
    const std::int64_t end = begin + kFoldElements < n ? begin + kFoldElements : n;
    f32x a{}, b{};
    std::int64_t i = begin;
    for (; i + 2 * kVectorFloats <= end; i += 2 * kVectorFloats) {
      const f32x first = exp_of_negative(in.at(i) - shift), second = exp_of_negative(in.at(i + kVectorFloats) - shift);
      if constexpr (stores) store<float>(out + i, first), store<float>(out + i + kVectorFloats, second);
      a = a + first, b = b + second;
    }
    for (; i < end; i += kVectorFloats) {
      const FirstLanes lanes(end - i < kVectorFloats ? end - i : kVectorFloats);
      const f32x value = exp_of_negative(in.at(i, lanes, shift) - shift);
      if constexpr (stores) lanes.store(out + i, value);
      a = a + lanes.keep(value, f32x{});
    }
    total += static_cast<double>(sum_lanes(a + b));
  }
  return total;
}

struct Scaled {
  const float* from;
  f32x factor;
  TW_INLINE f32x operator()(std::int64_t i) const { return load<float>(from + i) * factor; }
  TW_INLINE f32x operator()(std::int64_t i, const FirstLanes& lanes) const {
    return lanes.load(from + i, f32x{}) * factor;
  }
};
struct Shifted {
  const float* from;
  f32x first, second;
  TW_INLINE f32x operator()(std::int64_t i) const { return (load<float>(from + i) - first) - second; }
  TW_INLINE f32x operator()(std::int64_t i, const FirstLanes& lanes) const {
    return (lanes.load(from + i, f32x{}) - first) - second;
  }
};

template <bool logarithm, Prologue prologue>
void long_row(const RowWork& work, std::int64_t r) {
  const auto in = work.source<prologue>(r);
  float* out = work.to.row(r);
  const float top = work.far ? row_max<true>(in, work.n) : row_max<false>(in, work.n);
  float* const powers = work.streaming ? work.spare : out;
  const auto total = static_cast<float>(exp_sum<!logarithm>(in, powers, work.n, top));
  if constexpr (logarithm) {
    write_row(out, work.n, work.streaming, Shifted{in.from, f32(top), log(f32(total))});
  } else {
    write_row(out, work.n, work.streaming, Scaled{powers, f32(1.0f / total)});
  }
}

template <bool logarithm, Prologue prologue, int vectors = 1>
void all_rows(const RowWork& work) {
  if constexpr (vectors > 8) {
    for (std::int64_t r = 0; r < work.rows; ++r) long_row<logarithm, prologue>(work, r);
  } else {
    if (work.n <= vectors * kVectorFloats)
      short_rows<vectors, logarithm, prologue>(work);
    else
      all_rows<logarithm, prologue, vectors + 1>(work);
  }
}

}  // namespace

void run_softmax(const isa::PhaseHead& phase, const StreamSet& streams, const TaskContext& context, const Tile& tile) {
  const bool scaled = phase.op() == isa::PhaseOp::kScaledSoftmax;
  RowWork work = row_work(phase, streams, context, tile, scaled ? phase.d() : isa::kNoStream);
  if (work.n == 0) return;
  if (phase.op() == isa::PhaseOp::kLogSoftmax) return all_rows<true, Prologue::kNone>(work);
  if (!scaled) return all_rows<false, Prologue::kNone>(work);
  work.scale = load_element<float>(&streams.head(phase.c()).offset);
  if (phase.d() == isa::kNoStream)
    all_rows<false, Prologue::kScale>(work);
  else
    all_rows<false, Prologue::kScaleAdd>(work);
}

}  // namespace tilewright::vm::cpu::TW_LEVEL
