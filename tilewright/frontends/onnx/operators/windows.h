// The geometry that convolutions and pools share: attributes of a node, with auto_pad and ceil_mode turned into pads,
// which are expressions over the sizes of the input.
#pragma once

#include "tilewright/frontends/onnx/node.h"

namespace tilewright::onnx {

// One entry for each spatial axis, those from 2 on.
struct Windows {
  Dims size;
  Ints stride, dilation;
  Dims low, high;
};

enum class Rounding { kFloor, kCeil, kTowardsZero };

// Of a window of `size` that slides over x. Rounded up, the high pads reach to the end of the last window, which begins
// inside of x or its low pads.
// Rounded towards zero, an x that is a little shorter than the window still gives one element, as in onnxruntime.
Result<Windows> read_windows(OnnxNode& n, const Shape& x, Dims size, Rounding rounding);

// The attribute kernel_shape, one entry for each spatial axis of x.
Result<Ints> read_kernel_shape(const OnnxNode& n, const Shape& x);

// An attribute with one number for each spatial axis; all ones where it is missing.
Result<Ints> read_spatial(const OnnxNode& n, std::string_view name, std::size_t count, std::int64_t missing);

// The float dtype that windows of this dtype are computed in.
DType window_dtype(DType dtype);

}  // namespace tilewright::onnx
