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
// Packs view b[batch.., k, n] into panels at `to` (a contiguous view of packed_count(b) elements).
Status emit_pack(const View& b, const View& to, std::int64_t panel, Emitter& out);
std::int64_t packed_count(const View& b, std::int64_t panel);

}  // namespace tilewright::compiler
