// Operations computed in f64. Only identities that hold bit for bit are applied (1.0*x, x + -0.0, the order of two
// operands): rounding depends on how sums and products are grouped, so they stay as the program wrote them.
#include <cmath>

#include "tilewright/tensor/dim_rules.h"

namespace tilewright {
namespace {

bool is_real(Dim dim, double value) {
  return dim.op() == DimOp::kFloatConst && DimTable::real(dim) == value &&
         std::signbit(DimTable::real(dim)) == std::signbit(value);
}

bool is_negated(Dim dim) {
  return dim.op() == DimOp::kMul && dim.is_float() && is_real(dim.operands()[0], -1.0);
}

// Constants first in products, last elsewhere; an inner sum first, so that it needs no parentheses.
void order(DimOp op, Dim& a, Dim& b) {
  if (op == DimOp::kAdd && (a.op() == op) != (b.op() == op)) {
    if (b.op() == op) std::swap(a, b);
    return;
  }
  const bool a_constant = a.op() == DimOp::kFloatConst;
  const bool b_constant = b.op() == DimOp::kFloatConst;
  const bool constant_first = op == DimOp::kMul;
  const bool swap = a_constant != b_constant ? (constant_first ? b_constant : a_constant) : before(b, a);
  if (swap) std::swap(a, b);
}

Dim node(DimOp op, std::vector<Dim> operands) {
  const char gives = info(op).gives;
  return DimTable::intern(op, std::move(operands), gives != 'i');
}

Dim binary(DimOp op, Dim a, Dim b) {
  switch (op) {
    case DimOp::kAdd:
      order(op, a, b);
      if (is_real(b, -0.0)) return a;
      break;
    case DimOp::kMul:
      order(op, a, b);
      if (is_real(a, 1.0)) return b;
      if (is_real(a, -1.0) && is_negated(b)) return b.operands()[1];
      break;
    case DimOp::kTrueDiv:
      if (is_real(b, 1.0)) return a;
      break;
    case DimOp::kPow:
      if (is_real(b, 1.0)) return a;
      if (b.op() == DimOp::kFloatConst && DimTable::real(b) == 0) return Dim::real(1.0);
      break;
    case DimOp::kMin:
    case DimOp::kMax:
      if (a == b) return a;
      break;
    case DimOp::kEq:
    case DimOp::kNe:
      order(op, a, b);
      break;
    default:
      break;
  }
  return node(op, {a, b});
}

Dim unary(DimOp op, Dim a) {
  const bool rounds = info(op).gives == 'i';
  if (rounds && a.op() == DimOp::kToFloat) return a.operands()[0];
  if (op == DimOp::kAbs && a.op() == DimOp::kAbs) return a;
  return node(op, {a});
}

}  // namespace

Dim make_float(DimOp op, std::span<const Dim> operands) {
  if (operands.size() == 1) return unary(op, operands[0]);
  TW_CHECK(operands.size() == 2, "sums and products of f64 have two operands");
  return binary(op, operands[0], operands[1]);
}

}  // namespace tilewright
