// Reductions of rows that are too long for one task: parts of a row are reduced by tasks of their own into temporary
// memory, then the parts as a short row. Where a row is cut depends on its length alone, so that its result does not
// depend on the rows beside it or on the number of threads.
#include "tilewright/compiler/area_compiler.h"
#include "tilewright/compiler/axis.h"
#include "tilewright/compiler/tiling.h"

namespace tilewright::compiler {

using isa::Space;
using Kind = AreaNode::Kind;
using Root = StripCoder::Root;

namespace {
constexpr std::int64_t kPart = kTaskElements;
}  // namespace

// Everything after one pass over the elements is about rows.
bool AreaCompiler::reduces_in_parts(const Area& area, int axis) const {
  if (area.max_level != 1 || nest_.sizes[at(axis)] < 2 * kPart || nest_.rank >= kMaxTensorRank) return false;
  for (const AreaNode& node : area.nodes) {
    if (node.kind == Kind::kRowOp) return false;
  }
  for (const AreaOutput& output : area.outputs) {
    if (!output.row) return false;
  }
  return true;
}

// Reduces parts of the rows along `axis`; partials_ has a stream per reduction, its rows as long as the number
// returned.
std::int64_t AreaCompiler::emit_parts(const AreaCall& call, int axis, Emitter& out) {
  const std::int64_t length = nest_.sizes[at(axis)], whole = length / kPart, rest = length % kPart;
  const std::int64_t parts = whole + (rest > 0 ? 1 : 0);
  partials_.clear();
  for (const AreaNode& node : call.area->nodes) {
    if (node.kind != Kind::kReduce) continue;
    const DType dtype =
        node.is_mask ? dtype_of_lane(lane_of(DType::kBool, call.area->lane_width)) : dtype_of_lane(node.lane);
    StreamSpec spec{Space::kBuffer, dtype, call.temp.arena, 0, byte_size(dtype), {}};
    std::int64_t stride = parts * byte_size(dtype);
    for (int outer = axis - 1; outer >= 0; --outer) {
      spec.strides[at(outer)] = stride;
      stride *= nest_.sizes[at(outer)];
    }
    spec.offset = call.temp.allocate(call.temp.state, stride);
    partials_.push_back(spec);
  }
  const LoopNest rows = nest_;
  nest_.split(axis, kPart);
  emit_part_rows(call, axis + 1, 0, out);
  nest_ = rows;
  if (rest > 0) {
    nest_.sizes[at(axis)] = rest;
    shift_inputs(axis, whole * kPart);
    emit_part_rows(call, axis, whole, out);
    shift_inputs(axis, -whole * kPart);
  }
  nest_ = rows;
  return parts;
}

// Moves every input by a number of positions along an axis. The offset of an iota is its start.
void AreaCompiler::shift_inputs(int axis, std::int64_t positions) {
  for (std::size_t i = 0; i < node_view_.size(); ++i) {
    if (node_view_[i] >= 0) node_memory_[i].offset += positions * nest_.strides[at(node_view_[i])][at(axis)];
  }
}

// One instruction whose rows are the parts from `first` on: the axis before the inner one, or no axis if there is one
// part.
void AreaCompiler::emit_part_rows(const AreaCall& call, int inner_axis, std::int64_t first, Emitter& out) {
  const Area& area = *call.area;
  coder_.reset(area, static_cast<std::int64_t>(partials_.size()) * isa::kSlotBytes);
  set_input_sources(call, inner_axis);
  const auto targets = static_cast<std::int64_t>(coder_.streams().size());
  for (StreamSpec spec : partials_) {
    spec.offset += first * spec.inner_stride;
    if (first == 0) spec.strides[at(inner_axis - 1)] = spec.inner_stride;
    coder_.add_stream(spec);
  }
  roots_.clear();
  std::int64_t number = 0;
  for (const AreaNode& node : area.nodes) {
    if (node.kind != Kind::kReduce) continue;
    const std::int64_t target = static_cast<std::int64_t>(node.reduce) << 32 | (targets + number);
    const std::uint16_t stream = coder_.add_stream({Space::kAccumulator,
                                                    partials_[static_cast<std::size_t>(number)].dtype,
                                                    0,
                                                    number * isa::kSlotBytes,
                                                    target,
                                                    {}});
    roots_.push_back({Root::Kind::kAccumulate, node.a, stream, DType::kF32, isa::kUnit, node.reduce});
    ++number;
  }
  code_.clear();
  coder_.write(roots_, code_);
  out.need_scratch(number * isa::kSlotBytes + coder_.slot_bytes());
  out.begin(isa::Opcode::kRows, inner_axis, nest_.count(0, inner_axis), nest_.sizes[at(inner_axis)]);
  out.field(1);
  for (int axis = 0; axis < inner_axis; ++axis) out.dim(nest_.sizes[at(axis)]);
  write_streams(out, inner_axis);
  out.phase(isa::PhaseOp::kStrip, code_, {roots_[0].stream, static_cast<std::uint16_t>(number), 0, 0, 0, 0});
  out.end();
}

}  // namespace tilewright::compiler
