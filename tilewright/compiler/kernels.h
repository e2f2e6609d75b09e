// Kernels of ops that the fuser leaves alone: one tile instruction each, or a few with copies around them. One emit
// function per op, those of a family in a file of their own; emit_kernel is the table.
#pragma once

#include "tilewright/compiler/kernel.h"

namespace tilewright::compiler {

// Whether `op` has a kernel here (areas are encoded by AreaCompiler).
bool has_kernel(Op op);
// Appends the instructions of one node. The error names the operand.
Status emit_kernel(const Kernel& kernel, Emitter& out);

Status emit_attention(const Kernel& kernel, Emitter& out);
Status emit_concat(const Kernel& kernel, Emitter& out);
Status emit_pad(const Kernel& kernel, Emitter& out);
Status emit_update_slice(const Kernel& kernel, Emitter& out);
Status emit_gather(const Kernel& kernel, Emitter& out);
Status emit_gather_elements(const Kernel& kernel, Emitter& out);
Status emit_index(const Kernel& kernel, Emitter& out);
Status emit_index_put(const Kernel& kernel, Emitter& out);
Status emit_scatter_elements(const Kernel& kernel, Emitter& out);
Status emit_scan(const Kernel& kernel, Emitter& out);        // cumsum, cumprod, cummax, cummin
Status emit_arg_reduce(const Kernel& kernel, Emitter& out);  // argmax, argmin
Status emit_sort(const Kernel& kernel, Emitter& out);
Status emit_topk(const Kernel& kernel, Emitter& out);
Status emit_nonzero(const Kernel& kernel, Emitter& out);
Status emit_conv(const Kernel& kernel, Emitter& out);
Status emit_conv_transpose(const Kernel& kernel, Emitter& out);
Status emit_pool(const Kernel& kernel, Emitter& out);  // max_pool, avg_pool
Status emit_random(const Kernel& kernel, Emitter& out);
Status emit_matmul(const Kernel& kernel, Emitter& out);
// What of an operand the panels hold: a matrix [.., k, n] itself; the words of a 4-bit weight u8 [n, blocks, block / 2]
// as f32 [words, n]; or parameters [n, blocks] of its blocks as f32 [blocks, n].
enum class PackForm : std::uint8_t { kMatrix, kWords, kColumns };
// The matrix of panels that an operand stands for, over the same memory.
View matrix_of(const View& operand, PackForm form);  // kWords: the operand is row-major
// The dtype that the operand has in memory when it is packed; another one is converted first.
DType packable_dtype(DType dtype, PackForm form);
// Packs view b[batch.., k, n] into panels at `to`, a view of the layout that packed_layout gives it.
Status emit_pack(const View& b, const View& to, std::int64_t panel, Emitter& out);
// The dtype of the panels that hold b of a dtype: f16 is widened to f32.
DType packed_dtype(DType dtype);
// b packed: its sizes, the dtype of panels, and strides that find the panels of a batch. Buffer and offset are 0.
View packed_layout(const View& b, std::int64_t panel);
std::int64_t packed_bytes(const View& b, std::int64_t panel);

}  // namespace tilewright::compiler
