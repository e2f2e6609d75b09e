// Facts::simplify: equalities replace, ranges and divisibility decide what a canonical form alone must leave open.
#include <algorithm>

#include "tilewright/tensor/dim_rules.h"
#include "tilewright/tensor/facts.h"

namespace tilewright {
namespace {

constexpr int kMostRounds = 8;  // of replacements by equalities

bool is_integer_op(Dim dim) {
  return !dim.is_float() && (dim.operands().empty() || !dim.operands()[0].is_float());
}

}  // namespace

Dim Facts::simplify(Dim dim) const {
  if (dim.operands().empty() && equal_.empty() && ranges_.empty()) return dim;
  for (int round = 0; round < kMostRounds; ++round) {
    std::unordered_map<Dim, Dim> done;
    const Dim next = simplify_once(dim, done);
    if (next == dim) break;
    dim = next;
  }
  return dim;
}

Dim Facts::simplify_once(Dim dim, std::unordered_map<Dim, Dim>& done) const {
  if (const auto found = done.find(dim); found != done.end()) return found->second;
  Dim out = dim;
  if (const auto equal = equal_.find(dim); equal != equal_.end()) {
    out = equal->second;
  } else if (!dim.operands().empty()) {
    std::vector<Dim> operands;
    for (const Dim operand : dim.operands()) operands.push_back(simplify_once(operand, done));
    const bool changed = !std::equal(operands.begin(), operands.end(), dim.operands().begin());
    out = simplify_node(changed ? Dim::make(dim.op(), operands) : dim);
  } else {
    out = simplify_node(dim);
  }
  done.emplace(dim, out);
  return out;
}

// k * (x // k) and its multiples, where x is a multiple of k.
std::optional<Dim> Facts::without_rounding(Dim dim) const {
  if (dim.op() != DimOp::kMul && dim.op() != DimOp::kAdd) return std::nullopt;
  if (divisors_.empty()) return std::nullopt;
  std::optional<Linear> linear = as_linear(dim);
  if (!linear) return std::nullopt;
  bool changed = false;
  for (Term& term : linear->terms) {
    std::vector<Dim> factors = factors_of(term.rest);
    for (Dim& factor : factors) {
      if (factor.op() != DimOp::kFloorDiv) continue;
      const std::int64_t divisor = factor.operands()[1].constant().value_or(0);
      if (divisor <= 1 || term.coefficient % divisor != 0) continue;
      if (divisible_as_is(factor.operands()[0], divisor) != Answer::kYes) continue;
      term.coefficient /= divisor;
      factor = factor.operands()[0];
      changed = true;
    }
    if (changed) term.rest = make_product(factors);
  }
  return changed ? std::optional(from_linear(*linear)) : std::nullopt;
}

Dim Facts::simplify_node(Dim dim) const {
  if (!is_integer_op(dim) || dim.constant()) return dim;
  const Range bounds = range_of(dim);
  if (bounds.low == bounds.high) return Dim(bounds.low);
  if (dim.operands().empty()) return dim;
  const Dim a = dim.operands()[0];
  const Dim b = dim.operands().size() > 1 ? dim.operands()[1] : a;
  const auto decided = [](Answer answer, Dim if_yes, Dim if_no, Dim otherwise) {
    return answer == Answer::kYes ? if_yes : (answer == Answer::kNo ? if_no : otherwise);
  };
  const auto range_fits = [&](Dim x, Dim below) {  // 0 <= x < below
    const Range of_x = range_of(x);
    return of_x.low >= 0 && of_x.high < range_of(below).low;
  };
  switch (dim.op()) {
    case DimOp::kMin:
      return decided(less_equal_as_is(a, b), a, b, dim);
    case DimOp::kMax:
      return decided(less_equal_as_is(a, b), b, a, dim);
    case DimOp::kBroadcast:
      return decided(same_as_is(a, Dim(1)), b, a, decided(same_as_is(b, Dim(1)), a, b, dim));
    case DimOp::kMod:
      if (range_fits(a, b)) return a;
      return b.constant().value_or(0) > 0 && divisible_as_is(a, *b.constant()) == Answer::kYes ? Dim(0) : dim;
    case DimOp::kFloorDiv:
      return range_fits(a, b) ? Dim(0) : dim;
    case DimOp::kAbs:
      return decided(less_equal_as_is(Dim(0), a), a, -a, dim);
    case DimOp::kEq:
      return decided(same_as_is(a, b), Dim(1), Dim(0), dim);
    case DimOp::kNe:
      return decided(same_as_is(a, b), Dim(0), Dim(1), dim);
    case DimOp::kLt:
      return decided(less_equal_as_is(b, a), Dim(0), Dim(1), dim);
    case DimOp::kLe:
      return decided(less_equal_as_is(a, b), Dim(1), Dim(0), dim);
    case DimOp::kSelect:
      return decided(same_as_is(a, Dim(0)), dim.operands()[2], dim.operands()[1], dim);
    case DimOp::kAdd:
    case DimOp::kMul:
      return without_rounding(dim).value_or(dim);
    default:
      return dim;
  }
}

}  // namespace tilewright
