// Questions that rewriting passes ask about a value: what made it, which number it is, which shape.
#pragma once

#include <optional>

#include "tilewright/graph/graph.h"

namespace tilewright::passes {

// The node that made the value, if it has this op; null otherwise.
const Node* made_by(const Graph& graph, ValueId value, Op op);

// The number that every element of the value is: of a scalar, a constant of equal elements, and reshapes and expands of
// these. Nothing if it is nan or known only when symbols are bound.
std::optional<double> known_number(const Graph& graph, ValueId value);
// The same as a host scalar, which may depend on symbols. Its value is rounded to the dtype of `value` when it is used.
std::optional<Dim> host_scalar(const Graph& graph, ValueId value);

// Whether all elements have the same bits. Tensors of more than 64 KiB are not looked at.
bool is_uniform(const Tensor& tensor);

bool same_shape(const Shape& a, const Shape& b, const Facts& facts);  // provably
// Whether one shape is the other with axes of size 1 added and removed.
bool same_but_for_units(const Shape& a, const Shape& b, const Facts& facts);

}  // namespace tilewright::passes
