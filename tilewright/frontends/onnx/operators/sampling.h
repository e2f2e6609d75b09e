// Reading a plane at fractional positions, as grid sampling, regions of interest and deformed windows do: indices and
// weights for each axis, and the sum of what lies there.
#pragma once

#include "tilewright/frontends/onnx/node.h"

namespace tilewright::onnx {

// One neighbour along an axis. Both broadcast to the shape of the samples.
struct Tap {
  Maybe index;   // i64, within the axis
  Maybe weight;  // of the dtype of the samples
};

// [samples.., C] of x[N, C, spatial..]: the sum (or largest, as `combine` says) over all combinations of one tap for
// each axis. `batch` is the row of x for each sample, i64, and broadcasts to the samples too.
Maybe weighted_samples(OnnxNode& n, const Maybe& x, const Maybe& batch, const std::vector<std::vector<Tap>>& taps,
                       Op combine = Op::kAdd);

// The two neighbours of a position, zero where they lie outside of the axis.
std::vector<Tap> linear_taps(OnnxNode& n, const Maybe& at, Dim size);

Maybe clamped_index(OnnxNode& n, const Maybe& whole, Dim size);  // a whole number of a float dtype

Maybe binary(OnnxNode& n, Op op, const Maybe& a, const Maybe& b);
Maybe binary(OnnxNode& n, Op op, const Maybe& a, double b);

}  // namespace tilewright::onnx
