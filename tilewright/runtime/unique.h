// The sorted distinct elements of a rank-1 tensor. A host step: its result sizes are known only afterwards.
#pragma once

#include "tilewright/tensor/tensor.h"

namespace tilewright::runtime {

struct UniqueResult {
  Tensor values;   // [count], ascending; nan last, each nan distinct
  Tensor inverse;  // i64, shape of x: position of each element in values
  Tensor counts;   // i64[count]
};

UniqueResult unique(const Tensor& contiguous);

}  // namespace tilewright::runtime
