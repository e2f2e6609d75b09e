// Contraction areas: a matmul whose epilogue is a strip program on each finished block.
#include "tilewright/compiler/area_compiler.h"
#include "tilewright/compiler/axis.h"
#include "tilewright/compiler/matmul_tiles.h"

namespace tilewright::compiler {

using isa::Space;
using Kind = AreaNode::Kind;
using Root = StripCoder::Root;

namespace {

constexpr int kLhs = 0, kRhs = 1, kResult = 2;  // nest views, in this order

}  // namespace

Status AreaCompiler::emit_contraction(const AreaCall& call, Emitter& out) {
  const Area& area = *call.area;
  start(call);
  if (nest_.count(0, nest_.rank) == 0) return {};
  const View lhs = operand(call.inputs[area.lhs], call, out), rhs = operand(call.inputs[area.rhs], call, out);
  const std::int64_t k = lhs.sizes[at(lhs.rank - 1)];
  // Domain axes are batch.., m, n. For a: no step along n. For b: its k stride stands in the place of m.
  nest_.add(lhs);
  nest_.strides[kLhs][at(nest_.rank - 1)] = 0;
  nest_.add(rhs);
  nest_.strides[kRhs][at(nest_.rank - 2)] = 0;
  const std::int64_t b_bytes = byte_size(rhs.dtype);
  const std::int64_t a_k_stride = lhs.strides[at(lhs.rank - 1)] * byte_size(lhs.dtype);
  const std::int64_t b_k_stride = rhs.strides[at(rhs.rank - 2)] * b_bytes;
  TW_CHECK(nest_.num_views == kResult, "the operands stand first");
  add_views(call);
  const int m_axis = nest_.collapse_rows(kRhs);
  const int n_axis = m_axis + 1;
  const std::int64_t m = nest_.sizes[at(m_axis)], n = nest_.sizes[at(n_axis)];
  const std::int64_t batch = nest_.count(0, m_axis);
  coder_.reset(area, 0);
  StreamSpec a = spec_of(lhs, kLhs, n_axis);
  a.inner_stride = a_k_stride;
  StreamSpec b = spec_of(rhs, kRhs, n_axis);
  b.strides[at(m_axis)] = b_k_stride;
  coder_.add_stream(a);
  coder_.add_stream(b);
  const View& result = call.outputs[0];
  const bool plain = area.nodes[area.outputs[0].node].kind == Kind::kTile && area.outputs.size() == 1 &&
                     result.dtype == DType::kF32 &&
                     (nest_.strides[kResult][at(n_axis)] == byte_size(result.dtype) || n == 1);
  code_.clear();
  if (plain) {
    StreamSpec c = spec_of(result, kResult, n_axis);
    c.inner_stride = byte_size(result.dtype);
    coder_.add_stream(c);
  } else {
    write_epilogue(call, n_axis, n);
  }
  const MatMulTiles tiles = choose_matmul_tiles(batch, m, n, k, *call.traits);
  out.need_scratch(coder_.slot_bytes());
  out.begin(isa::Opcode::kMatMul, n_axis, batch * ((m + tiles.m - 1) / tiles.m) * ((n + tiles.n - 1) / tiles.n), n);
  for (std::int64_t field : {k, tiles.m, tiles.n, k_block_of(k), call.packed_panel}) out.field(field);
  for (int axis = 0; axis < n_axis; ++axis) out.dim(nest_.sizes[at(axis)]);
  write_streams(out, n_axis);
  if (!plain) out.phase(isa::PhaseOp::kStrip, code_);
  out.end();
  return {};
}

View AreaCompiler::operand(const View& view, const AreaCall& call, Emitter& out) const {
  if (view.dtype == DType::kF32) return view;
  View copy = view;
  copy.dtype = DType::kF32;
  std::int64_t count = 1;
  for (int axis = view.rank - 1; axis >= 0; --axis) {  // an expanded axis is not multiplied
    const bool expanded = view.strides[at(axis)] == 0 && axis < view.rank - 2;
    copy.strides[at(axis)] = expanded ? 0 : count;
    count *= expanded ? 1 : view.sizes[at(axis)];
  }
  copy.buffer = call.temp.arena;
  copy.offset = call.temp.allocate(call.temp.state, count * byte_size(copy.dtype));
  View from = view, to = copy;
  for (int axis = 0; axis < view.rank; ++axis) {
    if (to.strides[at(axis)] == 0 && to.sizes[at(axis)] > 1) from.sizes[at(axis)] = to.sizes[at(axis)] = 1;
  }
  const Status copied = emit_copy(from, to, *call.traits, out);
  TW_CHECK(copied.ok(), "a copy can always be encoded");
  return copy;
}

void AreaCompiler::write_epilogue(const AreaCall& call, int n_axis, std::int64_t n) {
  const Area& area = *call.area;
  const std::uint16_t tile = coder_.add_stream({Space::kTile, DType::kF32, 0, 0, 4, {}});
  for (std::size_t i = 0; i < area.nodes.size(); ++i) {
    if (area.nodes[i].kind == Kind::kTile) {
      coder_.set_source(static_cast<std::uint16_t>(i), {tile, isa::kUnit, DType::kF32, true});
    }
  }
  set_input_sources(call, n_axis);
  roots_.clear();
  for (std::size_t i = 0; i < area.outputs.size(); ++i) {
    const View& view = call.outputs[i];
    StreamSpec spec = spec_of(view, output_view_[i], n_axis);
    if (n == 1) spec.inner_stride = byte_size(view.dtype);
    const bool unit = spec.inner_stride == byte_size(view.dtype);
    roots_.push_back({Root::Kind::kStore,
                      area.outputs[i].node,
                      coder_.add_stream(spec),
                      view.dtype,
                      static_cast<std::uint8_t>(unit ? isa::kUnit : isa::kStrided),
                      {}});
  }
  coder_.write(roots_, code_);
}

}  // namespace tilewright::compiler
