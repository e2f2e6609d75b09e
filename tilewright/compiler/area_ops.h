// Which strip operation, reduction or row phase a graph op becomes, and what it needs around it.
#pragma once

#include <optional>

#include "tilewright/graph/op.h"
#include "tilewright/isa/program.h"

namespace tilewright::compiler {

std::optional<isa::StripOp> strip_op_of(Op op);    // elementwise ops with a strip operation of their own
bool is_comparison(Op op);                         // the result is a mask
bool is_test(Op op);                               // one input, the result is a mask
bool may_leave_range(Op op);                       // of narrow integers: the result has to be wrapped
std::optional<isa::StripOp> wrap_of(DType dtype);  // i8, u8, i16
std::optional<isa::ReduceKind> reduce_kind_of(Op op);
std::optional<isa::PhaseOp> row_phase_of(Op op);

}  // namespace tilewright::compiler
