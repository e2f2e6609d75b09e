// What the recognisers of composites share. A recogniser looks at one node and says which composite its result is, if
// the nodes around it spell the definition out: the same function of real numbers, computed from the same values.
// Numbers in a pattern must be the definition's up to the rounding of the dtype. One family per file.
#pragma once

#include <optional>

#include "tilewright/passes/pattern.h"
#include "tilewright/passes/users.h"

namespace tilewright::passes {

struct Composite {
  Op op;
  std::vector<ValueId> inputs;
  Attrs attrs;
};

class Around {
 public:
  Around(const Graph& graph, const std::vector<std::uint32_t>& uses) : graph(graph), uses_(uses) {}

  const Graph& graph;

  DType dtype(ValueId value) const { return graph.type(value).dtype; }
  const Shape& shape(ValueId value) const { return graph.type(value).shape; }
  const Node* made(ValueId value, Op op) const { return made_by(graph, value, op); }
  // Nodes that read it, and outputs. Values made by this pass count as used once.
  std::uint32_t uses(ValueId value) const { return value < uses_.size() ? uses_[value] : 1; }

  // The value is this number, up to the rounding of its dtype.
  bool is(ValueId value, double number) const;
  // The operands of a commutative node: (other, number) if one of them is the number.
  std::optional<ValueId> other_than(const Node& node, double number) const;
  std::optional<ValueId> other_than(const Node& node, ValueId value) const;

 private:
  const std::vector<std::uint32_t>& uses_;
};

// A product: the numbers in it multiplied, and the other factors. Looks through mul, div by a number, neg and integer
// powers.
struct Product {
  double number = 1;
  std::vector<ValueId> factors;
  bool is(double wanted, DType dtype) const;
};
Product product_of(const Around& around, ValueId value);

bool close(double a, double b, DType dtype);

// A reduction over the last axis, kept as size 1: directly, or dropped and restored by a reshape or expand.
std::optional<ValueId> reduced_over_last(const Around& around, ValueId value, Op op);
// x, if the value is the mean of x over the last axis, kept as size 1.
std::optional<ValueId> mean_over_last(const Around& around, ValueId value);

std::optional<Composite> recognise_gelu(const Around& around, const Node& node);
std::optional<Composite> recognise_silu(const Around& around, const Node& node);
std::optional<Composite> recognise_sigmoid(const Around& around, const Node& node);
std::optional<Composite> recognise_softmax(const Around& around, const Node& node);
std::optional<Composite> recognise_norm(const Around& around, const Node& node);
// A weight or bias behind a norm becomes an operand of it.
std::optional<Composite> recognise_norm_parameter(const Around& around, const Node& node);

}  // namespace tilewright::passes
