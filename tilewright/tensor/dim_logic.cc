// Canonical comparisons, truth values and bit operations of integers.
#include <algorithm>
#include <bit>

#include "tilewright/tensor/dim_rules.h"

namespace tilewright {
namespace {

Dim node(DimOp op, Dim a, Dim b) {
  return DimTable::intern(op, {a, b}, false);
}

bool is_constant(Dim dim) {
  return dim.op() == DimOp::kConst;
}

// Commuting operands in canonical order, constants second.
void order(Dim& a, Dim& b) {
  const bool swap = is_constant(a) != is_constant(b) ? is_constant(a) : before(b, a);
  if (swap) std::swap(a, b);
}

Dim negation(Dim truth) {
  switch (truth.op()) {
    case DimOp::kEq:
      return DimTable::intern(DimOp::kNe, {truth.operands()[0], truth.operands()[1]}, false);
    case DimOp::kNe:
      return DimTable::intern(DimOp::kEq, {truth.operands()[0], truth.operands()[1]}, false);
    case DimOp::kNot:
      return truth.operands()[0];
    default:
      break;
  }
  const bool of_integers = !truth.operands().empty() && !truth.operands()[0].is_float();  // a nan is in no order
  if (truth.op() == DimOp::kLt && of_integers) return node(DimOp::kLe, truth.operands()[1], truth.operands()[0]);
  if (truth.op() == DimOp::kLe && of_integers) return node(DimOp::kLt, truth.operands()[1], truth.operands()[0]);
  return DimTable::intern(DimOp::kNot, {truth}, false);
}

void flatten(DimOp op, Dim dim, std::vector<Dim>& out) {
  if (dim.op() != op) return out.push_back(as_truth_value(dim));
  for (const Dim operand : dim.operands()) flatten(op, operand, out);
}

}  // namespace

bool is_truth_value(Dim dim) {
  switch (dim.op()) {
    case DimOp::kEq:
    case DimOp::kNe:
    case DimOp::kLt:
    case DimOp::kLe:
    case DimOp::kAnd:
    case DimOp::kOr:
    case DimOp::kNot:
      return true;
    default:
      return dim == Dim(0) || dim == Dim(1);
  }
}

Dim as_truth_value(Dim dim) {
  if (is_truth_value(dim)) return dim;
  const Dim operands[] = {dim, Dim(0)};
  return Dim::make(DimOp::kNe, operands);
}

Dim make_comparison(DimOp op, Dim a, Dim b) {
  if (const std::optional<std::int64_t> difference = (a - b).constant()) {
    const Dim constants[] = {Dim(*difference), Dim(0)};
    return *fold(op, false, constants);
  }
  if (op == DimOp::kEq || op == DimOp::kNe) {
    order(a, b);
    if (is_truth_value(a) && is_truth_value(b) && is_constant(b)) {
      return (b == Dim(1)) == (op == DimOp::kEq) ? a : negation(a);
    }
  }
  return node(op, a, b);
}

Dim make_logical(DimOp op, std::span<const Dim> operands) {
  if (op == DimOp::kNot) return negation(as_truth_value(operands[0]));
  std::vector<Dim> items;
  for (const Dim operand : operands) flatten(op, operand, items);
  std::sort(items.begin(), items.end(), before);
  items.erase(std::unique(items.begin(), items.end()), items.end());
  const Dim decides = op == DimOp::kAnd ? Dim(0) : Dim(1);
  if (std::find(items.begin(), items.end(), decides) != items.end()) return decides;
  std::erase(items, op == DimOp::kAnd ? Dim(1) : Dim(0));
  if (items.empty()) return op == DimOp::kAnd ? Dim(1) : Dim(0);
  Dim out = items[0];
  for (std::size_t i = 1; i < items.size(); ++i) out = node(op, out, items[i]);
  return out;
}

Dim make_bitwise(DimOp op, Dim a, Dim b) {
  const bool shift = op == DimOp::kShiftLeft || op == DimOp::kShiftRight;
  if (!shift) order(a, b);
  const std::optional<std::int64_t> constant = b.constant();
  if (shift && constant && *constant >= 0 && *constant <= 62) {
    const std::int64_t power = std::int64_t{1} << *constant;
    return op == DimOp::kShiftLeft ? a * Dim(power) : floordiv(a, Dim(power));
  }
  if (a == b && !shift) return op == DimOp::kBitXor ? Dim(0) : a;
  if (!shift && constant == 0) return op == DimOp::kBitAnd ? b : a;
  if (op == DimOp::kBitAnd && constant && *constant > 0 && *constant < INT64_MAX &&
      std::has_single_bit(static_cast<std::uint64_t>(*constant) + 1)) {
    return mod(a, Dim(*constant + 1));  // the low bits
  }
  return node(op, a, b);
}

}  // namespace tilewright
