// The operands of a matrix product of one task: what matmul and dot share.
#pragma once

#include "tilewright/vm/reference/strip.h"

namespace tilewright::vm::reference {

struct ProductOperands {
  const std::byte* a;
  const std::byte* b;
  std::int64_t a_row, a_k, b_k, b_n;  // bytes
  std::int64_t k, panel;
  DType a_dtype, b_dtype;
};

// Streams 0 and 1 at the batch indices of `place`, whose row index is 0. `Fields` has k and panel.
template <typename Fields>
ProductOperands product_operands(const Frame& frame, const Fields& fields, const Place& place) {
  const isa::StreamHead& a = frame.at.stream(0);
  const isa::StreamHead& b = frame.at.stream(1);
  const int last = frame.at.rank - 1;
  return {address(frame, 0, place),
          address(frame, 1, place),
          a.strides()[last],
          a.inner_stride,
          b.strides()[last],
          b.inner_stride,
          fields.k,
          fields.panel,
          a.dtype(),
          b.dtype()};
}

}  // namespace tilewright::vm::reference
