#include "tilewright/compiler/area_compiler.h"

#include <bit>
#include <cstring>

#include "tilewright/compiler/tiling.h"

namespace tilewright::compiler {

using isa::Space;
using Kind = AreaNode::Kind;

namespace {

std::size_t at(int i) { return static_cast<std::size_t>(i); }

template <typename T>
std::int64_t bits_of(T value) {
  std::int64_t bits = 0;
  std::memcpy(&bits, &value, sizeof value);
  return bits;
}

// What the element operation costs beside a plain add, for the size of tasks.
bool is_dear(isa::StripOp op) {
  return (op >= isa::StripOp::kExp && op <= isa::StripOp::kSilu && op != isa::StripOp::kRelu) || op == isa::StripOp::kPow;
}

}  // namespace

std::int64_t literal_bits(DimValue value, bool is_real, DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return bits_of(is_real ? static_cast<float>(value.real) : static_cast<float>(value.integer));
    case DType::kF64:
      return bits_of(is_real ? value.real : static_cast<double>(value.integer));
    case DType::kI32: {
      const auto number = is_real ? static_cast<std::int64_t>(value.real) : value.integer;
      return bits_of(static_cast<std::int32_t>(static_cast<std::uint64_t>(number)));
    }
    default:
      return is_real ? static_cast<std::int64_t>(value.real) : value.integer;
  }
}

Status AreaCompiler::emit(const AreaCall& call, Emitter& out) {
  switch (call.area->kind) {
    case Area::Kind::kMap:
      return emit_map(call, out);
    case Area::Kind::kRows:
      return emit_rows(call, out);
    case Area::Kind::kColumns:
      return emit_columns(call, out);
    case Area::Kind::kContraction:
      return emit_contraction(call, out);
  }
  __builtin_unreachable();
}

void AreaCompiler::start(const AreaCall& call) {
  const Area& area = *call.area;
  nest_.rank = static_cast<int>(area.domain.size());
  nest_.num_views = 0;
  for (int axis = 0; axis < nest_.rank; ++axis) nest_.sizes[at(axis)] = call.dims[area.domain[at(axis)]].integer;
}

void AreaCompiler::add_views(const AreaCall& call) {
  const Area& area = *call.area;
  node_view_.assign(area.nodes.size(), -1);
  output_view_.clear();
  for (const AreaOutput& output : area.outputs) {
    const auto index = static_cast<std::size_t>(&output - area.outputs.data());
    output_view_.push_back(static_cast<std::int16_t>(nest_.add(call.outputs[index])));
  }
  std::array<std::int64_t, kMaxTensorRank> steps{};
  for (std::size_t i = 0; i < area.nodes.size(); ++i) {
    const AreaNode& node = area.nodes[i];
    if (node.uses == 0) continue;
    if (node.kind == Kind::kInput) {
      node_view_[i] = static_cast<std::int16_t>(nest_.add(call.inputs[node.index]));
    } else if (node.kind == Kind::kIota) {
      steps.fill(0);
      const int axis = nest_.rank - 1 - static_cast<int>(node.index);
      if (axis >= 0) steps[at(axis)] = call.dims[node.third].integer;
      node_view_[i] = static_cast<std::int16_t>(nest_.add_strides(steps));
    }
  }
}

StreamSpec AreaCompiler::spec_of(const View& view, int nest_view, int inner_axis) const {
  StreamSpec spec{Space::kBuffer, view.dtype, view.buffer, view.offset, 0, {}};
  const auto& strides = nest_.strides[at(nest_view)];
  int outer = 0;
  for (int axis = 0; axis < nest_.rank; ++axis) {
    if (axis == inner_axis) {
      spec.inner_stride = strides[at(axis)];
    } else {
      spec.strides[at(outer++)] = strides[at(axis)];
    }
  }
  return spec;
}

StreamSpec AreaCompiler::literal(const AreaNode& node, const AreaCall& call) const {
  const DType dtype = dtype_of_lane(node.lane);
  const bool is_real = call.program->dim(node.index).is_float();
  return {Space::kLiteral, dtype, 0, literal_bits(call.dims[node.index], is_real, dtype), 0, {}};
}

// Adds the stream of a node that is read from memory, of a literal or an iota, and makes it the node's source.
std::uint16_t AreaCompiler::input_stream(std::uint16_t id, const AreaCall& call, int inner_axis) {
  const AreaNode& node = call.area->nodes[id];
  StripCoder::Source source{.stream = 0, .form = isa::kOne, .memory = dtype_of_lane(node.lane), .lane_value = false};
  if (node.kind == Kind::kScalar) {
    source.stream = coder_.add_stream(literal(node, call));
    coder_.set_source(id, source);
    return source.stream;
  }
  StreamSpec spec;
  if (node.kind == Kind::kIota) {
    const View start{.dtype = DType::kI64, .offset = call.dims[node.second].integer};
    spec = spec_of(start, node_view_[id], inner_axis);
    spec.space = Space::kIota;
    source.form = spec.inner_stride == 0 ? isa::kOne : isa::kStrided;
    source.memory = DType::kI64;
  } else {
    const View& view = call.inputs[node.index];
    spec = spec_of(view, node_view_[id], inner_axis);
    source.memory = view.dtype;
    source.form = spec.inner_stride == 0 ? isa::kOne : spec.inner_stride == byte_size(view.dtype) ? isa::kUnit : isa::kStrided;
  }
  source.stream = coder_.add_stream(spec);
  coder_.set_source(id, source);
  return source.stream;
}

