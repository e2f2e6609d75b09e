// Definitions of composite ops by primitives. A definition is code that builds the primitives into a graph, so that it
// sees ranks and dims. Used by the oracle, by passes that inline, and by backends without a native lowering.
#pragma once

#include "tilewright/graph/builder.h"

namespace tilewright {

// Appends the definition of `op` to the builder's graph and returns its results. f16 and bf16 compute in f32.
std::vector<ValueId> define_composite(Builder& builder, Op op, std::span<const ValueId> inputs, const Attrs& attrs);
bool is_composite(Op op);
// The zero points [n, blocks] of a block_matmul as floats of the dtype of a; inputs as of the node.
ValueId float_zeros(Builder& builder, std::span<const ValueId> inputs, const Attrs& attrs);

}  // namespace tilewright
