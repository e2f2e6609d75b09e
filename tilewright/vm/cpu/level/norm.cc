// Layer norm and RMS norm of f32 rows. The row is read, centred on its mean, and only then squared, so that a large
// mean costs no digits. Rows that fit the registers are read once; longer rows are read from L1 after the first pass.
// Sums of more than kFoldElements go to double block by block.
#include "tilewright/vm/cpu/level/row_phases.h"

namespace tilewright::vm::cpu::TW_LEVEL {

namespace {

#if defined(TW_LEVEL_AVX512)
inline constexpr int kRegisterVectors = 24;
#else
inline constexpr int kRegisterVectors = 8;
#endif
inline constexpr std::int64_t kFoldElements = 4096;

struct Norm {
  RowStream from, to;
  const float* weight;  // null: 1
  const float* bias;    // null: 0
  float eps;
  std::int64_t rows, n;
};

TW_INLINE float inverse_deviation(double sum_of_squares, double inverse_n, float eps) {
  return 1.0f / __builtin_sqrtf(static_cast<float>(sum_of_squares * inverse_n + static_cast<double>(eps)));
}

template <bool has_weight, bool has_bias>
TW_INLINE f32x affine(const Norm& norm, f32x x, std::int64_t i) {
  if constexpr (has_weight && has_bias) return fma(x, load<float>(norm.weight + i), load<float>(norm.bias + i));
  if constexpr (has_weight) return x * load<float>(norm.weight + i);
  if constexpr (has_bias) return x + load<float>(norm.bias + i);
  (void)norm, (void)i;
  return x;
}
template <bool has_weight, bool has_bias>
TW_INLINE f32x affine(const Norm& norm, f32x x, std::int64_t i, const FirstLanes& lanes) {
  if constexpr (has_weight) x = x * lanes.load(norm.weight + i, f32x{});
  if constexpr (has_bias) x = x + lanes.load(norm.bias + i, f32x{});
  (void)norm, (void)i, (void)lanes;
  return x;
}

// Rows of exactly `vectors` vectors, the last one partial or full.
template <int vectors, bool centred, bool has_weight, bool has_bias>
void short_rows(const Norm& norm) {
  const FirstLanes last(norm.n - (vectors - 1) * kVectorFloats);
  const double inverse_n = 1.0 / static_cast<double>(norm.n);
  for (std::int64_t r = 0; r < norm.rows; ++r) {
    const float* in = norm.from.row(r);
    float* out = norm.to.row(r);
    f32x x[vectors];
#pragma GCC unroll 24
    for (int k = 0; k < vectors - 1; ++k) x[k] = load<float>(in + k * kVectorFloats);
    x[vectors - 1] = last.load(in + (vectors - 1) * kVectorFloats, f32x{});
    if constexpr (centred) {
      f32x sum[2] = {x[0], f32x{}};
#pragma GCC unroll 24
      for (int k = 1; k < vectors; ++k) sum[k % 2] = sum[k % 2] + x[k];
      const f32x mean = f32(static_cast<float>(static_cast<double>(sum_lanes(sum[0] + sum[1])) * inverse_n));
#pragma GCC unroll 24
      for (int k = 0; k < vectors; ++k) x[k] = x[k] - mean;
      x[vectors - 1] = last.keep(x[vectors - 1], f32x{});
    }
    f32x squares[2] = {x[0] * x[0], f32x{}};
#pragma GCC unroll 24
    for (int k = 1; k < vectors; ++k) squares[k % 2] = fma(x[k], x[k], squares[k % 2]);
    const f32x scale =
        f32(inverse_deviation(static_cast<double>(sum_lanes(squares[0] + squares[1])), inverse_n, norm.eps));
#pragma GCC unroll 24
    for (int k = 0; k < vectors - 1; ++k) {
      store<float>(out + k * kVectorFloats, affine<has_weight, has_bias>(norm, x[k] * scale, k * kVectorFloats));
    }
    constexpr int kLast = (vectors - 1) * kVectorFloats;
    last.store(out + kLast, affine<has_weight, has_bias>(norm, x[vectors - 1] * scale, kLast, last));
  }
}

// Sum of x - shift, or of its square, over a row.
template <bool squared>
double row_sum(const float* in, std::int64_t n, f32x shift) {
  double total = 0;
  for (std::int64_t begin = 0; begin < n; begin += kFoldElements) {
    const std::int64_t end = begin + kFoldElements < n ? begin + kFoldElements : n;
    f32x sums[4] = {};
    std::int64_t i = begin;
    for (; i + 4 * kVectorFloats <= end; i += 4 * kVectorFloats) {
#pragma GCC unroll 4
      for (int k = 0; k < 4; ++k) {
        const f32x x = load<float>(in + i + k * kVectorFloats);
        const f32x d = x - shift;
        sums[k] = squared ? fma(d, d, sums[k]) : sums[k] + x;
      }
    }
    for (; i < end; i += kVectorFloats) {
      const FirstLanes lanes(end - i < kVectorFloats ? end - i : kVectorFloats);
      const f32x x = lanes.load(in + i, f32x{});
      const f32x d = lanes.keep(x - shift, f32x{});
      sums[0] = squared ? fma(d, d, sums[0]) : sums[0] + x;
    }
    total += static_cast<double>(sum_lanes((sums[0] + sums[1]) + (sums[2] + sums[3])));
  }
  return total;
}

template <bool centred, bool has_weight, bool has_bias>
void long_rows(const Norm& norm) {
  const double inverse_n = 1.0 / static_cast<double>(norm.n);
  for (std::int64_t r = 0; r < norm.rows; ++r) {
    const float* in = norm.from.row(r);
    float* out = norm.to.row(r);
    const f32x mean = centred ? f32(static_cast<float>(row_sum<false>(in, norm.n, f32x{}) * inverse_n)) : f32x{};
    const f32x scale = f32(inverse_deviation(row_sum<true>(in, norm.n, mean), inverse_n, norm.eps));
    std::int64_t i = 0;
    for (; i + kVectorFloats <= norm.n; i += kVectorFloats) {
      store<float>(out + i, affine<has_weight, has_bias>(norm, (load<float>(in + i) - mean) * scale, i));
    }
    if (i == norm.n) continue;
    const FirstLanes last(norm.n - i);
    last.store(out + i, affine<has_weight, has_bias>(norm, (last.load(in + i, f32x{}) - mean) * scale, i, last));
  }
}

template <int vectors, bool centred, bool has_weight, bool has_bias>
void rows_of(const Norm& norm) {
  if constexpr (vectors > kRegisterVectors) {
    long_rows<centred, has_weight, has_bias>(norm);
  } else {
    if (norm.n <= vectors * kVectorFloats)
      short_rows<vectors, centred, has_weight, has_bias>(norm);
    else
      rows_of<vectors + 1, centred, has_weight, has_bias>(norm);
  }
}

template <bool centred>
void run_norm(const Norm& norm) {
  if (norm.n == 0) return;
  if (norm.weight != nullptr && norm.bias != nullptr)
    rows_of<1, centred, true, true>(norm);
  else if (norm.weight != nullptr)
    rows_of<1, centred, true, false>(norm);
  else if (norm.bias != nullptr)
    rows_of<1, centred, false, true>(norm);
  else
    rows_of<1, centred, false, false>(norm);
}

RowStream vector_operand(const StreamSet& streams, std::uint16_t stream, const TaskContext& context, const Tile& tile) {
  if (stream == isa::kNoStream) return {nullptr, 0};
  return row_stream(streams, stream, context, tile);
}

template <bool centred>
void run(const isa::PhaseHead& phase, const StreamSet& streams, const TaskContext& context, const Tile& tile) {
  const RowStream weight = vector_operand(streams, phase.c(), context, tile),
                  bias = vector_operand(streams, phase.d(), context, tile);
  Norm norm{row_stream(streams, phase.a(), context, tile),
            row_stream(streams, phase.b(), context, tile),
            weight.row(0),
            bias.row(0),
            load_element<float>(&streams.head(phase.e()).offset),
            tile.rows,
            tile.inner_count};
  if (weight.step == 0 && bias.step == 0) return run_norm<centred>(norm);
  norm.rows = 1;  // weights of their own for each row
  for (std::int64_t r = 0; r < tile.rows; ++r) {
    run_norm<centred>(norm);
    norm.from.address += norm.from.step, norm.to.address += norm.to.step;
    norm.weight = weight.row(r + 1), norm.bias = bias.row(r + 1);
  }
}

}  // namespace

void run_layer_norm(const isa::PhaseHead& phase, const StreamSet& streams, const TaskContext& context,
                    const Tile& tile) {
  run<true>(phase, streams, context, tile);
}

void run_rms_norm(const isa::PhaseHead& phase, const StreamSet& streams, const TaskContext& context, const Tile& tile) {
  run<false>(phase, streams, context, tile);
}

}  // namespace tilewright::vm::cpu::TW_LEVEL
