// The geometry that conv and pool share: where tap t of the window at output position p falls in x.
#pragma once

#include "tilewright/isa/program.h"

namespace tilewright::vm::reference {

struct Window {
  std::int64_t in[3], out[3], size[3], stride[3], low[3], dilation[3], spread[3];
  std::int64_t step[3];  // bytes of x

  std::int64_t taps() const { return size[0] * size[1] * size[2]; }

  // Position in x (flattened axes) of tap `tap` at output position `position`; -1 outside. `bytes` from the first
  // element.
  std::int64_t place(std::int64_t position, std::int64_t tap, std::int64_t& bytes) const {
    std::int64_t at[3];
    for (int axis = 2; axis >= 0; --axis) {
      const std::int64_t where = position % out[axis] * stride[axis] - low[axis] + tap % size[axis] * dilation[axis];
      position /= out[axis];
      tap /= size[axis];
      if (where < 0 || where % spread[axis] != 0 || where / spread[axis] >= in[axis]) return -1;
      at[axis] = where / spread[axis];
    }
    bytes = at[0] * step[0] + at[1] * step[1] + at[2] * step[2];
    return (at[0] * in[1] + at[1]) * in[2] + at[2];
  }
};

template <typename Fields>
Window window_of(const Fields& f, std::int64_t positions, std::int64_t inner_step) {
  Window window{{f.in1, f.in2, f.in3},
                {positions / (f.out2 * f.out3), f.out2, f.out3},
                {f.window1, f.window2, f.window3},
                {f.stride1, f.stride2, f.stride3},
                {f.low1, f.low2, f.low3},
                {f.dilation1, f.dilation2, f.dilation3},
                {1, 1, 1},
                {f.step1, f.step2, inner_step}};
  if constexpr (requires { f.spread1; }) {
    window.spread[0] = f.spread1;
    window.spread[1] = f.spread2;
    window.spread[2] = f.spread3;
  }
  return window;
}

}  // namespace tilewright::vm::reference
