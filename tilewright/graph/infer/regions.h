// Checks that the ops with regions share.
#pragma once

#include "tilewright/graph/infer/infer.h"

namespace tilewright {

Types types_of(const Graph& graph, std::span<const ValueId> values);
Status check_numbers(std::string_view what, std::size_t given, std::size_t expected);
// Equal dtypes and ranks; dims are the caller's question.
Status check_alike(std::string_view what, std::size_t index, const TensorType& a, const TensorType& b);
Status check_bool_scalar(std::string_view what, const TensorType& type);
// A carried value before a loop, at the body's input and as the body gives it: its sizes stay, or are symbols of the
// input.
Status check_carried(std::size_t index, const TensorType& initial, const TensorType& carried, const TensorType& next,
                     const Facts& facts);

}  // namespace tilewright
