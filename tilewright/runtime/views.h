// Views: movement ops that only change how memory is read. Each says whether the strides of the input can express it.
#pragma once

#include "tilewright/compiler/kernel.h"

namespace tilewright::runtime {

using compiler::View;

void set_contiguous(View& view);  // strides from sizes, row-major
bool is_contiguous(const View& view);
void drop_idle_strides(View& view);  // strides of axes of size 1, which nothing walks, get one fixed value
// The strides with which `from` reads as the shape of `to`; false if a copy is needed. Sizes of 1 are free.
bool reshape_view(const View& from, View& to);
void transpose_view(const View& from, std::span<const std::int64_t> perm, View& to);
void expand_view(const View& from, View& to);
void slice_view(const View& from, std::span<const std::int64_t> start, std::span<const std::int64_t> step, View& to);
void flip_view(const View& from, std::span<const std::int64_t> axes, View& to);
// The view op `node` with attributes that are all constant; `to` has its rank and sizes set. False: a copy is needed.
bool apply_fixed_view(const Node& node, const View& from, View& to);

}  // namespace tilewright::runtime
