// One step of the online softmax: the scores of a row and a block of keys become weights relative to the largest score
// so far.
#pragma once

#include "tilewright/vm/cpu/level/level.h"

namespace tilewright::vm::cpu::TW_LEVEL {

struct SoftmaxRow {
  float largest = -__builtin_inff();  // of the scaled scores so far
  float sum = 0;                      // of the weights so far, relative to `largest`
};

// scores[i] = e ** (scores[i] * scale + bias[i] - largest) for i < count (bias may be null), 0 for count <= i < width.
// Memory up to the next whole vector behind `count` is written, too. Returns the factor for what was summed with
// earlier weights; it is exactly 1 where the largest score stays.
float softmax_step(float* scores, std::int64_t count, std::int64_t width, float scale, const float* bias,
                   SoftmaxRow& row);

// values[i] *= factor
void scale_row(float* values, std::int64_t count, float factor);
// values[i] /= sum, where a sum of 0 counts as 1: a row that attends to nothing is 0.
void divide_row(float* values, std::int64_t count, float sum);

}  // namespace tilewright::vm::cpu::TW_LEVEL
