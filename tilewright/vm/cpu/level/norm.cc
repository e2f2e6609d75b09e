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

// Weight and bias of a row. One that is absent is a vector of ones, or of zeros that change no sign, read again and
// again.
struct Affine {
  const float *weight, *bias;
  std::int64_t weight_mask, bias_mask;  // of the position: all bits, or none
  TW_INLINE f32x operator()(f32x x, std::int64_t i) const {
    return fma(x, load<float>(weight + (i & weight_mask)), load<float>(bias + (i & bias_mask)));
  }
  TW_INLINE f32x operator()(f32x x, std::int64_t i, const FirstLanes& lanes) const {
    return fma(x, lanes.load(weight + (i & weight_mask), f32x{}), lanes.load(bias + (i & bias_mask), f32x{}));
  }
};

struct Norm {
  RowWork work;
  Affine affine;
  float eps;
};

TW_INLINE float inverse_deviation(double sum_of_squares, double inverse_n, float eps) {
  return 1.0f / __builtin_sqrtf(static_cast<float>(sum_of_squares * inverse_n + static_cast<double>(eps)));
}

// Rows of exactly `vectors` vectors, the last one partial or full.
template <int vectors, bool centred, Prologue prologue>
void short_rows(const Norm& norm) {
  const FirstLanes last(norm.work.n - (vectors - 1) * kVectorFloats);
  const double inverse_n = 1.0 / static_cast<double>(norm.work.n);
  for (std::int64_t r = 0; r < norm.work.rows; ++r) {
    const auto in = norm.work.source<prologue>(r);
    float* out = norm.work.to.row(r);
    f32x x[vectors];
#pragma GCC unroll 24
    for (int k = 0; k < vectors - 1; ++k) x[k] = in.at(k * kVectorFloats);
    x[vectors - 1] = in.at((vectors - 1) * kVectorFloats, last, f32x{});
    if (norm.work.far) {
#pragma GCC unroll 24
      for (int k = 0; k < vectors; ++k) in.prefetch(k * kVectorFloats);
    }
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
    write_vectors<vectors>(
        out, last, norm.work.streaming, [&](int k) TW_LAMBDA { return norm.affine(x[k] * scale, k * kVectorFloats); },
        [&]() TW_LAMBDA { return norm.affine(x[vectors - 1] * scale, (vectors - 1) * kVectorFloats, last); });
  }
}

// Sum of x - shift, or of its square, over a row.
template <bool squared, bool far, Prologue prologue>
double row_sum(const RowSource<prologue>& in, std::int64_t n, f32x shift) {
  double total = 0;
  for (std::int64_t begin = 0; begin < n; begin += kFoldElements) {
    const std::int64_t end = begin + kFoldElements < n ? begin + kFoldElements : n;
    f32x sums[4] = {};
    std::int64_t i = begin;
    for (; i + 4 * kVectorFloats <= end; i += 4 * kVectorFloats) {
#pragma GCC unroll 4
      for (int k = 0; k < 4; ++k) {
        if constexpr (far) in.prefetch(i + k * kVectorFloats);
        const f32x x = in.at(i + k * kVectorFloats);
        const f32x d = x - shift;
        sums[k] = squared ? fma(d, d, sums[k]) : sums[k] + x;
      }
    }
    for (; i < end; i += kVectorFloats) {
      if constexpr (far) in.prefetch(i);
      const FirstLanes lanes(end - i < kVectorFloats ? end - i : kVectorFloats);
      const f32x x = in.at(i, lanes, f32x{});
      const f32x d = lanes.keep(x - shift, f32x{});
      sums[0] = squared ? fma(d, d, sums[0]) : sums[0] + x;
    }
    total += static_cast<double>(sum_lanes((sums[0] + sums[1]) + (sums[2] + sums[3])));
  }
  return total;
}

template <Prologue prologue>
struct Normalised {
  const RowSource<prologue>& in;
  const Affine& affine;
  f32x mean, scale;
  TW_INLINE f32x operator()(std::int64_t i) const { return affine((in.at(i) - mean) * scale, i); }
  TW_INLINE f32x operator()(std::int64_t i, const FirstLanes& lanes) const {
    return affine((in.at(i, lanes, f32x{}) - mean) * scale, i, lanes);
  }
};

