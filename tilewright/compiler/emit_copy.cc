// Copies as one map instruction. Elements move as integers of their size, so every bit pattern survives.
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
    case DType::kU8: return isa::StripOp::kLoadU8;
    case DType::kI16: return isa::StripOp::kLoadI16;
    case DType::kI32: return isa::StripOp::kLoadI32;
    default: return isa::StripOp::kLoadI64;
  }
}

isa::StripOp store_of(DType dtype) {
  switch (dtype) {
    case DType::kU8: return isa::StripOp::kStoreU8;
    case DType::kI16: return isa::StripOp::kStoreI16;
    case DType::kI32: return isa::StripOp::kStoreI32;
    default: return isa::StripOp::kStoreI64;
  }
}

}  // namespace

Status emit_copy(const View& from, const View& to, const BackendTraits& traits, Emitter& out) {
  LoopNest nest;
  nest.rank = to.rank;
  for (int axis = 0; axis < to.rank; ++axis) nest.sizes[at(axis)] = to.sizes[at(axis)];
  if (nest.count(0, nest.rank) == 0) return {};
  nest.add(to);
  nest.add(from);
  nest.collapse(0, nest.rank);
  nest.order_by_stride(0);
  nest.collapse(0, nest.rank);
  if (nest.rank == 0) nest.insert_unit_axis(0);
  const int rank = nest.rank - 1;
  const std::int64_t inner = nest.sizes[at(rank)];
  const DType dtype = integer_of_size(to.dtype);
  const std::int64_t bytes = byte_size(dtype);
  const isa::Lane lane = bytes == 8 ? isa::Lane::kI64 : isa::Lane::kI32;
  const std::int64_t to_inner = inner == 1 ? bytes : nest.strides[0][at(rank)], from_inner = nest.strides[1][at(rank)];
  const int load_form = from_inner == 0 ? isa::kOne : from_inner == bytes ? isa::kUnit : isa::kStrided;
  const int store_form = to_inner == bytes ? isa::kUnit : isa::kStrided;
  const std::array<isa::Word, 3> code{isa::strip_word(load_of(dtype), lane, load_form, 1),
                                      isa::strip_word(store_of(dtype), lane, store_form, 0),
                                      isa::strip_word(isa::StripOp::kEnd, lane)};
  const std::int64_t rows = rank > 0 ? nest.sizes[at(rank - 1)] : 1;
  const std::int64_t others = nest.count(0, std::max(rank - 1, 0));
  const std::int64_t chunk = task_elements(rows * inner * others, load_form == isa::kStrided ? 4 : 1, traits);
  const std::int64_t inner_tile = inner <= chunk ? inner : round_up(chunk, kInnerStep);
  const std::int64_t row_tile = inner_tile < inner ? 1 : std::clamp<std::int64_t>(chunk / inner, 1, rows);
  out.begin(isa::Opcode::kMap, rank, others * ((rows + row_tile - 1) / row_tile) * ((inner + inner_tile - 1) / inner_tile), inner);
  out.field(row_tile);
  out.field(inner_tile);
  for (int axis = 0; axis < rank; ++axis) out.dim(nest.sizes[at(axis)]);
  out.stream(isa::Space::kBuffer, dtype, to.buffer, to.offset, to_inner, {nest.strides[0].data(), at(rank)});
  out.stream(isa::Space::kBuffer, dtype, from.buffer, from.offset, from_inner, {nest.strides[1].data(), at(rank)});
  out.phase(isa::PhaseOp::kStrip, code);
  out.end();
  return {};
}

}  // namespace tilewright::compiler
