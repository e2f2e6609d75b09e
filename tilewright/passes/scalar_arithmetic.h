// Ops on `scalar` nodes as Dim expressions, where the expression gives the same bits: i64 arithmetic that cannot leave
// the range, f64 arithmetic, and casts that round once.
#pragma once

#include <optional>
#include <unordered_set>

#include "tilewright/graph/graph.h"

namespace tilewright::passes {

class ScalarArithmetic {
 public:
  explicit ScalarArithmetic(const Graph& graph);

  // The host scalar that the result of the node is; nothing if its inputs are no scalars or the bits might differ.
  std::optional<Dim> fold(const Node& node) const;

 private:
  std::optional<Dim> fold_cast(DType from, DType to, Dim value) const;
  std::optional<Dim> fold_integers(Op op, Dim a, Dim b) const;
  // No absolute value of an integer expression is larger. Sizes of inputs are bounded by memory.
  double bound(Dim dim) const;

  const Graph& graph_;
  std::unordered_set<Dim> sizes_;  // symbols that are a size of an input
};

}  // namespace tilewright::passes