template <bool centred, Prologue prologue>
void long_rows(const Norm& norm) {
  const RowWork& work = norm.work;
  const double inverse_n = 1.0 / static_cast<double>(work.n);
  for (std::int64_t r = 0; r < work.rows; ++r) {
    const auto in = work.source<prologue>(r);
    const auto first_sum = [&](f32x shift) TW_LAMBDA {
      return work.far ? row_sum<!centred, true>(in, work.n, shift) : row_sum<!centred, false>(in, work.n, shift);
    };
    f32x mean{};
    double squares = first_sum(mean);
    if constexpr (centred) {
      mean = f32(static_cast<float>(squares * inverse_n));
      squares = row_sum<true, false>(in, work.n, mean);
    }
    const f32x scale = f32(inverse_deviation(squares, inverse_n, norm.eps));
    write_row(work.to.row(r), work.n, work.streaming, Normalised<prologue>{in, norm.affine, mean, scale});
  }
}

template <int vectors, bool centred, Prologue prologue>
void rows_of(const Norm& norm) {
  if constexpr (vectors > kRegisterVectors) {
    long_rows<centred, prologue>(norm);
  } else {
    if (norm.work.n <= vectors * kVectorFloats)
      short_rows<vectors, centred, prologue>(norm);
    else
      rows_of<vectors + 1, centred, prologue>(norm);
  }
}

void run_kind(const Norm& norm, bool centred, bool sums) {
  if (centred && sums) return rows_of<1, true, Prologue::kAdd>(norm);
  if (centred) return rows_of<1, true, Prologue::kNone>(norm);
  if (sums) return rows_of<1, false, Prologue::kAdd>(norm);
  return rows_of<1, false, Prologue::kNone>(norm);
}

RowStream vector_operand(const StreamSet& streams, std::uint16_t stream, const TaskContext& context, const Tile& tile) {
  if (stream == isa::kNoStream) return {nullptr, 0};
  return row_stream(streams, stream, context, tile);
}

struct Constants {
  alignas(kVectorBytes) float ones[kVectorFloats], zeros[kVectorFloats];
};
constexpr Constants kConstants = [] {
  Constants constants{};
  for (float& one : constants.ones) one = 1;
  for (float& zero : constants.zeros) zero = -0.0f;
  return constants;
}();

Affine affine_of(const RowStream& weight, const RowStream& bias, std::int64_t row) {
  Affine affine{kConstants.ones, kConstants.zeros, 0, 0};
  if (weight.address != nullptr) affine.weight = weight.row(row), affine.weight_mask = -1;
  if (bias.address != nullptr) affine.bias = bias.row(row), affine.bias_mask = -1;
  return affine;
}

}  // namespace

void run_norm(const isa::PhaseHead& phase, const StreamSet& streams, const TaskContext& context, const Tile& tile) {
  const bool sums = phase.op() == isa::PhaseOp::kSumLayerNorm || phase.op() == isa::PhaseOp::kSumRmsNorm;
  const bool centred = phase.op() == isa::PhaseOp::kLayerNorm || phase.op() == isa::PhaseOp::kSumLayerNorm;
  const RowStream weight = vector_operand(streams, phase.c(), context, tile),
                  bias = vector_operand(streams, phase.d(), context, tile);
  Norm norm{row_work(phase, streams, context, tile, sums ? phase.f() : isa::kNoStream), affine_of(weight, bias, 0),
            load_element<float>(&streams.head(phase.e()).offset)};
  if (norm.work.n == 0) return;
  if (weight.step == 0 && bias.step == 0) return run_kind(norm, centred, sums);
  norm.work.rows = 1;  // weights of their own for each row
  for (std::int64_t r = 0; r < tile.rows; ++r) {
    norm.affine = affine_of(weight, bias, r);
    run_kind(norm, centred, sums);
    norm.work.from.address += norm.work.from.step, norm.work.to.address += norm.work.to.step;
    if (sums) norm.work.addend.address += norm.work.addend.step;
  }
}

}  // namespace tilewright::vm::cpu::TW_LEVEL
