// Rounding to floats of few bits, with the operators of the graph.
#pragma once

#include "tilewright/frontends/onnx/node.h"

namespace tilewright::onnx {

// f32 or f64 numbers, rounded to elements of a carried float.
Maybe rounded_to(OnnxNode& n, const Maybe& value, Carried carried, const CastRules& rules);

}  // namespace tilewright::onnx
