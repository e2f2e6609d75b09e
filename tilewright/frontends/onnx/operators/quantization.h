// Pieces that the importers of quantised operators share: reading a scale or zero point, and going from floats back to
// bytes. A zero point that is left out is 0; so are the parameters of the graph's quantised operators.
#pragma once

#include "tilewright/frontends/onnx/operators.h"

namespace tilewright::onnx {

// (x - zero) * scale of three inputs of the node, the zero point optional; in the dtype of scale.
Maybe dequantized(OnnxNode& n, std::size_t x, std::size_t scale, std::size_t zero, std::int64_t axis = 0);
// As input x, for scales that hold for all of it.
Maybe quantized(OnnxNode& n, const Maybe& value, std::size_t scale, std::size_t zero, DType missing);
// round(value) + zero, saturated: for values that were already divided by their scale.
Maybe requantized(OnnxNode& n, const Maybe& value, const Maybe& zero);
// An input with one element as a scalar; others as they are.
Maybe as_parameter(OnnxNode& n, std::size_t input);
// x: f32 -> y u8, scale f32[], zero u8[]
struct DynamicallyQuantized {
  ValueId y, scale, zero;
};
Result<DynamicallyQuantized> quantize_dynamically(OnnxNode& n, const Maybe& x);

// Of element types that a dtype only carries (quantize_carried.cc).
struct CarriedQuantization {
  ElemType elem;  // of the quantised side
  Maybe x, scale;
  std::optional<Maybe> zero;
  std::int64_t axis, block;
};
Maybe quantize_carried(OnnxNode& n, const CarriedQuantization& q);
Maybe dequantize_carried(OnnxNode& n, const CarriedQuantization& q);  // f32

}  // namespace tilewright::onnx
