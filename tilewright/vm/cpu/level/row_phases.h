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
    for (int i = 0; i < lanes; ++i) other[i] = p[i];
    return other;
  }
  TW_INLINE void store(float* p, f32x v) const {
    for (int i = 0; i < lanes; ++i) p[i] = v[i];
  }
#endif
  TW_INLINE f32x keep(f32x v, f32x other) const {
    return select(mask, v, other);
  }
#endif
};

void run_softmax(const isa::PhaseHead& phase, const StreamSet& streams, const TaskContext& context, const Tile& tile,
                 bool logarithm);
void run_layer_norm(const isa::PhaseHead& phase, const StreamSet& streams, const TaskContext& context,
                    const Tile& tile);
void run_rms_norm(const isa::PhaseHead& phase, const StreamSet& streams, const TaskContext& context, const Tile& tile);

}  // namespace tilewright::vm::cpu::TW_LEVEL
