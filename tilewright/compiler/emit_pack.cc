// Panels of the right operand of a contraction: their layout, and the instruction that makes them.
#include "tilewright/compiler/axis.h"
#include "tilewright/compiler/kernels.h"
#include "tilewright/isa/panels.h"

namespace tilewright::compiler {

DType packed_dtype(DType dtype) {
  return dtype == DType::kF16 ? DType::kF32 : dtype;
}

DType packable_dtype(DType dtype, PackForm form) {
  if (form == PackForm::kMatrix) return packed_dtype(dtype);
  return form == PackForm::kWords ? DType::kU8 : DType::kF32;
}

View matrix_of(const View& operand, PackForm form) {
  if (form == PackForm::kMatrix) return operand;
  View out = operand;
  out.dtype = DType::kF32;
  out.rank = 2;
  out.sizes = {operand.sizes[1], operand.sizes[0]};
  out.strides = {operand.strides[1], operand.strides[0]};
  if (form == PackForm::kColumns) return out;
  out.sizes[0] = operand.sizes[1] * operand.sizes[2] / 4;
  out.strides = {1, operand.sizes[1] * operand.sizes[2] / 4};  // of contiguous memory
  return out;
}

View packed_layout(const View& b, std::int64_t panel) {
  View out = b;
  out.dtype = packed_dtype(b.dtype);
  out.buffer = 0;
  out.offset = 0;
  const std::int64_t n = b.sizes[at(b.rank - 1)], k = b.sizes[at(b.rank - 2)];
  out.strides[at(b.rank - 1)] = 1;
  out.strides[at(b.rank - 2)] = panel;
  std::int64_t stride = isa::panel_bytes(out.dtype, k, panel) * isa::tiles_of(n, panel) / byte_size(out.dtype);
  for (int axis = b.rank - 3; axis >= 0; --axis) {
    out.strides[at(axis)] = stride;
    stride *= b.sizes[at(axis)];
  }
  return out;
}

std::int64_t packed_bytes(const View& b, std::int64_t panel) {
  const std::int64_t n = b.sizes[at(b.rank - 1)], k = b.sizes[at(b.rank - 2)];
  std::int64_t bytes = isa::panel_bytes(packed_dtype(b.dtype), k, panel) * isa::tiles_of(n, panel);
  for (int axis = 0; axis < b.rank - 2; ++axis) bytes *= b.sizes[at(axis)];
  return bytes;
}

Status emit_pack(const View& b, const View& to, std::int64_t panel, Emitter& out) {
  const std::int64_t n = b.sizes[at(b.rank - 1)];
  const int rank = b.rank - 1;
  std::int64_t batch = 1;
  std::array<std::int64_t, kMaxTensorRank> from_strides{}, to_strides{};
  for (int axis = rank - 2; axis >= 0; --axis) {
    to_strides[at(axis)] = to.strides[at(axis)] * byte_size(to.dtype);
    batch *= b.sizes[at(axis)];
  }
  for (int axis = 0; axis < rank; ++axis) from_strides[at(axis)] = b.strides[at(axis)] * byte_size(b.dtype);
  if (batch * n == 0 || packed_bytes(b, panel) == 0) return {};
  out.begin(isa::Opcode::kPack, rank, batch * isa::tiles_of(n, panel), n);
  out.field(panel);
  for (int axis = 0; axis < rank; ++axis) out.dim(b.sizes[at(axis)]);
  out.stream(isa::Space::kBuffer, b.dtype, b.buffer, b.offset, b.strides[at(rank)] * byte_size(b.dtype),
             {from_strides.data(), at(rank)});
  out.stream(isa::Space::kBuffer, to.dtype, to.buffer, to.offset, byte_size(to.dtype), {to_strides.data(), at(rank)});
  out.end();
  return {};
}

}  // namespace tilewright::compiler
