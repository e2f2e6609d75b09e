// The native phases on rows of a tile: softmax.cc, norm.cc.
#pragma once

#include "tilewright/vm/cpu/level/vec.h"

namespace tilewright::vm::cpu::TW_LEVEL {

template <typename A, typename B>
inline constexpr bool kSameType = false;
template <typename A>
inline constexpr bool kSameType<A, A> = true;

// The rows on which a phase runs: `rows` rows from outer index `index`, row `row` of the tile, and a range of the inner
// dim.
struct Tile {
  const std::int64_t* index;
  std::int64_t row, rows;
  std::int64_t inner_first, inner_count;
  const TileBlock& block;
  Reach reach;  // of the buffers that the phase reads and writes
};

// f32 rows of one stream, inner stride 4: the first one and the distance to the next in bytes.
struct RowStream {
  char* address;
  std::int64_t step;
  float* row(std::int64_t i) const {
    return address == nullptr ? nullptr : reinterpret_cast<float*>(address + i * step);
  }
};
RowStream row_stream(const StreamSet& streams, std::uint16_t stream, const TaskContext& context, const Tile& tile);

// The lanes of a row's last vector that exist.
struct FirstLanes {
#if defined(TW_LEVEL_AVX512)
  explicit FirstLanes(std::int64_t count) : bits(static_cast<std::uint16_t>((std::uint32_t{1} << count) - 1)) {}
  std::uint16_t bits;
  TW_INLINE f32x load(const float* p, f32x other) const {
    return _mm512_mask_loadu_ps(other, bits, p);
  }
  TW_INLINE void store(float* p, f32x v) const {
    _mm512_mask_storeu_ps(p, bits, v);
  }
  TW_INLINE f32x keep(f32x v, f32x other) const {
    return _mm512_mask_mov_ps(other, bits, v);
  }
#else
  explicit FirstLanes(std::int64_t count) {
    for (int i = 0; i < kVectorFloats; ++i) mask[i] = i < count ? -1 : 0;
    lanes = static_cast<int>(count);
  }
  i32x mask;
  int lanes;
#if defined(TW_LEVEL_AVX2)
  TW_INLINE f32x load(const float* p, f32x other) const {
    return select(mask, _mm256_maskload_ps(p, (__m256i)mask), other);
  }
  TW_INLINE void store(float* p, f32x v) const {
    _mm256_maskstore_ps(p, (__m256i)mask, v);
  }
#else
  TW_INLINE f32x load(const float* p, f32x other) const {
    for (int i = 0; i < lanes; ++i) other[i] = load_element<float>(p + i);
    return other;
  }
  TW_INLINE void store(float* p, f32x v) const {
    for (int i = 0; i < lanes; ++i) store_element<float>(p + i, v[i]);
  }
#endif
  TW_INLINE f32x keep(f32x v, f32x other) const {
    return select(mask, v, other);
  }
#endif
};

// What a native phase reads of a row: its elements, or from * scale + addend rounded once.
enum class Prologue { kNone, kScale, kScaleAdd, kAdd };
template <Prologue prologue>
struct RowSource {
  const float* from;
  const float* addend;
  f32x scale;
  TW_INLINE f32x combine(f32x x, f32x y) const {
    if constexpr (prologue == Prologue::kScale) return x * scale;
    if constexpr (prologue == Prologue::kScaleAdd) return exact_fma(x, scale, y);
    if constexpr (prologue == Prologue::kAdd) return x + y;
    return x;
  }
  static constexpr bool kAdds = prologue == Prologue::kScaleAdd || prologue == Prologue::kAdd;
  TW_INLINE f32x at(std::int64_t i) const {
    return combine(load<float>(from + i), kAdds ? load<float>(addend + i) : f32x{});
  }
  TW_INLINE f32x at(std::int64_t i, const FirstLanes& lanes, f32x other) const {
    return lanes.keep(combine(lanes.load(from + i, f32x{}), kAdds ? lanes.load(addend + i, f32x{}) : f32x{}), other);
  }
  // A row is short beside the way to memory, and the core does not look ahead over the arithmetic of a whole row.
  TW_INLINE void prefetch(std::int64_t i) const {
    constexpr std::int64_t kAhead = 4096 / 4;
    __builtin_prefetch(from + i + kAhead);
    if constexpr (kAdds) __builtin_prefetch(addend + i + kAhead);
  }
};

// The rows of a phase.
struct RowWork {
  RowStream from, to, addend;
  float scale;
  std::int64_t rows, n;
  bool far;        // what is read lies beyond L2
  bool streaming;  // the result is large: it is stored past the caches
  float* spare;    // a row in private scratch, for results that are not final
  template <Prologue prologue>
  RowSource<prologue> source(std::int64_t row) const {
    return {from.row(row), addend.row(row), f32(scale)};
  }
};
RowWork row_work(const isa::PhaseHead& phase, const StreamSet& streams, const TaskContext& context, const Tile& tile,
                 std::uint16_t addend);

// A row that was computed in registers: of the vectors before the last one, and of the last one.
template <int vectors, typename Value, typename Last>
TW_INLINE void write_vectors(float* out, const FirstLanes& last, bool streaming, const Value& value,
                             const Last& value_of_last) {
  constexpr int kLast = (vectors - 1) * kVectorFloats;
  if (streaming && reinterpret_cast<std::uintptr_t>(out) % kVectorBytes == 0) {
#pragma GCC unroll 24
    for (int k = 0; k < vectors - 1; ++k) stream_store(out + k * kVectorFloats, value(k));
  } else {
#pragma GCC unroll 24
    for (int k = 0; k < vectors - 1; ++k) store<float>(out + k * kVectorFloats, value(k));
  }
  last.store(out + kLast, value_of_last());
}

// out = what `value` gives at (position) and at (position, lanes of a part).
template <typename Value>
TW_INLINE void write_row(float* out, std::int64_t n, bool streaming, const Value& value) {
  std::int64_t i = 0;
  if (streaming) {
    const auto misaligned = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(out) % kVectorBytes) / 4;
    if (misaligned != 0) {
      const FirstLanes head(kVectorFloats - misaligned);
      head.store(out, value(0, head));
      i = kVectorFloats - misaligned;
    }
    for (; i + kVectorFloats <= n; i += kVectorFloats) stream_store(out + i, value(i));
  }
  for (; i + kVectorFloats <= n; i += kVectorFloats) store<float>(out + i, value(i));
  if (i == n) return;
  const FirstLanes last(n - i);
  last.store(out + i, value(i, last));
}

void run_softmax(const isa::PhaseHead& phase, const StreamSet& streams, const TaskContext& context, const Tile& tile);
void run_norm(const isa::PhaseHead& phase, const StreamSet& streams, const TaskContext& context, const Tile& tile);

}  // namespace tilewright::vm::cpu::TW_LEVEL
