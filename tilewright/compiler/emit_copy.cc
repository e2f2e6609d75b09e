// Copies as one map instruction. Elements move as integers of their size, so every bit pattern survives; only f16 and bf16
// that become f32 are converted.
#include "tilewright/compiler/area_compiler.h"
#include "tilewright/compiler/tiling.h"

namespace tilewright::compiler {
namespace {

std::size_t at(int i) { return static_cast<std::size_t>(i); }

DType integer_of_size(DType dtype) {
  switch (byte_size(dtype)) {
    case 1: return DType::kU8;
    case 2: return DType::kI16;
    case 4: return DType::kI32;
    default: return DType::kI64;
  }
}

isa::StripOp load_of(DType dtype) {
  switch (dtype) {
    case DType::kF16: return isa::StripOp::kLoadF16;
    case DType::kBF16: return isa::StripOp::kLoadBF16;
    case DType::kU8: return isa::StripOp::kLoadU8;
    case DType::kI16: return isa::StripOp::kLoadI16;
    case DType::kI32: return isa::StripOp::kLoadI32;
    default: return isa::StripOp::kLoadI64;
  }
}

isa::StripOp store_of(DType dtype) {
  switch (dtype) {
    case DType::kF32: return isa::StripOp::kStoreF32;
    case DType::kU8: return isa::StripOp::kStoreU8;
    case DType::kI16: return isa::StripOp::kStoreI16;
    case DType::kI32: return isa::StripOp::kStoreI32;
    default: return isa::StripOp::kStoreI64;
  }
}

// Tiles of a map over the collapsed nest; begins the instruction and writes its fields and dims.
void begin_map(const LoopNest& nest, std::int64_t cost, const BackendTraits& traits, Emitter& out) {
  const int rank = nest.rank - 1;
  const std::int64_t inner = nest.sizes[at(rank)];
  const std::int64_t rows = rank > 0 ? nest.sizes[at(rank - 1)] : 1;
  const std::int64_t others = nest.count(0, std::max(rank - 1, 0));
  const std::int64_t chunk = task_elements(rows * inner * others, cost, traits);
  const std::int64_t inner_tile = inner <= chunk ? inner : round_up(chunk, kInnerStep);
  const std::int64_t row_tile = inner_tile < inner ? 1 : std::clamp<std::int64_t>(chunk / inner, 1, rows);
  out.begin(isa::Opcode::kMap, rank, others * ((rows + row_tile - 1) / row_tile) * ((inner + inner_tile - 1) / inner_tile), inner);
  out.field(row_tile);
  out.field(inner_tile);
  for (int axis = 0; axis < rank; ++axis) out.dim(nest.sizes[at(axis)]);
}

void collapse_for(LoopNest& nest) {
  nest.collapse(0, nest.rank);
  nest.order_by_stride(0);
  nest.collapse(0, nest.rank);
  if (nest.rank == 0) nest.insert_unit_axis(0);
}

}  // namespace

Status emit_copy(const View& from, const View& to, const BackendTraits& traits, Emitter& out) {
  LoopNest nest;
  nest.rank = to.rank;
  for (int axis = 0; axis < to.rank; ++axis) nest.sizes[at(axis)] = to.sizes[at(axis)];
  if (nest.count(0, nest.rank) == 0) return {};
  nest.add(to);
  nest.add(from);
  collapse_for(nest);
  const int rank = nest.rank - 1;
  const bool converts = from.dtype != to.dtype;
  TW_CHECK(!converts || to.dtype == DType::kF32, "copies convert to f32 only");
  const DType load = converts ? from.dtype : integer_of_size(to.dtype), store = converts ? to.dtype : load;
  const isa::Lane lane = converts ? isa::Lane::kF32 : byte_size(load) == 8 ? isa::Lane::kI64 : isa::Lane::kI32;
  const std::int64_t to_inner = nest.sizes[at(rank)] == 1 ? byte_size(store) : nest.strides[0][at(rank)];
  const std::int64_t from_inner = nest.strides[1][at(rank)];
  const int load_form = from_inner == 0 ? isa::kOne : from_inner == byte_size(load) ? isa::kUnit : isa::kStrided;
  const int store_form = to_inner == byte_size(store) ? isa::kUnit : isa::kStrided;
  const std::array<isa::Word, 3> code{isa::strip_word(load_of(load), lane, load_form, 1),
                                      isa::strip_word(store_of(store), lane, store_form, 0),
                                      isa::strip_word(isa::StripOp::kEnd, lane)};
  begin_map(nest, load_form == isa::kStrided ? 4 : 1, traits, out);
  out.stream(isa::Space::kBuffer, store, to.buffer, to.offset, to_inner, {nest.strides[0].data(), at(rank)});
  out.stream(isa::Space::kBuffer, load, from.buffer, from.offset, from_inner, {nest.strides[1].data(), at(rank)});
  out.phase(isa::PhaseOp::kStrip, code);
  out.end();
  return {};
}

void emit_iota(std::int64_t start, std::span<const std::int64_t> steps, const View& to, const BackendTraits& traits, Emitter& out) {
  LoopNest nest;
  nest.rank = to.rank;
  for (int axis = 0; axis < to.rank; ++axis) nest.sizes[at(axis)] = to.sizes[at(axis)];
  if (nest.count(0, nest.rank) == 0) return;
  nest.add(to);
  nest.add_strides(steps);
  collapse_for(nest);
  const int rank = nest.rank - 1;
  const std::int64_t inner = nest.sizes[at(rank)] == 1 ? 8 : nest.strides[0][at(rank)];
  const std::array<isa::Word, 3> code{isa::strip_word(isa::StripOp::kLoadIota, isa::Lane::kI64, isa::kStrided, 1),
                                      isa::strip_word(isa::StripOp::kStoreI64, isa::Lane::kI64, inner == 8 ? isa::kUnit : isa::kStrided, 0),
                                      isa::strip_word(isa::StripOp::kEnd, isa::Lane::kI64)};
  begin_map(nest, 1, traits, out);
  out.stream(isa::Space::kBuffer, DType::kI64, to.buffer, to.offset, inner, {nest.strides[0].data(), at(rank)});
  out.stream(isa::Space::kIota, DType::kI64, 0, start, nest.strides[1][at(rank)], {nest.strides[1].data(), at(rank)});
  out.phase(isa::PhaseOp::kStrip, code);
  out.end();
}

}  // namespace tilewright::compiler
