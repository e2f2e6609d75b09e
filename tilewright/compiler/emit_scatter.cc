// index_put and scatter_elements: the result begins as a copy of x, then one scatter instruction goes over the index.
// Sums, products and extremes of narrow floats, and means of integers, are carried in a wider temporary and rounded
// once.
#include <algorithm>

#include "tilewright/compiler/axis.h"
#include "tilewright/compiler/copy.h"
#include "tilewright/compiler/index_domain.h"
#include "tilewright/compiler/kernels.h"
#include "tilewright/compiler/tiling.h"

namespace tilewright::compiler {
namespace {

enum Mode : std::int64_t { kReplace, kAdd, kMultiply, kSmaller, kLarger };

// Moves the axes of the index, which a task walks in order, behind the others; the last axis of x stays the inner one.
// Returns how many outer axes are shared out.
int order_for_scatter(IndexDomain& domain) {
  LoopNest& nest = domain.nest;
  const int last = nest.rank - 1;
  int parallel = 0;
  for (int axis = 0; axis < last; ++axis) {
    if ((domain.indexed >> axis & 1) != 0) continue;
    if (axis != parallel) nest.move(axis, parallel);
    ++parallel;
  }
  nest.collapse(parallel, last);
  return nest.collapse(0, parallel);
}

Status emit_scatter_domain(const Kernel& kernel, IndexDomain domain, const View& from, const View& to, Mode mode,
                           Emitter& out) {
  LoopNest& nest = domain.nest;
  if (nest.count(0, nest.rank) == 0) return {};
  if (nest.rank == 0) nest.insert_unit_axis(0);
  const bool serial_inner = (domain.indexed >> (nest.rank - 1) & 1) != 0;
  const int parallel = order_for_scatter(domain);
  const int rank = nest.rank - 1;
  const std::int64_t inner = nest.sizes[at(rank)];
  const std::int64_t serial = nest.count(parallel, rank);
  const std::int64_t chunk =
      std::max<std::int64_t>(task_elements(nest.count(0, nest.rank), 2, *kernel.traits) / serial, 32);
  const std::int64_t inner_tile = serial_inner ? inner : std::min(inner, round_up(chunk, 16));
  out.begin(isa::Opcode::kScatter, rank, nest.count(0, parallel) * ((inner + inner_tile - 1) / inner_tile), inner);
  out.field(mode);
  out.field(rank - parallel);
  out.field(inner_tile);
  for (int axis = 0; axis < rank; ++axis) out.dim(nest.sizes[at(axis)]);
  write_index_streams(domain, to, from, out);
  out.end();
  return {};
}

Mode mode_of(std::string_view reduce) {
  if (reduce == "none") return kReplace;
  if (reduce == "add" || reduce == "mean") return kAdd;
  return reduce == "mul" ? kMultiply : reduce == "min" ? kSmaller : kLarger;
}

DType sum_dtype(DType dtype, std::string_view reduce) {
  if (reduce == "none") return dtype;
  if (dtype == DType::kF16 || dtype == DType::kBF16) return DType::kF32;
  return reduce == "mean" && !is_float(dtype) ? DType::kI64 : dtype;
}

// sums /= counts, both row-major and of the same dtype; integers round down.
void emit_divide(const View& sums, const View& counts, const BackendTraits& traits, Emitter& out) {
  const bool real = is_float(sums.dtype), wide = byte_size(sums.dtype) == 8;
  const isa::Lane lane = real ? (wide ? isa::Lane::kF64 : isa::Lane::kF32) : isa::Lane::kI64;
  using isa::StripOp;
  const StripOp load = real ? (wide ? StripOp::kLoadF64 : StripOp::kLoadF32) : StripOp::kLoadI64;
  const StripOp store = real ? (wide ? StripOp::kStoreF64 : StripOp::kStoreF32) : StripOp::kStoreI64;
  const std::array<isa::Word, 4> code{
      isa::strip_word(load, lane, isa::kUnit, 0),
      isa::strip_word(real ? StripOp::kDiv : StripOp::kFloorDiv, lane, isa::kStripOperand, 1),
      isa::strip_word(store, lane, isa::kUnit, 0), isa::strip_word(StripOp::kEnd, lane)};
  const std::int64_t count = sums.count(), tile = round_up(task_elements(count, 4, traits), kInnerStep);
  if (count == 0) return;
  out.begin(isa::Opcode::kMap, 0, (count + tile - 1) / tile, count);
  out.field(1);
  out.field(tile);
  out.stream(isa::Space::kBuffer, sums.dtype, sums.buffer, sums.offset, byte_size(sums.dtype), {});
  out.stream(isa::Space::kBuffer, counts.dtype, counts.buffer, counts.offset, byte_size(counts.dtype), {});
  out.phase(isa::PhaseOp::kStrip, code);
  out.end();
}

std::int64_t bits_of_one(DType dtype) {
  return dtype == DType::kF32 ? 0x3f800000 : dtype == DType::kF64 ? 0x3ff0000000000000 : 1;
}

// `make(target, updates)` gives the domain: target is the result or its wide temporary, updates the ones to combine.
template <typename MakeDomain>
Status emit_combined(const Kernel& kernel, const View& given, std::string_view reduce, MakeDomain make, Emitter& out) {
  const View& x = kernel.inputs[0];
  const View& result = kernel.outputs[0];
  const DType dtype = sum_dtype(x.dtype, reduce);
  const bool mean = reduce == "mean";
  View updates = given;
  if (dtype != given.dtype) {
    updates = temp_like(given, dtype, kernel);
    TW_TRY(emit_copy(given, updates, *kernel.traits, out));
  }
  const View target = mean || dtype != x.dtype ? temp_like(result, dtype, kernel) : result;
  TW_TRY(emit_copy(x, target, *kernel.traits, out));
  TW_TRY(make(target, updates, mode_of(reduce)));
  if (mean) {
    const View counts = temp_like(result, dtype, kernel);
    View one = updates;
    one.strides = {};
    one.buffer = kernel.temp.arena;
    one.offset = kernel.temp.allocate(kernel.temp.state, byte_size(dtype));
    View single;
    single.dtype = dtype;
    single.buffer = one.buffer;
    single.offset = one.offset;
    TW_TRY(emit_fill(single, bits_of_one(dtype), *kernel.traits, out));
    TW_TRY(emit_fill(counts, bits_of_one(dtype), *kernel.traits, out));
    TW_TRY(make(counts, one, kAdd));
    emit_divide(target, counts, *kernel.traits, out);
  }
  if (mean || dtype != x.dtype) return emit_copy(target, result, *kernel.traits, out);
  return {};
}

}  // namespace

Status emit_index_put(const Kernel& kernel, Emitter& out) {
  const auto given = kernel.attrs->integers("axes");
  std::array<std::int64_t, kMaxTensorRank> kept{};
  std::copy(given.begin(), given.end(), kept.begin());
  const std::span<const std::int64_t> axes(kept.data(), given.size());
  const std::span<const View> indices = kernel.inputs.subspan(2);
  const auto make = [&](const View& target, const View& updates, Mode mode) {
    const View dense = broadcast_to_indexed(updates, target, indices, axes);
    return emit_scatter_domain(kernel, indexed_domain(target, dense, indices, axes), dense, target, mode, out);
  };
  return emit_combined(kernel, kernel.inputs[1], kernel.attrs->integer("accumulate") != 0 ? "add" : "none", make, out);
}

Status emit_scatter_elements(const Kernel& kernel, Emitter& out) {
  const View& index = kernel.inputs[1];
  const auto axis = static_cast<int>(kernel.attrs->integer("axis"));
  const auto make = [&](const View& target, const View& updates, Mode mode) -> Status {
    TW_ASSIGN(const IndexDomain domain, elements_domain(target, updates, index, axis));
    return emit_scatter_domain(kernel, domain, updates, target, mode, out);
  };
  for (int i = 0; i < index.rank; ++i) {
    if (index.sizes[at(i)] == kernel.inputs[2].sizes[at(i)]) continue;
    return fail(ErrorKind::kShapeMismatch, "index and updates differ along axis {}: {} and {}", i, index.sizes[at(i)],
                kernel.inputs[2].sizes[at(i)]);
  }
  return emit_combined(kernel, kernel.inputs[2], kernel.attrs->text("reduce"), make, out);
}

}  // namespace tilewright::compiler
