#include "tilewright/compiler/copy.h"

#include <algorithm>

#include "tilewright/compiler/axis.h"
#include "tilewright/compiler/loop_nest.h"
#include "tilewright/compiler/tiling.h"

namespace tilewright::compiler {
namespace {

constexpr std::int64_t kBlockTile = 64;  // a side of the blocks of a transposing copy: 16 KiB of f32, both sides in L1
constexpr std::int64_t kLeastSide = 4;   // thinner blocks are copied element by element, but for pairs side by side
constexpr std::int64_t kShortRows = 1024;  // elements of a task that do not pay for it
constexpr std::int64_t kMostRepeats = 16;  // of an element, in blocks; more are rows of a map

DType integer_of_size(DType dtype) {
  switch (byte_size(dtype)) {
    case 1:
      return DType::kU8;
    case 2:
      return DType::kI16;
    case 4:
      return DType::kI32;
    default:
      return DType::kI64;
  }
}

isa::StripOp load_of(DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return isa::StripOp::kLoadF32;
    case DType::kF64:
      return isa::StripOp::kLoadF64;
    case DType::kF16:
      return isa::StripOp::kLoadF16;
    case DType::kBF16:
      return isa::StripOp::kLoadBF16;
    case DType::kI8:
      return isa::StripOp::kLoadI8;
    case DType::kU8:
      return isa::StripOp::kLoadU8;
    case DType::kI16:
      return isa::StripOp::kLoadI16;
    case DType::kI32:
      return isa::StripOp::kLoadI32;
    case DType::kI64:
      return isa::StripOp::kLoadI64;
    case DType::kBool:
      return isa::StripOp::kLoadU8;
  }
  return isa::StripOp::kEnd;
}

isa::StripOp store_of(DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return isa::StripOp::kStoreF32;
    case DType::kF64:
      return isa::StripOp::kStoreF64;
    case DType::kF16:
      return isa::StripOp::kStoreF16;
    case DType::kBF16:
      return isa::StripOp::kStoreBF16;
    case DType::kI8:
      return isa::StripOp::kStoreI8;
    case DType::kU8:
      return isa::StripOp::kStoreU8;
    case DType::kI16:
      return isa::StripOp::kStoreI16;
    case DType::kI32:
      return isa::StripOp::kStoreI32;
    case DType::kI64:
      return isa::StripOp::kStoreI64;
    case DType::kBool:
      return isa::StripOp::kStoreU8;
  }
  return isa::StripOp::kEnd;
}

// The lane in which no element of either dtype loses bits, if one of them keeps it anyway.
isa::Lane lane_between(DType from, DType to) {
  const bool wide = byte_size(from) == 8 || byte_size(to) == 8;
  if (is_float(from) || is_float(to)) return wide ? isa::Lane::kF64 : isa::Lane::kF32;
  return wide ? isa::Lane::kI64 : isa::Lane::kI32;
}

int load_form(std::int64_t stride, std::int64_t bytes) {
  return stride == 0 ? isa::kOne : stride == bytes ? isa::kUnit : isa::kStrided;
}

void collapse_for(LoopNest& nest) {
  nest.collapse(0, nest.rank);
  nest.order_by_stride(0);
  nest.collapse(0, nest.rank);
  if (nest.rank == 0) nest.insert_unit_axis(0);
}

// The loops of a copy: view 0 is written, view 1 (if any) read; the last axis is the one that is written fastest.
LoopNest copy_nest(const View& to, const View* from) {
  LoopNest nest;
  nest.rank = to.rank;
  for (int axis = 0; axis < to.rank; ++axis) nest.sizes[at(axis)] = to.sizes[at(axis)];
  nest.add(to);
  if (from != nullptr) nest.add(*from);
  collapse_for(nest);
  return nest;
}

// Begins a map over the loops; writes its fields and dims.
void begin_map(const LoopNest& nest, std::int64_t cost, const BackendTraits& traits, Emitter& out) {
  const int rank = nest.rank - 1;
  const std::int64_t inner = nest.sizes[at(rank)], rows = rank > 0 ? nest.sizes[at(rank - 1)] : 1;
  const std::int64_t others = nest.count(0, std::max(rank - 1, 0));
  const std::int64_t chunk = task_elements(rows * inner * others, cost, traits);
  const std::int64_t inner_tile = inner <= chunk ? inner : round_up(chunk, kInnerStep);
  const std::int64_t row_tile = inner_tile < inner ? 1 : std::clamp<std::int64_t>(chunk / inner, 1, rows);
  out.begin(isa::Opcode::kMap, rank,
            others * ((rows + row_tile - 1) / row_tile) * ((inner + inner_tile - 1) / inner_tile), inner);
  out.field(row_tile);
  out.field(inner_tile);
  for (int axis = 0; axis < rank; ++axis) out.dim(nest.sizes[at(axis)]);
}