void AreaCompiler::set_input_sources(const AreaCall& call, int inner_axis) {
  for (std::size_t i = 0; i < call.area->nodes.size(); ++i) {
    const AreaNode& node = call.area->nodes[i];
    const bool source = node.kind == Kind::kInput || node.kind == Kind::kScalar || node.kind == Kind::kIota;
    if (source && node.uses > 0) input_stream(static_cast<std::uint16_t>(i), call, inner_axis);
  }
}

void AreaCompiler::write_streams(Emitter& out, int rank) const {
  for (const StreamSpec& spec : coder_.streams()) {
    out.stream(spec.space, spec.dtype, spec.buffer, spec.offset, spec.inner_stride,
               {spec.strides.data(), static_cast<std::size_t>(rank)});
  }
}

std::int64_t AreaCompiler::element_cost(const Area& area) const {
  std::int64_t cost = 1;
  for (const AreaNode& node : area.nodes) cost += node.kind == Kind::kStrip && is_dear(node.op) ? 4 : 0;
  return cost;
}

Status AreaCompiler::emit_map(const AreaCall& call, Emitter& out) {
  const Area& area = *call.area;
  start(call);
  if (nest_.count(0, nest_.rank) == 0) return {};
  add_views(call);
  nest_.collapse(0, nest_.rank);
  nest_.order_by_stride(0);
  nest_.collapse(0, nest_.rank);
  if (nest_.rank == 0) nest_.insert_unit_axis(0);
  const int inner_axis = nest_.rank - 1;
  coder_.reset(area, 0);
  set_input_sources(call, inner_axis);
  roots_.clear();
  const std::int64_t cost = element_cost(area);
  for (std::size_t i = 0; i < area.outputs.size(); ++i) {
    const View& view = call.outputs[i];
    const StreamSpec spec = spec_of(view, output_view_[i], inner_axis);
    const bool unit = spec.inner_stride == byte_size(view.dtype) || nest_.sizes[at(inner_axis)] == 1;
    StreamSpec fixed = spec;
    if (unit) fixed.inner_stride = byte_size(view.dtype);
    const std::uint16_t stream = coder_.add_stream(fixed);
    roots_.push_back({StripCoder::Root::Kind::kStore, area.outputs[i].node, stream, view.dtype,
                      static_cast<std::uint8_t>(unit ? isa::kUnit : isa::kStrided), {}});
  }
  code_.clear();
  coder_.write(roots_, code_);
  const int rank = inner_axis;
  const std::int64_t inner = nest_.sizes[at(inner_axis)];
  const std::int64_t rows = rank > 0 ? nest_.sizes[at(rank - 1)] : 1;
  const std::int64_t others = nest_.count(0, std::max(rank - 1, 0));
  const std::int64_t chunk = task_elements(rows * inner * others, cost, *call.traits);
  const std::int64_t inner_tile = inner <= chunk ? inner : round_up(chunk, kInnerStep);
  const std::int64_t row_tile = inner_tile < inner ? 1 : std::clamp<std::int64_t>(chunk / inner, 1, rows);
  const std::int64_t tasks = others * ((rows + row_tile - 1) / row_tile) * ((inner + inner_tile - 1) / inner_tile);
  out.need_scratch(coder_.slot_bytes());
  out.begin(isa::Opcode::kMap, rank, tasks, inner);
  out.field(row_tile);
  out.field(inner_tile);
  for (int axis = 0; axis < rank; ++axis) out.dim(nest_.sizes[at(axis)]);
  write_streams(out, rank);
  out.phase(isa::PhaseOp::kStrip, code_);
  out.end();
  return {};
}

View AreaCompiler::copy_to_temp(const View& view, const AreaCall& call, Emitter& out) {
  View copy = view;
  copy.buffer = call.temp.arena;
  copy.offset = call.temp.allocate(call.temp.state, view.count() * byte_size(view.dtype));
  std::int64_t stride = 1;
  for (int axis = view.rank - 1; axis >= 0; --axis) {
    copy.strides[at(axis)] = stride;
    stride *= view.sizes[at(axis)];
  }
  const Status copied = emit_copy(view, copy, *call.traits, out);
  TW_CHECK(copied.ok(), "a copy can always be encoded");
  return copy;
}

}  // namespace tilewright::compiler
