// Contraction areas: a matrix product whose epilogue is a strip program on each finished block. Bytes and bf16 are
// products of narrow elements (dot), the rest is matmul in f32.
#include "tilewright/compiler/area_compiler.h"
#include "tilewright/compiler/axis.h"
#include "tilewright/compiler/kernels.h"
#include "tilewright/compiler/matmul_tiles.h"
#include "tilewright/isa/panels.h"

namespace tilewright::compiler {

using isa::Space;
using Kind = AreaNode::Kind;
using Root = StripCoder::Root;

namespace {

constexpr int kLhs = 0, kRhs = 1, kLhsZero = 2, kRhsZero = 3;  // nest views, in this order

// Products of narrow elements have their own instruction.
bool is_narrow(const View& lhs, const View& rhs) {
  return byte_size(lhs.dtype) == 1 || (lhs.dtype == DType::kBF16 && rhs.dtype == DType::kBF16);
}

}  // namespace

Status AreaCompiler::emit_contraction(const AreaCall& call, Emitter& out) {
  const Area& area = *call.area;
  if (area.block != 0) return emit_block_contraction(call, out);
  start(call);
  if (nest_.count(0, nest_.rank) == 0) return {};
  const View& lhs = call.inputs[area.lhs];
  const bool narrow = is_narrow(lhs, call.inputs[area.rhs]);
  std::int64_t panel = call.packed_panel;
  View rhs = call.inputs[area.rhs];
  if (narrow && panel == 0 && lhs.sizes[at(lhs.rank - 2)] > 2 * call.traits->matmul_rows) {
    panel = call.traits->matmul_panel;
    rhs = packed_once(rhs, call, out);
  }
  const DType sums = byte_size(lhs.dtype) == 1 ? DType::kI32 : DType::kF32;
  const std::int64_t k = lhs.sizes[at(lhs.rank - 1)];
  // Domain axes are batch.., m, n. For a: no step along n. For b: its k stride stands in the place of m.
  nest_.add(lhs);
  nest_.strides[kLhs][at(nest_.rank - 1)] = 0;
  nest_.add(rhs);
  nest_.strides[kRhs][at(nest_.rank - 2)] = 0;
  const View none{.dtype = lhs.dtype};
  for (const std::uint16_t zero : {area.lhs_zero, area.rhs_zero}) {
    nest_.add(zero == AreaNode::kNone ? none : call.inputs[zero]);
  }
  const std::int64_t a_k_stride = lhs.strides[at(lhs.rank - 1)] * byte_size(lhs.dtype);
  const std::int64_t b_k_stride = rhs.strides[at(rhs.rank - 2)] * byte_size(rhs.dtype);
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
  const int result_view = output_view_[0];
  const bool plain = area.nodes[area.outputs[0].node].kind == Kind::kTile && area.outputs.size() == 1 &&
                     result.dtype == sums && (nest_.strides[at(result_view)][at(n_axis)] == 4 || n == 1);
  StreamSpec c{Space::kTile, sums, 0, 0, 4, {}};
  if (plain) {
    c = spec_of(result, result_view, n_axis);
    c.inner_stride = 4;
  }
  const std::uint16_t tile = coder_.add_stream(c);
  if (narrow) {
    add_zero(area.lhs_zero, lhs.dtype, kLhsZero, n_axis, call);
    add_zero(area.rhs_zero, rhs.dtype, kRhsZero, n_axis, call);
  }
  code_.clear();
  if (!plain) write_epilogue(call, tile, sums, n_axis, n);
  // Words of narrow elements cost and weigh what floats do.
  const std::int64_t group = narrow ? isa::group_of(lhs.dtype) : 1, words = isa::tiles_of(k, group);
  const MatMulTiles tiles = choose_matmul_tiles(batch, m, n, words, *call.traits);
  out.need_scratch(coder_.slot_bytes());
  out.begin(narrow ? isa::Opcode::kDot : isa::Opcode::kMatMul, n_axis,
            batch * isa::tiles_of(m, tiles.m) * isa::tiles_of(n, tiles.n), n);
  for (std::int64_t field : {k, tiles.m, tiles.n, k_block_of(words) * group, panel}) out.field(field);
  for (int axis = 0; axis < n_axis; ++axis) out.dim(nest_.sizes[at(axis)]);
  write_streams(out, n_axis);
  if (!plain) out.phase(isa::PhaseOp::kStrip, code_);
  out.end();
  return {};
}

View AreaCompiler::packed_once(const View& rhs, const AreaCall& call, Emitter& out) {
  View from = rhs;
  for (int axis = 0; axis < rhs.rank - 2; ++axis) {  // an expanded axis is not multiplied
    if (rhs.strides[at(axis)] == 0) from.sizes[at(axis)] = 1;
  }
  const std::int64_t panel = call.traits->matmul_panel;
  View packed = packed_layout(from, panel);
  packed.buffer = call.temp.arena;
  packed.offset = call.temp.allocate(call.temp.state, packed_bytes(from, panel));
  const Status emitted = emit_pack(from, packed, panel, out);
  TW_CHECK(emitted.ok(), "a pack can always be encoded");
  return packed;
}

// The stream of a zero point, or of the literal 0.
void AreaCompiler::add_zero(std::uint16_t input, DType dtype, int nest_view, int n_axis, const AreaCall& call) {
  if (input == AreaNode::kNone) {
    coder_.add_stream({Space::kLiteral, dtype, 0, 0, 0, {}});
    return;
  }
  coder_.add_stream(spec_of(call.inputs[input], nest_view, n_axis));
}

void AreaCompiler::write_epilogue(const AreaCall& call, std::uint16_t tile, DType dtype, int n_axis, std::int64_t n) {
  const Area& area = *call.area;
  for (std::size_t i = 0; i < area.nodes.size(); ++i) {
    if (area.nodes[i].kind == Kind::kTile) {
      coder_.set_source(static_cast<std::uint16_t>(i), {tile, isa::kUnit, dtype, true});
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
