// Rotary position embedding (Su et al. 2021), as ONNX's and onnxruntime's operators have it.
#pragma once

#include "tilewright/frontends/onnx/operators.h"

namespace tilewright::onnx {

// x[B, S, H, D]; cos and sin [B or 1, S, R/2], of the first R elements of a head. Pairs are (i, i + R/2), or
// neighbours if interleaved.
Maybe rotated(OnnxNode& n, const Maybe& x, const Maybe& cos, const Maybe& sin, bool interleaved);

}  // namespace tilewright::onnx
