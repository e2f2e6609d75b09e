// In which segment of a plan a value exists, and in which its sizes are known: a symbol that a host step binds is known
// from the segment after it on.
#pragma once

#include "tilewright/runtime/plan.h"

namespace tilewright::runtime {

// The segment in which a root is computed; the last one for what is not computed by a segment.
std::size_t computed_in(const Plan& plan, ValueId root);

// The first segment in which every symbol in the sizes of `value` is bound. It may come after the one that computes its
// storage: a view of an early value may get its sizes late.
std::size_t sized_in(const Plan& plan, ValueId value);

}  // namespace tilewright::runtime
