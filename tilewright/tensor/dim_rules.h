// The rules that bring integer expressions into canonical form, one file per family: dim_sum.cc, dim_divide.cc,
// dim_extrema.cc, dim_logic.cc. dim.cc converts operands, folds constants and calls them. Operands here are integers
// and canonical; every rule is an identity over the mathematical integers. Internal to tensor/.
#pragma once

#include <span>
#include <vector>

#include "tilewright/tensor/dim_table.h"

namespace tilewright {

// coefficient * rest; rest is canonical and holds no constant factor.
struct Term {
  std::int64_t coefficient;
  Dim rest;
};

// terms[0] + terms[1] + .. + constant, terms in canonical order with distinct rests.
struct Linear {
  std::vector<Term> terms;
  std::int64_t constant = 0;
};

// The sum as terms, or nothing if a coefficient does not fit int64.
std::optional<Linear> as_linear(Dim dim);
Dim from_linear(const Linear& linear);
Term as_term(Dim dim);                  // of anything but a constant or a sum
std::vector<Dim> factors_of(Dim rest);  // of a product without constant, or itself
Dim scaled(std::int64_t coefficient, Dim rest);

Dim make_sum(std::span<const Dim> operands);
Dim make_product(std::span<const Dim> operands);
Dim make_floordiv(Dim a, Dim b);
Dim make_mod(Dim a, Dim b);
Dim make_power(Dim base, Dim exponent);
Dim make_extremum(DimOp op, std::span<const Dim> operands);  // min or max
Dim make_broadcast(std::span<const Dim> operands);
Dim make_comparison(DimOp op, Dim a, Dim b);
Dim make_logical(DimOp op, std::span<const Dim> operands);  // and, or, not
Dim make_bitwise(DimOp op, Dim a, Dim b);                   // also shifts
Dim make_float(DimOp op, std::span<const Dim> operands);    // dim_float.cc: operations computed in f64

// The value of an operation on constants, or nothing if it has none.
std::optional<Dim> fold(DimOp op, bool is_float, std::span<const Dim> operands);
bool is_truth_value(Dim dim);  // is 0 or 1, whatever the symbols are
Dim as_truth_value(Dim dim);   // 1 if dim is not 0, else 0

}  // namespace tilewright
