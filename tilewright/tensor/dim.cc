#include "tilewright/tensor/dim.h"

#include <algorithm>
#include <unordered_map>

#include "tilewright/tensor/dim_arithmetic.h"
#include "tilewright/tensor/dim_rules.h"

namespace tilewright {
namespace {

Dim to_float(Dim dim) {
  if (dim.is_float()) return dim;
  if (dim.op() == DimOp::kConst) return Dim::real(static_cast<double>(DimTable::integer(dim)));
  return DimTable::intern(DimOp::kToFloat, {dim}, true);
}

DimValue value_of(Dim constant) {
  DimValue value{};
  if (constant.is_float())
    value.real = DimTable::real(constant);
  else
    value.integer = DimTable::integer(constant);
  return value;
}

// Operands as the operation takes them: see `takes` in dim_ops.def.
void convert_operands(DimOp op, std::span<Dim> operands) {
  const char takes = info(op).takes;
  const auto is_float = [](Dim dim) { return dim.is_float(); };
  const bool any_float = std::any_of(operands.begin(), operands.end(), is_float);
  if (takes == 'f' || (takes == 'n' && any_float)) {
    for (Dim& operand : operands) operand = to_float(operand);
  } else if (takes == 'b') {
    for (Dim& operand : operands) operand = operand.is_float() ? as_truth_value(operand) : operand;
  } else if (takes == 's') {
    if (operands[0].is_float()) operands[0] = as_truth_value(operands[0]);
    if (operands[1].is_float() || operands[2].is_float()) {
      operands[1] = to_float(operands[1]);
      operands[2] = to_float(operands[2]);
    }
  } else {
    TW_CHECK(takes == 'n' || !any_float, "this operation takes integers");
  }
}

Dim make_select(Dim condition, Dim if_true, Dim if_false) {
  if (condition.op() == DimOp::kConst) return condition == Dim(0) ? if_false : if_true;
  if (if_true == if_false) return if_true;
  if (condition.op() == DimOp::kNot) {
    condition = condition.operands()[0];
    std::swap(if_true, if_false);
  }
  return DimTable::intern(DimOp::kSelect, {condition, if_true, if_false}, if_true.is_float());
}

Dim make_integer(DimOp op, std::span<const Dim> operands) {
  switch (op) {
    case DimOp::kAdd:
      return make_sum(operands);
    case DimOp::kMul:
      return make_product(operands);
    case DimOp::kFloorDiv:
      return make_floordiv(operands[0], operands[1]);
    case DimOp::kMod:
      return make_mod(operands[0], operands[1]);
    case DimOp::kMin:
    case DimOp::kMax:
      return make_extremum(op, operands);
    case DimOp::kBroadcast:
      return make_broadcast(operands);
    case DimOp::kPow: {
      // A negative constant exponent gives a fraction.
      if (operands[1].constant().value_or(0) >= 0) return make_power(operands[0], operands[1]);
      const Dim floats[] = {to_float(operands[0]), to_float(operands[1])};
      return Dim::make(op, floats);
    }
    case DimOp::kFloor:
    case DimOp::kCeil:
    case DimOp::kRound:
    case DimOp::kTrunc:
      return operands[0];
    case DimOp::kAbs:
      return operands[0].op() == op ? operands[0] : DimTable::intern(op, {operands[0]}, false);
    case DimOp::kEq:
    case DimOp::kNe:
    case DimOp::kLt:
    case DimOp::kLe:
      return make_comparison(op, operands[0], operands[1]);
    case DimOp::kAnd:
    case DimOp::kOr:
    case DimOp::kNot:
      return make_logical(op, operands);
    case DimOp::kBitAnd:
    case DimOp::kBitOr:
    case DimOp::kBitXor:
    case DimOp::kShiftLeft:
    case DimOp::kShiftRight:
      return make_bitwise(op, operands[0], operands[1]);
    default:
      break;
  }
  TW_CHECK(false, "a symbol or constant is not made from operands");
  return Dim(0);
}

}  // namespace

std::optional<Dim> fold(DimOp op, bool is_float, std::span<const Dim> operands) {
  if (operands.empty() || operands.size() > 3) return std::nullopt;
  DimValue in[3] = {};
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (operands[i].op() != DimOp::kConst && operands[i].op() != DimOp::kFloatConst) return std::nullopt;
    in[i] = value_of(operands[i]);
  }
  DimValue out{};
  const DimFault fault = is_float ? apply_float(op, {in[0], in[1], in[2]}, out)
                                  : apply_integer(op, {in[0].integer, in[1].integer, in[2].integer}, out.integer);
  if (fault != DimFault::kNone) return std::nullopt;
  return is_float && info(op).gives != 'i' ? Dim::real(out.real) : Dim(out.integer);
}

