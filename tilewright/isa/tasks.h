// Tasks: how the tasks of an instruction are numbered, and what one task covers. Pure arithmetic, used by the verifier,
// the compiler and every machine. Hot: no allocation, no branch on data. Assumes dims >= 0 and tiles >= 1 (verified).
//   dims[0..outer) one index each | row tiles of `rows` | inner tiles of `inner`      the last varies fastest
#pragma once

#include <cstdint>

#include "tilewright/isa/program.h"

namespace tilewright::isa {

constexpr std::int64_t tiles_of(std::int64_t count, std::int64_t tile) {
  return count / tile + (count % tile != 0);
}

struct Tiling {
  const std::int64_t* dims;  // sizes of the outer dims that give one index each
  int outer;                 // how many of them
  std::int64_t rows, row_tile;
  std::int64_t inner, inner_tile;
  bool whole_inner;  // every task covers the whole inner dim, also when it is empty

  constexpr std::int64_t row_tiles() const { return tiles_of(rows, row_tile); }
  constexpr std::int64_t inner_tiles() const { return whole_inner ? 1 : tiles_of(inner, inner_tile); }
};

struct Task {
  std::int64_t index[kMaxRank];  // the first Tiling::outer are set
  std::int64_t row_begin, row_end;
  std::int64_t inner_begin, inner_end;
};

constexpr std::int64_t least(std::int64_t a, std::int64_t b) {
  return a < b ? a : b;
}

// The number of tasks; false where it does not fit.
constexpr bool count_tasks(const Tiling& tiling, std::int64_t& tasks) {
  tasks = tiling.row_tiles();
  bool overflow = __builtin_mul_overflow(tasks, tiling.inner_tiles(), &tasks);
  for (int d = 0; d < tiling.outer; ++d) overflow |= __builtin_mul_overflow(tasks, tiling.dims[d], &tasks);
  return !overflow;
}

constexpr Task decode_task(const Tiling& tiling, std::int64_t task) {
  Task out;
  const std::int64_t inner_tiles = tiling.inner_tiles();
  const std::int64_t row_tiles = tiling.row_tiles();
  const std::int64_t inner_tile = task % inner_tiles;
  task /= inner_tiles;
  const std::int64_t row_tile = task % row_tiles;
  task /= row_tiles;
  for (int d = tiling.outer - 1; d >= 0; --d) {
    out.index[d] = task % tiling.dims[d];
    task /= tiling.dims[d];
  }
  out.row_begin = row_tile * tiling.row_tile;
  out.row_end = out.row_begin + least(tiling.row_tile, tiling.rows - out.row_begin);
  out.inner_begin = tiling.whole_inner ? 0 : inner_tile * tiling.inner_tile;
  out.inner_end =
      tiling.whole_inner ? tiling.inner : out.inner_begin + least(tiling.inner_tile, tiling.inner - out.inner_begin);
  return out;
}

// Of an instruction whose last outer dim is cut into row tiles; rank 0 counts as one row.
constexpr Tiling row_tiling(const std::int64_t* dims, int rank, std::int64_t row_tile, std::int64_t inner,
                            std::int64_t inner_tile, bool whole_inner) {
  if (rank == 0) return {dims, 0, 1, 1, inner, inner_tile, whole_inner};
  return {dims, rank - 1, dims[rank - 1], row_tile, inner, inner_tile, whole_inner};
}

inline Tiling tiling_of(const Inst& inst, const MapFields& f) {
  return row_tiling(inst.dims<MapFields>(), inst.rank(), f.row_tile, inst.inner(), f.inner_tile, false);
}
inline Tiling tiling_of(const Inst& inst, const RowsFields& f) {
  return row_tiling(inst.dims<RowsFields>(), inst.rank(), f.row_tile, inst.inner(), 1, true);
}
// Columns: the outer dims are the kept ones; a task walks the reduced ones itself.
inline Tiling tiling_of(const Inst& inst, const ColumnsFields& f) {
  return {
      inst.dims<ColumnsFields>(), inst.rank() - static_cast<int>(f.reduced), 1, 1, inst.inner(), f.inner_tile, false};
}
inline Tiling tiling_of(const Inst& inst, const MatMulFields& f) {
  return row_tiling(inst.dims<MatMulFields>(), inst.rank(), f.m_tile, inst.inner(), f.n_tile, false);
}
inline Tiling tiling_of(const Inst& inst, const DotFields& f) {
  return row_tiling(inst.dims<DotFields>(), inst.rank(), f.m_tile, inst.inner(), f.n_tile, false);
}
inline Tiling tiling_of(const Inst& inst, const BlockDotFields& f) {
  return row_tiling(inst.dims<BlockDotFields>(), inst.rank(), f.m_tile, inst.inner(), f.n_tile, false);
}
// Pack: one task per panel of each batch.
inline Tiling tiling_of(const Inst& inst, const PackFields& f) {
  return {inst.dims<PackFields>(), inst.rank() - 1, 1, 1, inst.inner(), f.panel, false};
}
inline Tiling tiling_of(const Inst& inst, const AttentionFields& f) {
  return row_tiling(inst.dims<AttentionFields>(), inst.rank(), f.query_tile, inst.inner(), 1, true);
}
inline Tiling tiling_of(const Inst& inst, const TransposeFields& f) {
  return row_tiling(inst.dims<TransposeFields>(), inst.rank(), f.row_tile, inst.inner(), f.inner_tile, false);
}
inline Tiling tiling_of(const Inst& inst, const GatherFields& f) {
  return row_tiling(inst.dims<GatherFields>(), inst.rank(), f.row_tile, inst.inner(), f.inner_tile, false);
}
// Scatter: a task walks the serial dims itself.
inline Tiling tiling_of(const Inst& inst, const ScatterFields& f) {
  return {
      inst.dims<ScatterFields>(), inst.rank() - static_cast<int>(f.serial), 1, 1, inst.inner(), f.inner_tile, false};
}

// Of instructions whose tasks are rows: the inner dim is whole.
inline Tiling tiling_of(const Inst& inst, const ScanFields& f) {
  return row_tiling(inst.dims<ScanFields>(), inst.rank(), f.row_tile, inst.inner(), 1, true);
}
inline Tiling tiling_of(const Inst& inst, const ArgReduceFields& f) {
  return row_tiling(inst.dims<ArgReduceFields>(), inst.rank(), f.row_tile, inst.inner(), 1, true);
}
inline Tiling tiling_of(const Inst& inst, const SortFields& f) {
  return row_tiling(inst.dims<SortFields>(), inst.rank(), f.row_tile, inst.inner(), 1, true);
}
inline Tiling tiling_of(const Inst& inst, const PoolFields& f) {
  return row_tiling(inst.dims<PoolFields>(), inst.rank(), f.row_tile, inst.inner(), 1, true);
}
inline Tiling tiling_of(const Inst& inst, const ConvFields& f) {
  return row_tiling(inst.dims<ConvFields>(), inst.rank(), f.row_tile, inst.inner(), f.inner_tile, false);
}
// NonZero: one task.
inline Tiling tiling_of(const Inst& inst, const NonZeroFields&) {
  return {inst.dims<NonZeroFields>(), 0, 1, 1, inst.inner(), 1, true};
}
inline Tiling tiling_of(const Inst& inst, const RandomFields& f) {
  return {inst.dims<RandomFields>(), 0, 1, 1, inst.inner(), f.inner_tile, false};
}

inline constexpr std::int64_t kMaxScratchSort = std::int64_t{1}
                                                << 16;  // elements of a row that sort holds without work memory

}  // namespace tilewright::isa
