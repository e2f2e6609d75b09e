// Window: the geometry that convolutions and pools share. Spatial axes are those from 2 on; the window slides over them
// with strides, pads and dilation.
#pragma once

#include "tilewright/graph/eval/families.h"

namespace tilewright {

Ints spatial_sizes(const Tensor& tensor);  // without the first two axes

struct Window {
  Ints size, stride, low, high, dilation;

  static Result<Window> of(const EvalCall& call, Ints size);
  // Spatial sizes of the result of sliding over `input`, and of its transposed counterpart.
  Result<Ints> slide(const Ints& input) const;
  Result<Ints> spread(const Ints& input, const Ints& output_pad) const;
  // Appends the position that tap `tap` of the window at `at` falls on; false if it lies outside of `sizes`.
  bool place(std::span<const std::int64_t> at, std::span<const std::int64_t> tap, const Ints& sizes, Ints& out) const;
};

}  // namespace tilewright