Dim Dim::make(DimOp op, std::span<const Dim> given) {
  const DimOpInfo& row = info(op);
  TW_CHECK(row.operands < 0 ? !given.empty() : static_cast<std::size_t>(row.operands) == given.size(),
           "wrong number of operands");
  if (op == DimOp::kToFloat) return to_float(given[0]);
  if (row.operands < 0 && given.size() == 1) return given[0];
  std::vector<Dim> operands(given.begin(), given.end());
  const bool any_float = std::any_of(given.begin(), given.end(), [](Dim dim) { return dim.is_float(); });
  if (row.operands < 0 && any_float && operands.size() > 2) {
    Dim left = operands[0];  // grouped from the left, as written
    for (std::size_t i = 1; i < operands.size(); ++i) {
      const Dim pair[] = {left, operands[i]};
      left = make(op, pair);
    }
    return left;
  }
  convert_operands(op, operands);
  if (op == DimOp::kSelect) return make_select(operands[0], operands[1], operands[2]);
  const bool in_float = computes_in_float(row.gives == 'f', operands);
  if (in_float || row.operands >= 0) {
    const bool negative_power = op == DimOp::kPow && !in_float && operands[1].constant().value_or(0) < 0;
    if (!negative_power) {
      if (const std::optional<Dim> constant = fold(op, in_float, operands)) return *constant;
    }
  }
  return in_float ? make_float(op, operands) : make_integer(op, operands);
}

std::optional<std::int64_t> Dim::constant() const {
  if (node_->op != DimOp::kConst) return std::nullopt;
  return node_->integer;
}

std::optional<double> Dim::real_constant() const {
  if (node_->op == DimOp::kFloatConst) return node_->real;
  if (node_->op == DimOp::kConst) return static_cast<double>(node_->integer);
  return std::nullopt;
}

bool Dim::is_symbol() const {
  return node_->op == DimOp::kSymbol || node_->op == DimOp::kFloatSymbol;
}

namespace {
Dim make2(DimOp op, Dim a, Dim b) {
  const Dim operands[] = {a, b};
  return Dim::make(op, operands);
}
}  // namespace

Dim operator+(Dim a, Dim b) {
  return make2(DimOp::kAdd, a, b);
}
Dim operator*(Dim a, Dim b) {
  return make2(DimOp::kMul, a, b);
}
Dim operator-(Dim a) {
  return make2(DimOp::kMul, Dim(-1), a);
}
Dim operator-(Dim a, Dim b) {
  return a + (-b);
}
Dim floordiv(Dim a, Dim b) {
  return make2(DimOp::kFloorDiv, a, b);
}
Dim mod(Dim a, Dim b) {
  return make2(DimOp::kMod, a, b);
}
Dim min(Dim a, Dim b) {
  return make2(DimOp::kMin, a, b);
}
Dim max(Dim a, Dim b) {
  return make2(DimOp::kMax, a, b);
}
Dim broadcast(Dim a, Dim b) {
  return make2(DimOp::kBroadcast, a, b);
}

Dim ceildiv(Dim a, Dim b) {
  if (!a.is_float() && b.constant().value_or(0) > 0) return floordiv(a + Dim(*b.constant() - 1), b);
  return -floordiv(-a, b);
}

Dim select(Dim condition, Dim if_true, Dim if_false) {
  const Dim operands[] = {condition, if_true, if_false};
  return Dim::make(DimOp::kSelect, operands);
}

void collect_symbols(Dim dim, std::vector<Dim>& symbols) {
  if (dim.is_symbol()) {
    if (std::find(symbols.begin(), symbols.end(), dim) == symbols.end()) symbols.push_back(dim);
    return;
  }
  for (const Dim operand : dim.operands()) collect_symbols(operand, symbols);
}

namespace {
Dim substitute_once(Dim dim, const std::function<Dim(Dim)>& replacement, std::unordered_map<Dim, Dim>& done) {
  if (dim.is_symbol()) return replacement(dim);
  if (dim.operands().empty()) return dim;
  if (const auto found = done.find(dim); found != done.end()) return found->second;
  std::vector<Dim> operands;
  for (const Dim operand : dim.operands()) operands.push_back(substitute_once(operand, replacement, done));
  const bool same = std::equal(operands.begin(), operands.end(), dim.operands().begin());
  const Dim out = same ? dim : Dim::make(dim.op(), operands);
  done.emplace(dim, out);
  return out;
}
}  // namespace

Dim substitute(Dim dim, const std::function<Dim(Dim)>& replacement) {
  std::unordered_map<Dim, Dim> done;
  return substitute_once(dim, replacement, done);
}

}  // namespace tilewright
