#include "tilewright/compiler/area_compiler.h"

#include "tilewright/compiler/axis.h"
#include "tilewright/compiler/literals.h"
#include "tilewright/compiler/tiling.h"

namespace tilewright::compiler {

using isa::Space;
using Kind = AreaNode::Kind;

namespace {

// What the element operation costs beside a plain add, for the size of tasks.
bool is_dear(isa::StripOp op) {
  return (op >= isa::StripOp::kExp && op <= isa::StripOp::kSilu && op != isa::StripOp::kRelu) ||
         op == isa::StripOp::kPow;
}

}  // namespace

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
  node_memory_.assign(area.nodes.size(), View{});
  in_memory_.assign(area.nodes.size(), 0);
  output_memory_.assign(call.outputs.begin(), call.outputs.end());
  for (const AreaOutput& output : area.outputs) {
    const auto index = static_cast<std::size_t>(&output - area.outputs.data());
    output_view_.push_back(static_cast<std::int16_t>(nest_.add(call.outputs[index])));
  }
  std::array<std::int64_t, kMaxTensorRank> steps{};
  for (std::size_t i = 0; i < area.nodes.size(); ++i) {
    const AreaNode& node = area.nodes[i];
    if (node.uses == 0) continue;
    if (node.kind == Kind::kInput) {
      node_memory_[i] = call.inputs[node.index];
      node_view_[i] = static_cast<std::int16_t>(nest_.add(node_memory_[i]));
    } else if (node.kind == Kind::kIota) {
      steps.fill(0);
      const int axis = nest_.rank - 1 - static_cast<int>(node.index);
      if (axis >= 0 && call.dims[node.size].integer != 1) steps[at(axis)] = call.dims[node.third].integer;
      node_memory_[i] = {.dtype = DType::kI64, .offset = call.dims[node.second].integer};
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

StreamSpec AreaCompiler::literal(std::uint16_t id, const AreaCall& call) const {
  const DType dtype = dtype_of_lane(call.area->nodes[id].lane);
  return {
      Space::kLiteral, dtype, 0, literal_bits(scalar_number(*call.area, id, *call.program, call.dims), dtype), 0, {}};
}

// Adds the stream of a node that is read from memory, of a literal or an iota, and makes it the node's source.
std::uint16_t AreaCompiler::input_stream(std::uint16_t id, const AreaCall& call, int inner_axis) {
  const AreaNode& node = call.area->nodes[id];
  StripCoder::Source source{.stream = 0, .form = isa::kOne, .memory = dtype_of_lane(node.lane), .lane_value = false};
  if (node.kind == Kind::kScalar) {
    source.stream = coder_.add_stream(literal(id, call));
    coder_.set_source(id, source);
    return source.stream;
  }
  const View& memory = node_memory_[id];
  StreamSpec spec = spec_of(memory, node_view_[id], inner_axis);
  source.memory = memory.dtype;
  if (node.kind == Kind::kIota && in_memory_[id] == 0) {
    spec.space = Space::kIota;
    source.iota = true;
    source.form = spec.inner_stride == 0 ? isa::kOne : isa::kStrided;
  } else {
    source.form = spec.inner_stride == 0                         ? isa::kOne
                  : spec.inner_stride == byte_size(memory.dtype) ? isa::kUnit
                                                                 : isa::kStrided;
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
    const View& view = output_memory_[i];
    const StreamSpec spec = spec_of(view, output_view_[i], inner_axis);
    const bool unit = spec.inner_stride == byte_size(view.dtype) || nest_.sizes[at(inner_axis)] == 1;
    StreamSpec fixed = spec;
    if (unit) fixed.inner_stride = byte_size(view.dtype);
    const std::uint16_t stream = coder_.add_stream(fixed);
    roots_.push_back({StripCoder::Root::Kind::kStore,
                      area.outputs[i].node,
                      stream,
                      view.dtype,
                      static_cast<std::uint8_t>(unit ? isa::kUnit : isa::kStrided),
                      {}});
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

// The elements that a nest view walks, with the sizes of the nest; axes that it does not walk have size 1.
View AreaCompiler::view_of_nest(const View& memory, int nest_view) const {
  View view = memory;
  view.rank = static_cast<std::int8_t>(nest_.rank);
  const std::int64_t bytes = byte_size(memory.dtype);
  for (int axis = 0; axis < nest_.rank; ++axis) {
    view.sizes[at(axis)] = nest_.sizes[at(axis)];
    view.strides[at(axis)] = nest_.strides[at(nest_view)][at(axis)] / bytes;
  }
  return view;
}

View AreaCompiler::temp_like(const View& view, int nest_view, int first, const AreaCall& call) {
  View copy = view;
  std::int64_t stride = 1;
  for (int axis = copy.rank - 1; axis >= 0; --axis) {
    if (axis < first && view.strides[at(axis)] == 0) copy.sizes[at(axis)] = 1;
    copy.strides[at(axis)] = copy.sizes[at(axis)] == 1 && axis < first ? 0 : stride;
    nest_.strides[at(nest_view)][at(axis)] = copy.strides[at(axis)] * byte_size(view.dtype);
    stride *= copy.sizes[at(axis)];
  }
  copy.buffer = call.temp.arena;
  copy.offset = call.temp.allocate(call.temp.state, stride * byte_size(view.dtype));
  return copy;
}

void AreaCompiler::materialise(std::uint16_t id, int first, const AreaCall& call, Emitter& out) {
  const int nest_view = node_view_[id];
  const bool iota = call.area->nodes[id].kind == Kind::kIota && in_memory_[id] == 0;
  View from = view_of_nest(node_memory_[id], nest_view);
  std::array<std::int64_t, kMaxTensorRank> steps{};
  if (iota) {  // its nest strides are steps
    for (int axis = 0; axis < nest_.rank; ++axis)
      steps[at(axis)] = from.strides[at(axis)] = nest_.strides[at(nest_view)][at(axis)];
  }
  const View copy = temp_like(from, nest_view, first, call);
  if (iota) {
    emit_iota(from.offset, {steps.data(), at(nest_.rank)}, copy, *call.traits, out);
    in_memory_[id] = 1;
  } else {
    from.sizes = copy.sizes;
    const Status copied = emit_copy(from, copy, *call.traits, out);
    TW_CHECK(copied.ok(), "a copy can always be encoded");
  }
  node_memory_[id] = copy;
}

}  // namespace tilewright::compiler
