// Host scalars as the instructions hold them: computed when a call is bound, with the conversions of the graph applied
// in its own dtypes, whatever lane reads them.
#pragma once

#include "tilewright/compiler/area.h"

namespace tilewright::compiler {

struct Number {
  bool is_real = false;
  double real = 0;
  std::int64_t integer = 0;
};

// A host scalar as a tensor element of `dtype`. A real that has no i64 gives the lowest one.
Number number_of(DimValue value, bool is_real, DType dtype);
// What a cast to `to` makes of it. A real out of range gives the lowest i64, or i32 for narrower integers.
Number convert(Number from, DType to);
// The value of scalar node `id`.
Number scalar_number(const Area& area, std::uint16_t id, const DimProgram& program, std::span<const DimValue> dims);
// The bits of one element of `dtype`, as a literal stream holds them.
std::int64_t literal_bits(Number number, DType dtype);

}  // namespace tilewright::compiler
