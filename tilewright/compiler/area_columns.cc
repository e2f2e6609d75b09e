// Column areas: reductions over axes that are not the last. The elements of the inner dim are reduced side by side,
// then a second strip phase finishes the kept positions.
#include "tilewright/compiler/area_compiler.h"
#include "tilewright/compiler/axis.h"
#include "tilewright/compiler/tiling.h"

namespace tilewright::compiler {

using isa::Space;
using Kind = AreaNode::Kind;
using Root = StripCoder::Root;

namespace {
constexpr std::int64_t kColumnTile = 1024;
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

  roots_.clear();
  std::uint16_t first = 0, number = 0;
  for (const AreaNode& node : area.nodes) {
    if (node.kind != Kind::kReduce) continue;
    const DType dtype = node.is_mask ? dtype_of_lane(lane_of(DType::kBool, area.lane_width)) : dtype_of_lane(node.lane);
    const std::uint16_t stream = coder_.add_stream(
        {Space::kAccumulator, dtype, 0, number * accumulator_bytes, static_cast<std::int64_t>(node.reduce) << 32, {}});
    if (number++ == 0) first = stream;
    roots_.push_back({Root::Kind::kAccumulate, node.a, stream, DType::kF32, isa::kUnit, node.reduce});
  }
  code_.clear();
  coder_.write(roots_, code_);
  const std::size_t border = code_.size();

  std::int64_t offset = 0;
  for (std::size_t i = 0; i < area.nodes.size(); ++i) {
    const AreaNode& node = area.nodes[i];
    if (node.kind != Kind::kReduce) continue;
    const DType dtype = node.is_mask ? dtype_of_lane(lane_of(DType::kBool, area.lane_width)) : dtype_of_lane(node.lane);
    const std::uint16_t stream = coder_.add_stream({Space::kScratch, dtype, 0, offset, byte_size(dtype), {}});
    coder_.set_source(static_cast<std::uint16_t>(i), {stream, isa::kUnit, dtype, true});
    offset += accumulator_bytes;
  }
  roots_.clear();
  for (std::size_t i = 0; i < area.outputs.size(); ++i) {
    const View& view = output_memory_[i];
    StreamSpec spec = spec_of(view, output_view_[i], inner_axis);
    if (inner == 1) spec.inner_stride = byte_size(view.dtype);
    const bool unit = spec.inner_stride == byte_size(view.dtype);
    roots_.push_back({Root::Kind::kStore,
                      area.outputs[i].node,
                      coder_.add_stream(spec),
                      view.dtype,
                      static_cast<std::uint8_t>(unit ? isa::kUnit : isa::kStrided),
                      {}});
  }
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
  return {};
}

}  // namespace tilewright::compiler