// A map whose one phase loads, in `lane`, and stores.
void emit_map(LoopNest& nest, const View& to, DType to_dtype, const View* from, DType from_dtype, std::int64_t bits,
              isa::Lane lane, const BackendTraits& traits, Emitter& out) {
  const int rank = nest.rank - 1;
  const std::int64_t inner = nest.sizes[at(rank)];
  const std::int64_t to_bytes = byte_size(to_dtype), from_bytes = byte_size(from_dtype);
  const std::int64_t to_inner = inner == 1 ? to_bytes : nest.strides[0][at(rank)];
  const std::int64_t from_inner = from == nullptr ? 0 : nest.strides[1][at(rank)];
  const int form = load_form(from_inner, from_bytes);
  const std::array<isa::Word, 3> code{
      isa::strip_word(load_of(from_dtype), lane, form, 1),
      isa::strip_word(store_of(to_dtype), lane, to_inner == to_bytes ? isa::kUnit : isa::kStrided, 0),
      isa::strip_word(isa::StripOp::kEnd, lane)};
  begin_map(nest, form == isa::kStrided ? 4 : 1, traits, out);
  out.stream(isa::Space::kBuffer, to_dtype, to.buffer, to.offset, to_inner, {nest.strides[0].data(), at(rank)});
  if (from != nullptr) {
    out.stream(isa::Space::kBuffer, from_dtype, from->buffer, from->offset, from_inner,
               {nest.strides[1].data(), at(rank)});
  } else {
    const std::array<std::int64_t, kMaxTensorRank> none{};
    out.stream(isa::Space::kLiteral, from_dtype, 0, bits, 0, {none.data(), at(rank)});
  }
  out.phase(isa::PhaseOp::kStrip, code);
  out.end();
}

// The axis along which `from` is contiguous while `to` is along the last one, which may repeat elements of `from`; -1
// where a copy in blocks does not pay.
int turned_axis(const LoopNest& nest, std::int64_t bytes) {
  const int last = nest.rank - 1;
  if (last < 1 || nest.strides[0][at(last)] != bytes || nest.strides[1][at(last)] == bytes) return -1;
  const std::int64_t size = nest.sizes[at(last)];
  if (nest.strides[1][at(last)] == 0 && size > kMostRepeats) return -1;
  for (int axis = last - 1; axis >= 0; --axis) {
    const bool pairs = size == 2 && nest.strides[0][at(axis)] == 2 * bytes;
    if (nest.strides[1][at(axis)] == bytes && nest.sizes[at(axis)] >= kLeastSide && (size >= kLeastSide || pairs))
      return axis;
  }
  return -1;
}

void emit_turned(LoopNest& nest, const View& to, const View& from, DType dtype, Emitter& out) {
  const int rank = nest.rank - 1;
  const std::int64_t inner = nest.sizes[at(rank)], rows = nest.sizes[at(rank - 1)];
  const std::int64_t row_tile = kBlockTile * std::max<std::int64_t>(kBlockTile / inner, 1);
  const std::int64_t row_tiles = (rows + row_tile - 1) / row_tile, inner_tiles = (inner + kBlockTile - 1) / kBlockTile;
  out.begin(isa::Opcode::kTranspose, rank, nest.count(0, rank - 1) * row_tiles * inner_tiles, inner);
  out.field(row_tile);
  out.field(kBlockTile);
  for (int axis = 0; axis < rank; ++axis) out.dim(nest.sizes[at(axis)]);
  out.stream(isa::Space::kBuffer, dtype, from.buffer, from.offset, nest.strides[1][at(rank)],
             {nest.strides[1].data(), at(rank)});
  out.stream(isa::Space::kBuffer, dtype, to.buffer, to.offset, nest.strides[0][at(rank)],
             {nest.strides[0].data(), at(rank)});
  out.end();
}

// A task covers rows of the last outer axis only: a short one gives its place to the longest.
void move_rows(LoopNest& nest) {
  const int rows = nest.rank - 2;
  if (rows < 1 || nest.sizes[at(rows)] * nest.sizes[at(nest.rank - 1)] >= kShortRows) return;
  int longest = rows;
  for (int axis = rows - 1; axis >= 0; --axis) {
    if (nest.sizes[at(axis)] > nest.sizes[at(longest)]) longest = axis;
  }
  if (longest != rows) nest.move(longest, rows);
}

}  // namespace

