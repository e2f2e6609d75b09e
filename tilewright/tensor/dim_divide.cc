// Canonical integer quotients and remainders. What divides exactly leaves the division, the rest is divided in lowest
// terms, and the constant left inside lies in [0, divisor). A symbolic divisor that cancels is taken to be non-zero, as
// in (s0*s1)//s1 = s0; one that stays is checked when the expression is evaluated.
#include <algorithm>
#include <numeric>

#include "tilewright/tensor/dim_rules.h"

namespace tilewright {
namespace {

std::int64_t floor_quotient(std::int64_t a, std::int64_t b) {  // b > 0
  return a / b - (a % b < 0 ? 1 : 0);
}
std::int64_t remainder(std::int64_t a, std::int64_t b) {  // b > 0
  return a % b + (a % b < 0 ? b : 0);
}

Dim add(Dim a, Dim b) {
  const Dim operands[] = {a, b};
  return make_sum(operands);
}
Dim negated(Dim a) {
  return scaled(-1, a);
}

std::int64_t common_coefficient(const Linear& linear, std::int64_t with) {
  for (const Term& term : linear.terms) {
    if (term.coefficient == INT64_MIN) return 1;
    with = std::gcd(with, term.coefficient);
  }
  return with;
}

// The single term of `linear` if its coefficient is 1 and its operation is `op` with a positive constant divisor.
std::optional<Dim> only_term(const Linear& linear, DimOp op) {
  if (linear.terms.size() != 1 || linear.terms[0].coefficient != 1) return std::nullopt;
  const Dim rest = linear.terms[0].rest;
  if (rest.op() != op || rest.operands()[1].constant().value_or(0) <= 0) return std::nullopt;
  return rest;
}

// True if x % m + c lies in [0, divisor) for every x.
bool stays_below(const Linear& linear, std::int64_t divisor) {
  const std::optional<Dim> term = only_term(linear, DimOp::kMod);
  if (!term || linear.constant < 0) return false;
  std::int64_t high = 0;
  return !__builtin_add_overflow(*term->operands()[1].constant() - 1, linear.constant, &high) && high < divisor;
}

// linear = divisor * quotient + linear, the terms that divide exactly and the multiple in the constant moved out.
Linear take_multiples(Linear& linear, std::int64_t divisor) {
  Linear quotient, rest;
  for (const Term& term : linear.terms) {
    if (term.coefficient % divisor == 0)
      quotient.terms.push_back({term.coefficient / divisor, term.rest});
    else
      rest.terms.push_back(term);
  }
  quotient.constant = floor_quotient(linear.constant, divisor);
  rest.constant = remainder(linear.constant, divisor);
  linear = std::move(rest);
  return quotient;
}

Dim floordiv_by_constant(Dim a, std::int64_t divisor) {  // divisor > 1
  std::optional<Linear> linear = as_linear(a);
  if (!linear) return DimTable::intern(DimOp::kFloorDiv, {a, Dim(divisor)}, false);
  const Dim quotient = from_linear(take_multiples(*linear, divisor));
  if (linear->terms.empty() || stays_below(*linear, divisor)) return quotient;
  const std::int64_t common = common_coefficient(*linear, divisor);
  for (Term& term : linear->terms) term.coefficient /= common;
  linear->constant /= common;
  if (common > 1) return add(quotient, floordiv_by_constant(from_linear(*linear), divisor / common));
  if (const std::optional<Dim> inner = only_term(*linear, DimOp::kFloorDiv)) {
    // (x // k + c) // d = (x + c*k) // (k*d)
    const std::int64_t k = *inner->operands()[1].constant();
    std::int64_t offset = 0, product = 0;
    if (!__builtin_mul_overflow(linear->constant, k, &offset) && !__builtin_mul_overflow(k, divisor, &product)) {
      return add(quotient, floordiv_by_constant(add(inner->operands()[0], Dim(offset)), product));
    }
  }
  return add(quotient, DimTable::intern(DimOp::kFloorDiv, {from_linear(*linear), Dim(divisor)}, false));
}

Dim mod_by_constant(Dim a, std::int64_t divisor) {  // divisor > 1
  std::optional<Linear> linear = as_linear(a);
  if (!linear) return DimTable::intern(DimOp::kMod, {a, Dim(divisor)}, false);
  take_multiples(*linear, divisor);
  for (Term& term : linear->terms) {
    // x % m with m a multiple of the divisor: x has the same remainder.
    const std::int64_t inner = term.rest.op() == DimOp::kMod ? term.rest.operands()[1].constant().value_or(0) : 0;
    if (inner == 0 || inner % divisor != 0) continue;
    if (stays_below(*linear, divisor)) break;
    term.rest = term.rest.operands()[0];
    return mod_by_constant(from_linear(*linear), divisor);
  }
  if (linear->terms.empty() || stays_below(*linear, divisor)) return from_linear(*linear);
  // (g*x + g*c + r) % (g*d) = g * ((x + c) % d) + r,   0 <= r < g
  const std::int64_t common = common_coefficient(*linear, divisor);
  for (Term& term : linear->terms) term.coefficient /= common;
  const std::int64_t offset = linear->constant % common;
  linear->constant /= common;
  const Dim rest = from_linear(*linear);
  if (common > 1) return add(scaled(common, mod_by_constant(rest, divisor / common)), Dim(offset));
  return DimTable::intern(DimOp::kMod, {rest, Dim(divisor)}, false);
}

// A divisor as coefficient * product of factors.
struct Divisor {
  std::int64_t coefficient = 1;
  std::vector<Dim> factors;
};

Divisor as_divisor(Dim b) {
  if (b.op() != DimOp::kAdd) {
    const Term term = as_term(b);
    return {term.coefficient, factors_of(term.rest)};
  }
  std::optional<Linear> linear = as_linear(b);
  if (!linear || linear->terms.empty()) return {1, {b}};
  const std::int64_t common = linear->constant == INT64_MIN ? 1 : common_coefficient(*linear, linear->constant);
  if (common == 1) return {1, {b}};
  for (Term& term : linear->terms) term.coefficient /= common;
  linear->constant /= common;
  return {common, {from_linear(*linear)}};
}

// Removes `wanted` from `factors`; false, and nothing removed, if some are not there.
bool take_factors(std::vector<Dim>& factors, std::span<const Dim> wanted) {
  std::vector<Dim> left = factors;
  for (const Dim factor : wanted) {
    const auto found = std::find(left.begin(), left.end(), factor);
    if (found == left.end()) return false;
    left.erase(found);
  }
  factors = std::move(left);
  return true;
}

std::optional<Dim> exact_quotient(const Term& term, const Divisor& divisor) {
  if (term.coefficient == INT64_MIN || term.coefficient % divisor.coefficient != 0) return std::nullopt;
  std::vector<Dim> factors = factors_of(term.rest);
  if (!take_factors(factors, divisor.factors)) return std::nullopt;
  factors.push_back(Dim(term.coefficient / divisor.coefficient));
  return make_product(factors);
}

// a = b * ratio for sums of the same shape.
std::optional<std::int64_t> ratio(const Linear& a, const Linear& b) {
  if (a.terms.size() != b.terms.size() || a.terms.empty() || a.terms[0].coefficient == INT64_MIN) return std::nullopt;
  const std::int64_t times = a.terms[0].coefficient / b.terms[0].coefficient;
  const auto matches = [times](std::int64_t x, std::int64_t y) {
    std::int64_t product = 0;
    return !__builtin_mul_overflow(y, times, &product) && product == x;
  };
  for (std::size_t i = 0; i < a.terms.size(); ++i) {
    if (a.terms[i].rest != b.terms[i].rest || !matches(a.terms[i].coefficient, b.terms[i].coefficient)) {
      return std::nullopt;
    }
  }
  return matches(a.constant, b.constant) ? std::optional(times) : std::nullopt;
}

// a = b * quotient + a, what divides exactly moved out.
Dim take_exact(Dim& a, Dim b) {
  const std::optional<Linear> linear = as_linear(a);
  const std::optional<Linear> by = as_linear(b);
  if (!linear || !by) return Dim(0);
  if (const std::optional<std::int64_t> times = ratio(*linear, *by)) {
    a = Dim(0);
    return Dim(*times);
  }
  const Divisor divisor = as_divisor(b);
  std::vector<Dim> quotient;
  Linear rest;
  rest.constant = linear->constant;
  for (const Term& term : linear->terms) {
    if (const std::optional<Dim> exact = exact_quotient(term, divisor))
      quotient.push_back(*exact);
    else
      rest.terms.push_back(term);
  }
  if (quotient.empty()) return Dim(0);
  a = from_linear(rest);
  return make_sum(quotient);
}

// Divides every term by `factor`; false, and nothing divided, if one does not have it.
bool cancel_factor(Linear& linear, Dim factor) {
  if (linear.constant != 0) return false;
  std::vector<Term> divided;
  for (const Term& term : linear.terms) {
    std::vector<Dim> factors = factors_of(term.rest);
    if (!take_factors(factors, {&factor, 1})) return false;
    divided.push_back({term.coefficient, make_product(factors)});
  }
  linear.terms = std::move(divided);
  return true;
}

// a // b in lowest terms: coefficients and factors that all terms of a share with b are cancelled.
void cancel_common(Dim& a, Dim& b) {
  std::optional<Linear> linear = as_linear(a);
  Divisor divisor = as_divisor(b);
  if (!linear || linear->terms.empty() || linear->constant == INT64_MIN || divisor.coefficient == INT64_MIN) return;
  // The lowest number has no negative: it is divided by nothing.
  for (const Term& term : linear->terms) {
    if (term.coefficient == INT64_MIN) return;
  }
  std::int64_t common = common_coefficient(*linear, std::gcd(divisor.coefficient, linear->constant));
  if (divisor.coefficient < 0) common = -common;
  std::vector<Dim> kept;
  for (const Dim factor : divisor.factors) {
    if (!cancel_factor(*linear, factor)) kept.push_back(factor);
  }
  for (Term& term : linear->terms) term.coefficient /= common;
  linear->constant /= common;
  kept.push_back(Dim(divisor.coefficient / common));
  a = from_linear(*linear);
  b = make_product(kept);
}

}  // namespace

Dim make_floordiv(Dim a, Dim b) {
  const Dim operands[] = {a, b};  // cancelling may have left constants
  if (const std::optional<Dim> constant = fold(DimOp::kFloorDiv, false, operands)) return *constant;
  const std::optional<std::int64_t> divisor = b.constant();
  if (divisor) {
    if (*divisor == 1) return a;
    if (*divisor > 1) return floordiv_by_constant(a, *divisor);
    if (*divisor < 0 && *divisor != INT64_MIN) return make_floordiv(negated(a), Dim(-*divisor));
    return DimTable::intern(DimOp::kFloorDiv, {a, b}, false);
  }
  if (a == Dim(0)) return a;
  const Dim quotient = take_exact(a, b);
  if (a == Dim(0)) return quotient;
  const Dim before_cancelling = b;
  cancel_common(a, b);
  if (b != before_cancelling) return add(quotient, make_floordiv(a, b));
  return add(quotient, DimTable::intern(DimOp::kFloorDiv, {a, b}, false));
}

Dim make_mod(Dim a, Dim b) {
  const std::optional<std::int64_t> divisor = b.constant();
  if (divisor) {
    if (*divisor == 1 || *divisor == -1) return Dim(0);
    if (*divisor > 1) return mod_by_constant(a, *divisor);
    if (*divisor < 0 && *divisor != INT64_MIN) return negated(make_mod(negated(a), Dim(-*divisor)));
    return DimTable::intern(DimOp::kMod, {a, b}, false);
  }
  take_exact(a, b);
  if (a == Dim(0)) return a;
  return DimTable::intern(DimOp::kMod, {a, b}, false);
}

}  // namespace tilewright
