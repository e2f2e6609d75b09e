// Column areas: reductions over axes that are not the last. The elements of the inner dim are reduced side by side,
// then a second strip phase finishes the kept positions. Where few positions are kept, parts of the reduced axis are
// reduced by tasks of their own, then the parts. Where it is cut depends on the sizes alone, so results do not depend
// on the number of threads.
#include "tilewright/compiler/area_compiler.h"
#include "tilewright/compiler/axis.h"
#include "tilewright/compiler/tiling.h"

namespace tilewright::compiler {

using isa::Space;
using Kind = AreaNode::Kind;
using Root = StripCoder::Root;

namespace {
constexpr std::int64_t kColumnTile = 1024;
constexpr std::int64_t kFewTasks = 8;  // fewer leave threads idle

// How many positions of the first reduced axis (of `size`, with `below` elements each) are reduced by one task; 0: all.
std::int64_t part_of(std::int64_t kept, std::int64_t inner, std::int64_t size, std::int64_t below) {
  const std::int64_t tasks = kept * ((inner + kInnerStep - 1) / kInnerStep);
  const std::int64_t elements = std::max<std::int64_t>(below, 1);
  const std::int64_t part = (kTaskElements + elements - 1) / elements;
  return tasks < kFewTasks && size >= 4 * part ? part : 0;
}
}  // namespace

Status AreaCompiler::emit_columns(const AreaCall& call, Emitter& out) {
  const Area& area = *call.area;
  start(call);
  const int rank = nest_.rank;
  if (nest_.count(0, area.reduced_begin) * nest_.count(area.reduced_end, rank) == 0) return {};
  add_views(call);
  // Axes become: kept before | kept after, but the innermost | reduced | innermost kept.
  const int kept_before = nest_.collapse(0, area.reduced_begin);
  int reduced_end = kept_before + (area.reduced_end - area.reduced_begin);
  reduced_end = nest_.collapse(kept_before, reduced_end);
  nest_.collapse(reduced_end, nest_.rank);
  if (nest_.rank == reduced_end) nest_.insert_unit_axis(reduced_end);
  const int moved = nest_.rank - 1 - reduced_end;
  for (int i = 0; i < moved; ++i) nest_.move(reduced_end + i, kept_before + i);
  int reduced = reduced_end - kept_before;
  if (reduced == 0) {
    nest_.insert_unit_axis(kept_before + moved);
    reduced = 1;
  }
  const int inner_axis = nest_.rank - 1, first = inner_axis - reduced;
  const std::int64_t part = nest_.rank >= kMaxTensorRank
                                ? 0
                                : part_of(nest_.count(0, first), nest_.sizes[at(inner_axis)], nest_.sizes[at(first)],
                                          nest_.count(first + 1, nest_.rank));
  if (part > 0) emit_column_parts(call, first, part, out);
  write_columns(call, part > 0 ? nest_.rank - 1 - first : reduced, part > 0 ? Columns::kOfParts : Columns::kWhole, 0,
                out);
  return {};
}

// Reduces parts of axis `first` into partials_. Afterwards the nest has the parts in its place, and the other reduced
// axes have the size 1.
void AreaCompiler::emit_column_parts(const AreaCall& call, int first, std::int64_t part, Emitter& out) {
  const std::int64_t size = nest_.sizes[at(first)], whole = size / part, rest = size % part;
  const std::int64_t parts = whole + (rest > 0 ? 1 : 0);
  partials_.clear();
  for (const AreaNode& node : call.area->nodes) {
    if (node.kind != Kind::kReduce) continue;
    const DType dtype = accumulator_dtype(node, *call.area);
    StreamSpec spec{Space::kBuffer, dtype, call.temp.arena, 0, byte_size(dtype), {}};
    std::int64_t stride = nest_.sizes[at(nest_.rank - 1)] * byte_size(dtype);
    spec.strides[at(first)] = stride;
    stride *= parts;
    for (int axis = first - 1; axis >= 0; --axis) {
      spec.strides[at(axis)] = stride;
      stride *= nest_.sizes[at(axis)];
    }
    spec.offset = call.temp.allocate(call.temp.state, stride);
    partials_.push_back(spec);
  }
  if (rest > 0) {
    nest_.sizes[at(first)] = rest;
    shift_inputs(first, whole * part);
    write_columns(call, nest_.rank - 1 - first, Columns::kPart, whole, out);
    shift_inputs(first, -whole * part);
    nest_.sizes[at(first)] = size;
  }
  nest_.split(first, part);
  write_columns(call, nest_.rank - 2 - first, Columns::kParts, 0, out);
  nest_.sizes[at(first)] = parts;
  for (int axis = first + 1; axis + 1 < nest_.rank; ++axis) nest_.sizes[at(axis)] = 1;
}

DType AreaCompiler::accumulator_dtype(const AreaNode& node, const Area& area) const {
  return node.is_mask ? dtype_of_lane(lane_of(DType::kBool, area.lane_width)) : dtype_of_lane(node.lane);
}

// Streams of the partial results, from part `first_part` on. Where one part is reduced, no axis counts them.
std::uint16_t AreaCompiler::add_partials(Columns what, int reduced, std::int64_t first_part) {
  const auto first = static_cast<std::uint16_t>(coder_.streams().size());
  const int first_reduced = nest_.rank - 1 - reduced;
  for (StreamSpec spec : partials_) {
    if (what == Columns::kPart) {
      spec.offset += first_part * spec.strides[at(first_reduced)];
      spec.strides[at(first_reduced)] = 0;
    }
    coder_.add_stream(spec);
  }
  return first;
}

// The first phase: accumulates the elements, or partial results.
void AreaCompiler::write_accumulation(const Area& area, Columns what, std::uint16_t first, std::uint16_t partials) {
  roots_.clear();
  std::uint16_t number = 0;
  for (const AreaNode& node : area.nodes) {
    if (node.kind != Kind::kReduce) continue;
    const auto stream = static_cast<std::uint16_t>(first + number);
    roots_.push_back({Root::Kind::kAccumulate, node.a, stream, DType::kF32, isa::kUnit, node.reduce});
    if (what == Columns::kOfParts) {
      const DType dtype = accumulator_dtype(node, area);
      const isa::Lane lane = lane_of(dtype, area.lane_width);
      code_.push_back(isa::strip_word(load_op(dtype), lane, isa::kUnit, static_cast<std::uint16_t>(partials + number)));
      code_.push_back(isa::strip_word(accumulate_op(node.reduce), lane, 0, stream));
    }
    ++number;
  }
  if (what == Columns::kOfParts) {
    code_.push_back(isa::strip_word(isa::StripOp::kEnd, area.lane_width == 8 ? isa::Lane::kF64 : isa::Lane::kF32));
  } else {
    coder_.write(roots_, code_);
  }
}

// The roots of the second phase: partial results, or what is computed from the whole ones.
void AreaCompiler::add_column_results(const Area& area, Columns what, int inner_axis, std::uint16_t partials) {
  roots_.clear();
  if (what == Columns::kPart || what == Columns::kParts) {
    std::uint16_t number = 0;
    for (std::size_t i = 0; i < area.nodes.size(); ++i) {
      if (area.nodes[i].kind != Kind::kReduce) continue;
      roots_.push_back({Root::Kind::kStoreLanes,
                        static_cast<std::uint16_t>(i),
                        static_cast<std::uint16_t>(partials + number++),
                        DType::kF32,
                        isa::kUnit,
                        {}});
    }
    return;
  }
  for (std::size_t i = 0; i < area.outputs.size(); ++i) {
    const View& view = output_memory_[i];
    StreamSpec spec = spec_of(view, output_view_[i], inner_axis);
    if (nest_.sizes[at(inner_axis)] == 1) spec.inner_stride = byte_size(view.dtype);
    const bool unit = spec.inner_stride == byte_size(view.dtype);
    roots_.push_back({Root::Kind::kStore,
                      area.outputs[i].node,
                      coder_.add_stream(spec),
                      view.dtype,
                      static_cast<std::uint8_t>(unit ? isa::kUnit : isa::kStrided),
                      {}});
  }
}

// One instruction over the nest, whose last axes are `reduced` reduced ones and the inner one.
void AreaCompiler::write_columns(const AreaCall& call, int reduced, Columns what, std::int64_t first_part,
                                 Emitter& out) {
  const Area& area = *call.area;
  const int inner_axis = nest_.rank - 1;
  const std::int64_t inner = nest_.sizes[at(inner_axis)];
  const std::int64_t kept = nest_.count(0, inner_axis - reduced);
  const std::int64_t depth = std::max<std::int64_t>(nest_.count(inner_axis - reduced, inner_axis), 1);
  std::int64_t inner_tile = std::min(inner, kColumnTile);
  const std::int64_t threads = call.traits->threads;
  if (threads > 1 && kept < threads * 4 && depth * inner > kTaskElements) {
    inner_tile = std::clamp<std::int64_t>(round_up(inner / (threads * 4), kInnerStep), kInnerStep, inner_tile);
    if (inner_tile > inner) inner_tile = inner;
  }
  const std::int64_t accumulator_bytes = round_up(std::max<std::int64_t>(inner_tile, 1) * area.lane_width, 64);
  std::int64_t accumulators = 0;
  for (const AreaNode& node : area.nodes) accumulators += node.kind == Kind::kReduce;
  coder_.reset(area, accumulators * accumulator_bytes);
  set_input_sources(call, inner_axis);
  const std::uint16_t partials = what == Columns::kWhole ? std::uint16_t{0} : add_partials(what, reduced, first_part);
  const auto first = static_cast<std::uint16_t>(coder_.streams().size());
  std::uint16_t number = 0;
  for (const AreaNode& node : area.nodes) {
    if (node.kind != Kind::kReduce) continue;
    const auto kind = static_cast<std::int64_t>(node.reduce) << 32;
    coder_.add_stream({Space::kAccumulator, accumulator_dtype(node, area), 0, number++ * accumulator_bytes, kind, {}});
  }
  code_.clear();
  write_accumulation(area, what, first, partials);
  const std::size_t border = code_.size();

  std::int64_t offset = 0;
  for (std::size_t i = 0; i < area.nodes.size(); ++i) {
    const AreaNode& node = area.nodes[i];
    if (node.kind != Kind::kReduce) continue;
    const DType dtype = accumulator_dtype(node, area);
    const std::uint16_t stream = coder_.add_stream({Space::kScratch, dtype, 0, offset, byte_size(dtype), {}});
    coder_.set_source(static_cast<std::uint16_t>(i), {stream, isa::kUnit, dtype, true});
    offset += accumulator_bytes;
  }
  add_column_results(area, what, inner_axis, partials);
  coder_.write(roots_, code_);

  out.need_scratch(accumulators * accumulator_bytes + coder_.slot_bytes());
  out.begin(isa::Opcode::kColumns, inner_axis, kept * ((inner + inner_tile - 1) / inner_tile), inner);
  out.field(reduced);
  out.field(inner_tile);
  for (int axis = 0; axis < inner_axis; ++axis) out.dim(nest_.sizes[at(axis)]);
  write_streams(out, inner_axis);
  const auto code = std::span<const isa::Word>(code_);
  out.phase(isa::PhaseOp::kStrip, code.first(border), {first, number, 0, 0, 0, 0});
  out.phase(isa::PhaseOp::kStrip, code.subspan(border));
  out.end();
}

}  // namespace tilewright::compiler
