// Vectors in matrix products: a vector is a matrix of one row (left) or one column (right), whose axis is gone from the
// result.
#pragma once

#include "tilewright/frontends/onnx/operators.h"

namespace tilewright::onnx {

// `product(left, right)` multiplies two matrices or batches of them.
template <typename Product>
Maybe vectors_as_matrices(OnnxNode& n, const Maybe& a, const Maybe& b, Product product) {
  TW_ASSIGN(const ValueId left, Maybe(a));
  TW_ASSIGN(const ValueId right, Maybe(b));
  const bool row = n.type_of(left).shape.size() == 1;
  const bool column = n.type_of(right).shape.size() == 1;
  if (n.type_of(left).shape.empty() || n.type_of(right).shape.empty()) {
    return fail(ErrorKind::kShapeMismatch, "a product of {} and {}", n.type_of(left), n.type_of(right));
  }
  TW_ASSIGN(const ValueId y,
            product(row ? n.unsqueeze(left, {0}) : Maybe(left), column ? n.unsqueeze(right, {1}) : Maybe(right)));
  if (!row && !column) return y;
  Shape shape = n.type_of(y).shape;
  if (column) shape.pop_back();
  if (row) shape.erase(shape.end() - (column ? 1 : 2));
  return n.reshape(y, std::move(shape));
}

}  // namespace tilewright::onnx
