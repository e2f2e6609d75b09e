// The slab: the part of x that a block of output positions reads, copied so that every tap of every channel finds the
// positions of the block side by side. Positions are numbered row by row with a pitch wide enough for the window, so a
// tap is one offset for all of them; what lies between rows is computed and dropped. A step of the window above 1
// splits rows and columns by their remainder. Elements that are moved apart (spread) split the output by its remainder:
// each part meets its own taps, and no zeros.
#pragma once

#include "tilewright/vm/cpu/level/conv_kernel.h"
#include "tilewright/vm/cpu/level/window.h"

namespace tilewright::vm::cpu::TW_LEVEL {

// Positions of one part: output coordinate = q * spread + part, for q in first .. first + count - 1. Tap t meets x at
// q * stride + offset_of(t), if it meets this part.
struct ConvAxis {
  WindowAxis axis;
  std::int64_t part, first, count;
  std::int64_t low, high, taps;  // offsets of the first and last tap that meets the part, and how many do

  ConvAxis() = default;
  ConvAxis(const WindowAxis& a, std::int64_t which, std::int64_t q, std::int64_t n);
  bool meets(std::int64_t tap) const { return axis.spread == 1 || numerator(tap) % axis.spread == 0; }
  std::int64_t offset_of(std::int64_t tap) const {  // of a tap that meets the part
    return axis.spread == 1 ? numerator(tap) : numerator(tap) / axis.spread;
  }
  std::int64_t numerator(std::int64_t tap) const { return part * axis.stride - axis.low + tap * axis.dilation; }
};

// The layout of one channel: [tap of axis 1][column remainder][row remainder][rows][pitch].
struct Slab {
  ConvAxis axes[3];
  std::int64_t rows, pitch;  // of one remainder
  std::int64_t plane, channel;

  Slab(const ConvAxis (&given)[3]);
  std::int64_t positions() const { return (axes[1].count - 1) * pitch + axes[2].count; }
  std::int64_t row_at(std::int64_t shift) const {  // elements to a row, counted from the first that is met
    const std::int64_t stride = axes[1].axis.stride;
    return stride == 1 ? shift * pitch : (shift % stride * rows + shift / stride) * pitch;
  }
  std::int64_t column_at(std::int64_t shift) const {
    const std::int64_t stride = axes[2].axis.stride;
    return stride == 1 ? shift : shift % stride * axes[1].axis.stride * rows * pitch + shift / stride;
  }
};

// Copies `channels` channels that start at x, x_channel bytes apart.
template <typename T>
void fill_slab(const Slab& slab, T* to, const char* x, std::int64_t x_channel, std::int64_t channels);

// The terms of `channels` channels in order; `taps` weights stand from channel to channel. Returns their number.
std::int64_t list_terms(const Slab& slab, ConvTerm* to, std::int64_t taps, std::int64_t channels);

}  // namespace tilewright::vm::cpu::TW_LEVEL
