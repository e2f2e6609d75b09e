// Contraction areas whose right operand is a 4-bit weight with a scale for each block (block_dot). Weights were packed
// once; what was not is packed for this call.
#include "tilewright/compiler/area_compiler.h"
#include "tilewright/compiler/axis.h"
#include "tilewright/compiler/matmul_tiles.h"
#include "tilewright/isa/panels.h"

namespace tilewright::compiler {

using isa::Space;
using Kind = AreaNode::Kind;

namespace {

constexpr int kLhs = 0, kRows = 1;  // nest views; kRows does not move: it lets batch axes become rows
constexpr std::int64_t kEight = 0x41000000;

}  // namespace

// Panels of an operand as a stream without strides.
StreamSpec AreaCompiler::block_operand(const View& operand, PackForm form, bool packed, const AreaCall& call,
                                       Emitter& out) const {
  if (packed) return {Space::kBuffer, DType::kF32, operand.buffer, operand.offset, 4, {}};
  const auto allocate = [&](std::int64_t bytes) { return call.temp.allocate(call.temp.state, bytes); };
  View source = operand;
  const DType wanted = packable_dtype(operand.dtype, form);
  if (operand.dtype != wanted || !is_row_major(operand)) {
    source = contiguous_view(operand);
    source.dtype = wanted;
    source.buffer = call.temp.arena;
    source.offset = allocate(source.count() * byte_size(wanted));
    const Status copied = emit_copy(operand, source, *call.traits, out);
    TW_CHECK(copied.ok(), "a copy can always be encoded");
  }
  const View matrix = matrix_of(source, form);
  const std::int64_t panel = call.traits->matmul_panel;
  View to = packed_layout(matrix, panel);
  to.buffer = call.temp.arena;
  to.offset = allocate(packed_bytes(matrix, panel));
  const Status emitted = emit_pack(matrix, to, panel, out);
  TW_CHECK(emitted.ok(), "a pack can always be encoded");
  return {Space::kBuffer, DType::kF32, to.buffer, to.offset, 4, {}};
}

Status AreaCompiler::emit_block_contraction(const AreaCall& call, Emitter& out) {
  const Area& area = *call.area;
  start(call);
  if (nest_.count(0, nest_.rank) == 0) return {};
  const View& lhs = call.inputs[area.lhs];
  const std::int64_t k = lhs.sizes[at(lhs.rank - 1)], panel = call.traits->matmul_panel;
  const View& q = call.inputs[area.rhs];
  const StreamSpec weight = block_operand(q, PackForm::kWords, call.packed_panel != 0, call, out);
  const StreamSpec scales = block_operand(call.inputs[area.scales], PackForm::kColumns, call.packed_scales, call, out);
  StreamSpec zeros{Space::kLiteral, DType::kF32, 0, kEight, 0, {}};
  if (area.rhs_zero != AreaNode::kNone) {
    zeros = block_operand(call.inputs[area.rhs_zero], PackForm::kColumns, call.packed_zeros, call, out);
  }
  nest_.add(lhs);
  nest_.strides[kLhs][at(nest_.rank - 1)] = 0;
  nest_.add(View{});
  add_views(call);
  const int m_axis = nest_.collapse_rows(kRows), n_axis = m_axis + 1;
  const std::int64_t m = nest_.sizes[at(m_axis)], n = nest_.sizes[at(n_axis)], batch = nest_.count(0, m_axis);
  coder_.reset(area, 0);
  StreamSpec a = spec_of(lhs, kLhs, n_axis);
  a.inner_stride = lhs.strides[at(lhs.rank - 1)] * byte_size(lhs.dtype);
  coder_.add_stream(a);
  coder_.add_stream(weight);
  const View& result = call.outputs[0];
  const int result_view = output_view_[0];
  const bool plain = area.nodes[area.outputs[0].node].kind == Kind::kTile && area.outputs.size() == 1 &&
                     result.dtype == DType::kF32 && (nest_.strides[at(result_view)][at(n_axis)] == 4 || n == 1);
  StreamSpec c{Space::kTile, DType::kF32, 0, 0, 4, {}};
  if (plain) {
    c = spec_of(result, result_view, n_axis);
    c.inner_stride = 4;
  }
  const std::uint16_t tile = coder_.add_stream(c);
  coder_.add_stream(scales);
  coder_.add_stream(zeros);
  code_.clear();
  if (!plain) write_epilogue(call, tile, DType::kF32, n_axis, n);
  const MatMulTiles tiles = choose_matmul_tiles(batch, m, n, k, *call.traits);
  out.need_scratch(coder_.slot_bytes());
  out.begin(isa::Opcode::kBlockDot, n_axis, batch * isa::tiles_of(m, tiles.m) * isa::tiles_of(n, tiles.n), n);
  for (std::int64_t field : {k, tiles.m, tiles.n, area.block, panel}) out.field(field);
  for (int axis = 0; axis < n_axis; ++axis) out.dim(nest_.sizes[at(axis)]);
  write_streams(out, n_axis);
  if (!plain) out.phase(isa::PhaseOp::kStrip, code_);
  out.end();
  return {};
}

}  // namespace tilewright::compiler
