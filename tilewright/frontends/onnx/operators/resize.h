// Resize, one axis at a time: where the result reads on an axis, and how what it reads is weighted.
#pragma once

#include "tilewright/frontends/onnx/node.h"

namespace tilewright::onnx {

struct ResizeOptions {
  std::string_view mode, coordinates, nearest;
  double cubic_a, outside;
  bool exclude_outside, antialias;
};

struct ResizeAxis {
  std::int64_t axis;
  Dim size, out;   // of the input and of the result
  Dim length;      // size * scale before it was rounded down to `out`, a real number
  Dim scale;       // as given, else out / size; a real number
  Dim begin, end;  // the region of tf_crop_and_resize, as parts of the axis
};

// x, of a float dtype unless the mode is nearest, with one axis resized.
Maybe resize_axis(OnnxNode& n, const Maybe& x, const ResizeAxis& axis, const ResizeOptions& options);

// Real arithmetic on sizes.
Dim as_real(Dim value);
Dim divide(Dim a, Dim b);

}  // namespace tilewright::onnx
