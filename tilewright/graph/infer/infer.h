// Result types of a node. One function per family, named in ops.def. Unknown is not wrong: only what is provably wrong
// is an error; the rest becomes a check when the symbols are bound.
#pragma once

#include "tilewright/graph/graph.h"

namespace tilewright {

struct InferInput {
  Op op;
  std::vector<TensorType> types;  // of the inputs
  const Attrs& attrs;             // complete: defaults filled in
  std::span<const std::unique_ptr<Graph>> regions;
  const Facts& facts;
};

using Types = std::vector<TensorType>;

// The caller has checked the arity and completed the attributes (complete_attrs).
Result<Types> infer(const InferInput& in);
std::size_t num_regions(Op op);
// False if a value cannot have both types: another dtype, another rank or a provably different dim.
bool may_be(const TensorType& a, const TensorType& b, const Facts& facts);

}  // namespace tilewright
