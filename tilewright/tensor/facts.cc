#include "tilewright/tensor/facts.h"

#include <algorithm>
#include <numeric>
#include <unordered_set>

#include "tilewright/tensor/dim_rules.h"

namespace tilewright {
namespace {

constexpr std::size_t kMostTerms = 256;  // of a product that is multiplied out

Answer yes_if(bool condition) {
  return condition ? Answer::kYes : Answer::kNo;
}

// `rest` with products of sums multiplied out; nothing if that gives too many terms.
std::optional<std::vector<Dim>> multiplied_out(Dim rest) {
  std::vector<Dim> terms{Dim(1)};
  for (const Dim factor : rest.op() == DimOp::kMul ? factors_of(rest) : std::vector<Dim>{rest}) {
    std::vector<Dim> next;
    const std::vector<Dim> single{factor};
    const std::span<const Dim> parts = factor.op() == DimOp::kAdd ? factor.operands() : std::span<const Dim>(single);
    if (parts.size() * terms.size() > kMostTerms) return std::nullopt;
    for (const Dim term : terms) {
      for (const Dim part : parts) next.push_back(term * part);
    }
    terms = std::move(next);
  }
  return terms;
}

Dim expand(Dim dim) {
  std::vector<Dim> terms;
  bool changed = false;
  for (const Dim term : dim.op() == DimOp::kAdd ? dim.operands() : std::span<const Dim>(&dim, 1)) {
    const bool has_sum = term.op() == DimOp::kMul && std::any_of(term.operands().begin(), term.operands().end(),
                                                                 [](Dim factor) { return factor.op() == DimOp::kAdd; });
    const std::optional<std::vector<Dim>> parts = has_sum ? multiplied_out(term) : std::nullopt;
    if (!parts) {
      terms.push_back(term);
      continue;
    }
    changed = true;
    terms.insert(terms.end(), parts->begin(), parts->end());
  }
  return changed ? make_sum(terms) : dim;
}

bool occurs(Dim part, Dim dim, std::unordered_set<Dim>& seen) {
  if (part == dim) return true;
  if (!seen.insert(dim).second) return false;
  const auto operands = dim.operands();
  return std::any_of(operands.begin(), operands.end(), [&](Dim operand) { return occurs(part, operand, seen); });
}
bool occurs(Dim part, Dim dim) {
  std::unordered_set<Dim> seen;
  return occurs(part, dim, seen);
}

// symbol -> expression, from `difference` = 0, if a symbol stands alone in it.
std::optional<std::pair<Dim, Dim>> solve(Dim difference) {
  std::optional<Linear> linear = as_linear(difference);
  if (!linear || linear->constant == INT64_MIN) return std::nullopt;
  std::int64_t content = linear->constant;
  for (const Term& term : linear->terms) {
    if (term.coefficient == INT64_MIN) return std::nullopt;
    content = std::gcd(content, term.coefficient);
  }
  for (std::size_t i = linear->terms.size(); content != 0 && i-- > 0;) {
    const Term term = linear->terms[i];
    if (!term.rest.is_symbol() || std::abs(term.coefficient) != content) continue;
    Linear others;
    for (const Term& other : linear->terms) {
      if (other.rest != term.rest) others.terms.push_back({other.coefficient / -term.coefficient, other.rest});
    }
    others.constant = linear->constant / -term.coefficient;
    const Dim expression = from_linear(others);
    if (!occurs(term.rest, expression)) return std::pair(term.rest, expression);
  }
  return std::nullopt;
}

}  // namespace

void Facts::set_range(Dim symbol, Range range) {
  const auto [found, inserted] = ranges_.try_emplace(symbol, range);
  if (!inserted) found->second = range;
}

void Facts::set_divisor(Dim symbol, std::int64_t divisor) {
  if (divisor <= 1) return;
  std::int64_t& known = divisors_.try_emplace(symbol, 1).first->second;
  std::int64_t both = 0;
  if (!__builtin_mul_overflow(known / std::gcd(known, divisor), divisor, &both)) known = both;
}

void Facts::set_equal(Dim a, Dim b) {
  a = simplify(a);
  b = simplify(b);
  if (a == b || (a.real_constant() && b.real_constant())) return;
  std::optional<std::pair<Dim, Dim>> rule;
  if (!a.is_float() && !b.is_float()) rule = solve(a - b);
  if (!rule) {
    const bool keep_a = a.real_constant() || (!b.real_constant() && compare(a, b) < 0);
    rule = keep_a ? std::pair(b, a) : std::pair(a, b);
    if (occurs(rule->first, rule->second)) std::swap(rule->first, rule->second);
  }
  equal_.insert_or_assign(rule->first, rule->second);
}

Answer Facts::same_as_is(Dim a, Dim b) const {
  if (a == b) return Answer::kYes;
  if (a.constant() && b.constant()) return Answer::kNo;
  const Range range_a = range_of(a), range_b = range_of(b);
  if (range_a.high < range_b.low || range_b.high < range_a.low) return Answer::kNo;
  const Dim difference = expand(a - b);
  if (const std::optional<std::int64_t> constant = difference.constant()) return yes_if(*constant == 0);
  const Range range = range_of(difference);
  if (range.low > 0 || range.high < 0) return Answer::kNo;
  if (range.low == 0 && range.high == 0) return Answer::kYes;
  int budget = kBudget;
  return congruence(difference, budget).remainder != 0 ? Answer::kNo : Answer::kUnknown;
}

Answer Facts::same(Dim a, Dim b) const {
  if (a == b) return Answer::kYes;
  if (a.is_float() || b.is_float()) {
    const std::optional<double> x = simplify(a).real_constant();
    const std::optional<double> y = simplify(b).real_constant();
    return x && y ? yes_if(*x == *y) : Answer::kUnknown;
  }
  const Answer answer = same_as_is(a, b);
  if (answer != Answer::kUnknown) return answer;
  return same_as_is(simplify(expand(a - b)), Dim(0));
}

Answer Facts::at_most(Dim a, Dim b, int depth) const {
  if (a == b) return Answer::kYes;
  const Range range_a = range_of(a), range_b = range_of(b);
  if (range_a.high <= range_b.low) return Answer::kYes;
  if (range_a.low > range_b.high) return Answer::kNo;
  const Range difference = range_of(expand(b - a));
  if (difference.low >= 0) return Answer::kYes;
  if (difference.high < 0) return Answer::kNo;
  if (depth == 0) return Answer::kUnknown;
  const auto any_yes = [&](Dim x, Dim y) { return at_most(x, y, depth - 1) == Answer::kYes; };
  if (a.op() == DimOp::kMin && (any_yes(a.operands()[0], b) || any_yes(a.operands()[1], b))) return Answer::kYes;
  if (b.op() == DimOp::kMax && (any_yes(a, b.operands()[0]) || any_yes(a, b.operands()[1]))) return Answer::kYes;
  if (a.op() == DimOp::kMax && any_yes(a.operands()[0], b) && any_yes(a.operands()[1], b)) return Answer::kYes;
  if (b.op() == DimOp::kMin && any_yes(a, b.operands()[0]) && any_yes(a, b.operands()[1])) return Answer::kYes;
  const bool shrinks = a.op() == DimOp::kFloorDiv || a.op() == DimOp::kMod;  // x // k and x % k of x >= 0 are at most x
  if (shrinks && range_of(a.operands()[0]).low >= 0 && range_of(a.operands()[1]).low >= 0 &&
      any_yes(a.operands()[0], b)) {
    return Answer::kYes;
  }
  return Answer::kUnknown;
}

Answer Facts::less_equal_as_is(Dim a, Dim b) const {
  constexpr int kDepth = 3;
  const Answer forward = at_most(a, b, kDepth);
  if (forward != Answer::kUnknown) return forward;
  return at_most(b + Dim(1), a, kDepth) == Answer::kYes ? Answer::kNo : Answer::kUnknown;
}

Answer Facts::less_equal(Dim a, Dim b) const {
  if (a.is_float() || b.is_float()) {
    const std::optional<double> x = simplify(a).real_constant(), y = simplify(b).real_constant();
    return x && y ? yes_if(*x <= *y) : Answer::kUnknown;
  }
  Answer answer = less_equal_as_is(a, b);
  if (answer == Answer::kUnknown) answer = less_equal_as_is(Dim(0), simplify(expand(b - a)));
  return answer != Answer::kUnknown ? answer : less_equal_as_is(simplify(a), simplify(b));
}

Answer Facts::less(Dim a, Dim b) const {
  if (a.is_float() || b.is_float()) {
    const std::optional<double> x = simplify(a).real_constant(), y = simplify(b).real_constant();
    return x && y ? yes_if(*x < *y) : Answer::kUnknown;
  }
  const Answer reverse = less_equal(b, a);  // a < b unless b <= a
  return reverse == Answer::kUnknown ? Answer::kUnknown : yes_if(reverse == Answer::kNo);
}

Answer Facts::divisible_as_is(Dim a, std::int64_t divisor) const {
  int budget = kBudget;
  const Congruence residue = congruence(a, budget);
  if (residue.modulus % divisor == 0) return yes_if(residue.remainder % divisor == 0);
  if (residue.remainder % std::gcd(residue.modulus, divisor) != 0) return Answer::kNo;
  const Range bounds = range_of(a);
  if (bounds.low == bounds.high) return yes_if(bounds.low % divisor == 0);
  if ((bounds.low > 0 && bounds.high < divisor) || (bounds.high < 0 && bounds.low > -divisor)) return Answer::kNo;
  return Answer::kUnknown;
}

Answer Facts::divisible(Dim a, std::int64_t divisor) const {
  if (divisor == 0 || divisor == INT64_MIN || a.is_float()) return Answer::kUnknown;
  divisor = std::abs(divisor);
  const Answer answer = divisible_as_is(a, divisor);
  return answer != Answer::kUnknown ? answer : divisible_as_is(simplify(expand(a)), divisor);
}

}  // namespace tilewright
