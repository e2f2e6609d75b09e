// What the oracle does with one node, one function per family of ops. A function sees inputs in row-major memory and
// complete attributes, computes its result sizes itself (the walk compares them with the inferred type), and names what
// is wrong without naming the node, which the walk adds.
#pragma once

#include "tilewright/graph/eval/elements.h"
#include "tilewright/graph/eval/symbols.h"

namespace tilewright {

using Results = Result<std::vector<Tensor>>;

struct EvalCall {
  Op op;
  std::span<const Tensor> in;
  const Attrs& attrs;
  Symbols& symbols;  // late ops bind theirs

  Result<std::int64_t> size(std::string_view name) const { return symbols.integer(attrs.dim(name)); }
  Result<Ints> sizes(std::string_view name) const { return symbols.integers(attrs.dims(name)); }
  std::size_t axis() const { return static_cast<std::size_t>(attrs.integer("axis")); }
};

Results eval_elementwise(const EvalCall& call);
Results eval_create(const EvalCall& call);
Results eval_movement(const EvalCall& call);
Results eval_indexing(const EvalCall& call);
Results eval_reduce(const EvalCall& call);
Results eval_scan(const EvalCall& call);
Results eval_order(const EvalCall& call);
Results eval_matmul(const EvalCall& call);
Results eval_convolution(const EvalCall& call);
Results eval_pooling(const EvalCall& call);
Results eval_random(const EvalCall& call);
Results eval_late(const EvalCall& call);
Results eval_composite(const EvalCall& call);

// Elementwise arithmetic, one element at a time (elementwise_float.cc, elementwise_integer.cc). `dtype` is that of the
// inputs.
double float_unary(Op op, double x);
double float_binary(Op op, DType dtype, double a, double b);
std::int64_t integer_unary(Op op, DType dtype, std::int64_t x);
std::int64_t integer_binary(Op op, DType dtype, std::int64_t a, std::int64_t b);

// An index, negative ones counted from the end; an error names it if it is out of range.
Result<std::int64_t> checked_index(std::int64_t index, std::int64_t size, std::size_t axis);

}  // namespace tilewright
