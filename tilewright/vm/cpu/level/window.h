// The geometry that conv and pool share: output positions in runs along the last axis, and which part of a run meets x.
#pragma once

#include "tilewright/vm/cpu/level/lines.h"

namespace tilewright::vm::cpu::TW_LEVEL {

struct WindowAxis {
  std::int64_t in, out, window, stride, low, dilation, spread, step;  // step: bytes of x
};

template <typename Fields>
static inline void window_axes(WindowAxis (&axes)[3], const Fields& f, std::int64_t positions,
                               std::int64_t inner_step) {
  axes[0] = {f.in1, positions / (f.out2 * f.out3), f.window1, f.stride1, f.low1, f.dilation1, 1, f.step1};
  axes[1] = {f.in2, f.out2, f.window2, f.stride2, f.low2, f.dilation2, 1, f.step2};
  axes[2] = {f.in3, f.out3, f.window3, f.stride3, f.low3, f.dilation3, 1, inner_step};
  if constexpr (requires { f.spread1; }) {
    axes[0].spread = f.spread1;
    axes[1].spread = f.spread2;
    axes[2].spread = f.spread3;
  }
}

// The coordinate in x of tap `tap` at output position `at`; -1 outside.
[[gnu::always_inline]] inline std::int64_t coordinate(const WindowAxis& axis, std::int64_t at, std::int64_t tap) {
  const std::int64_t where = at * axis.stride - axis.low + tap * axis.dilation;
  if (axis.spread == 1) return where >= 0 && where < axis.in ? where : -1;
  return where >= 0 && where % axis.spread == 0 && where / axis.spread < axis.in ? where / axis.spread : -1;
}

// The positions i of a run for which start + i * stride lies in [0, size): begin <= i < end.
struct Inside {
  std::int64_t begin, end;
};
[[gnu::always_inline]] inline Inside inside(std::int64_t start, std::int64_t stride, std::int64_t size,
                                            std::int64_t count) {
  std::int64_t begin = 0, end = count;
  if (stride == 1) {
    if (start < 0) begin = -start;
    if (start + count > size) end = size - start;
  } else {
    if (start < 0) begin = (-start + stride - 1) / stride;
    const std::int64_t last = size - 1 - start;
    end = last < 0 ? 0 : isa::least(count, last / stride + 1);
  }
  if (begin > count) begin = count;
  return {begin, end < begin ? begin : end};
}

}  // namespace tilewright::vm::cpu::TW_LEVEL
