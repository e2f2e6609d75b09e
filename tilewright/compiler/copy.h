// Copies, fills and conversions of views: what movement ops are made of, and what kernels put around an instruction
// whose operands must be contiguous or of another dtype. Sizes of both views are equal; any strides.
#pragma once

#include "tilewright/compiler/kernel.h"

namespace tilewright::compiler {

// Whether both views are the same elements of memory, in the same places.
bool same_elements(const View& a, const View& b);
// One map or transpose instruction, none where from and to are the same elements. Elements of equal dtypes move as they
// are, others become those of the dtype of `to`.
Status emit_copy(const View& from, const View& to, const BackendTraits& traits, Emitter& out);
// Writes start + sum of position * step (of each axis of `to`, an i64 view).
void emit_iota(std::int64_t start, std::span<const std::int64_t> steps, const View& to, const BackendTraits& traits,
               Emitter& out);
// Every element of `to` becomes the one whose bits are given.
Status emit_fill(const View& to, std::int64_t bits, const BackendTraits& traits, Emitter& out);

// Part of an axis: `count` elements from `start` on, `step` apart (which may be 0 or negative).
View slice_axis(View view, int axis, std::int64_t start, std::int64_t count, std::int64_t step = 1);
// The view with row-major strides and other memory.
View contiguous_view(View view);
bool is_row_major(const View& view);
// New memory for the kernel, with the sizes of `view`.
View temp_like(const View& view, DType dtype, const Kernel& kernel);
// The view itself where it is row-major and of `dtype`, else a copy that is.
Result<View> row_major_as(const View& view, DType dtype, const Kernel& kernel, Emitter& out);

}  // namespace tilewright::compiler