bool same_elements(const View& a, const View& b) {
  if (a.buffer != b.buffer || a.dtype != b.dtype || a.offset != b.offset || a.rank != b.rank) return false;
  for (int axis = 0; axis < a.rank; ++axis) {
    if (a.sizes[at(axis)] != b.sizes[at(axis)]) return false;
    if (a.sizes[at(axis)] != 1 && a.strides[at(axis)] != b.strides[at(axis)]) return false;
  }
  return true;
}

Status emit_copy(const View& from, const View& to, const BackendTraits& traits, Emitter& out) {
  if (to.count() == 0 || same_elements(from, to)) return {};
  LoopNest nest = copy_nest(to, &from);
  if (from.dtype != to.dtype) {
    emit_map(nest, to, to.dtype, &from, from.dtype, 0, lane_between(from.dtype, to.dtype), traits, out);
    return {};
  }
  const DType dtype = integer_of_size(to.dtype);
  if (const int axis = turned_axis(nest, byte_size(dtype)); axis >= 0) {
    nest.move(axis, nest.rank - 2);
    emit_turned(nest, to, from, dtype, out);
    return {};
  }
  move_rows(nest);
  emit_map(nest, to, dtype, &from, dtype, 0, lane_between(dtype, dtype), traits, out);
  return {};
}

void emit_iota(std::int64_t start, std::span<const std::int64_t> steps, const View& to, const BackendTraits& traits,
               Emitter& out) {
  if (to.count() == 0) return;
  LoopNest nest;
  nest.rank = to.rank;
  for (int axis = 0; axis < to.rank; ++axis) nest.sizes[at(axis)] = to.sizes[at(axis)];
  nest.add(to);
  nest.add_strides(steps);
  collapse_for(nest);
  const int rank = nest.rank - 1;
  const std::int64_t inner = nest.sizes[at(rank)] == 1 ? 8 : nest.strides[0][at(rank)];
  const std::array<isa::Word, 3> code{
      isa::strip_word(isa::StripOp::kLoadIota, isa::Lane::kI64, isa::kStrided, 1),
      isa::strip_word(isa::StripOp::kStoreI64, isa::Lane::kI64, inner == 8 ? isa::kUnit : isa::kStrided, 0),
      isa::strip_word(isa::StripOp::kEnd, isa::Lane::kI64)};
  begin_map(nest, 1, traits, out);
  out.stream(isa::Space::kBuffer, DType::kI64, to.buffer, to.offset, inner, {nest.strides[0].data(), at(rank)});
  out.stream(isa::Space::kIota, DType::kI64, 0, start, nest.strides[1][at(rank)], {nest.strides[1].data(), at(rank)});
  out.phase(isa::PhaseOp::kStrip, code);
  out.end();
}

Status emit_fill(const View& to, std::int64_t bits, const BackendTraits& traits, Emitter& out) {
  if (to.count() == 0) return {};
  LoopNest nest = copy_nest(to, nullptr);
  const DType dtype = integer_of_size(to.dtype);
  const isa::Lane lane = byte_size(dtype) == 8 ? isa::Lane::kI64 : isa::Lane::kI32;
  emit_map(nest, to, dtype, nullptr, dtype, bits, lane, traits, out);
  return {};
}

View slice_axis(View view, int axis, std::int64_t start, std::int64_t count, std::int64_t step) {
  if (count > 0) view.offset += start * view.strides[at(axis)] * byte_size(view.dtype);
  view.sizes[at(axis)] = count;
  view.strides[at(axis)] *= step;
  return view;
}

View contiguous_view(View view) {
  std::int64_t stride = 1;
  for (int axis = view.rank - 1; axis >= 0; --axis) {
    view.strides[at(axis)] = stride;
    stride *= view.sizes[at(axis)];
  }
  return view;
}

bool is_row_major(const View& view) {
  std::int64_t stride = 1;
  for (int axis = view.rank - 1; axis >= 0; --axis) {
    if (view.sizes[at(axis)] != 1 && view.strides[at(axis)] != stride) return false;
    stride *= view.sizes[at(axis)];
  }
  return true;
}

View temp_like(const View& view, DType dtype, const Kernel& kernel) {
  View temp = contiguous_view(view);
  temp.dtype = dtype;
  temp.buffer = kernel.temp.arena;
  temp.offset = kernel.temp.allocate(kernel.temp.state, std::max<std::int64_t>(temp.count() * byte_size(dtype), 1));
  return temp;
}

Result<View> row_major_as(const View& view, DType dtype, const Kernel& kernel, Emitter& out) {
  if (view.dtype == dtype && is_row_major(view)) return contiguous_view(view);
  const View temp = temp_like(view, dtype, kernel);
  TW_TRY(emit_copy(view, temp, *kernel.traits, out));
  return temp;
}

}  // namespace tilewright::compiler
