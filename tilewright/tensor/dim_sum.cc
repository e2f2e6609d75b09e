// Canonical sums and products of integers. A sum is flat, its terms are in order, each rest appears once and constants
// come last; a product is constant first, then factors in order. A number that does not fit int64 stays as several
// constants, so that evaluating the expression reports the overflow.
#include <algorithm>
#include <utility>

#include "tilewright/tensor/dim_rules.h"

namespace tilewright {
namespace {

using Wide = __int128;

bool is_constant(Dim dim) {
  return dim.op() == DimOp::kConst;
}
bool fits(Wide value) {
  return value >= INT64_MIN && value <= INT64_MAX;
}

// `value` as the fewest int64 that add up to it.
std::vector<std::int64_t> pieces(Wide value) {
  std::vector<std::int64_t> out;
  while (value != 0) {
    const Wide piece = value > INT64_MAX ? Wide{INT64_MAX} : (value < INT64_MIN ? Wide{INT64_MIN} : value);
    out.push_back(static_cast<std::int64_t>(piece));
    value -= piece;
  }
  return out;
}

struct WideTerm {
  Wide coefficient;
  Dim rest;
};

void gather(Dim dim, std::vector<WideTerm>& terms, Wide& constant) {
  if (dim.op() == DimOp::kAdd) {
    for (const Dim operand : dim.operands()) gather(operand, terms, constant);
  } else if (is_constant(dim)) {
    constant += DimTable::integer(dim);
  } else {
    const Term term = as_term(dim);
    if (is_constant(term.rest))
      constant += Wide{term.coefficient} * DimTable::integer(term.rest);
    else
      terms.push_back({term.coefficient, term.rest});
  }
}

void merge_like_terms(std::vector<WideTerm>& terms) {
  std::sort(terms.begin(), terms.end(), [](const WideTerm& a, const WideTerm& b) { return before(a.rest, b.rest); });
  std::size_t kept = 0;
  for (std::size_t i = 0; i < terms.size();) {
    WideTerm merged = terms[i];
    for (++i; i < terms.size() && terms[i].rest == merged.rest; ++i) merged.coefficient += terms[i].coefficient;
    if (merged.coefficient != 0) terms[kept++] = merged;
  }
  terms.erase(terms.begin() + static_cast<std::ptrdiff_t>(kept), terms.end());
}

std::uint64_t magnitude(std::int64_t value) {
  return value < 0 ? std::uint64_t{0} - static_cast<std::uint64_t>(value) : static_cast<std::uint64_t>(value);
}

// The product of constants, none of them 0, as few factors of int64. One factor if the product fits.
std::vector<std::int64_t> combine(std::span<const std::int64_t> constants) {
  constexpr std::uint64_t kLimit = INT64_MAX;
  constexpr std::uint64_t kLowest = kLimit + 1;  // only as a negative number
  std::vector<std::uint64_t> sorted;
  bool negative = false;
  for (const std::int64_t constant : constants) {
    negative ^= constant < 0;
    sorted.push_back(magnitude(constant));
  }
  std::sort(sorted.begin(), sorted.end());
  std::vector<std::uint64_t> groups{1};
  for (const std::uint64_t value : sorted) {
    std::uint64_t product = 0;
    const bool fits_word = !__builtin_mul_overflow(groups.back(), value, &product);
    const bool is_lowest = product == kLowest && negative && &value == &sorted.back();
    if (fits_word && (product <= kLimit || is_lowest))
      groups.back() = product;
    else
      groups.push_back(value);
  }
  std::sort(groups.begin(), groups.end());  // no two of them multiply to an int64
  std::vector<std::int64_t> out;
  for (const std::uint64_t group : groups) {
    if (group == kLowest) negative = !negative;
    out.push_back(static_cast<std::int64_t>(group));  // the lowest number wraps to itself
  }
  if (negative) {
    const auto first = std::find_if(out.begin(), out.end(), [](std::int64_t value) { return value != INT64_MIN; });
    if (first != out.end())
      *first = -*first;
    else
      out.insert(out.begin(), -1);
  }
  if (out.size() > 1 && out.front() == 1) out.erase(out.begin());
  return out;
}

Dim sum_of(std::vector<WideTerm>& terms, Wide constant);

// coefficient * sum, term by term; nothing if that takes numbers far beyond int64.
std::optional<Dim> distribute(std::int64_t coefficient, Dim sum) {
  constexpr Wide kFar = Wide{INT64_MAX} * 8;
  const auto too_far = [](Wide value) { return value > kFar || value < -kFar; };
  std::vector<WideTerm> terms;
  Wide constant = 0;
  gather(sum, terms, constant);
  if (too_far(constant) || too_far(constant * coefficient)) return std::nullopt;
  for (WideTerm& term : terms) {
    if (too_far(term.coefficient) || too_far(term.coefficient * coefficient)) return std::nullopt;
    term.coefficient *= coefficient;
  }
  return sum_of(terms, constant * coefficient);
}

// Takes the common factor out of a sum and makes its first number positive. Returns that factor.
std::int64_t take_content(Dim& sum) {
  std::vector<WideTerm> terms;
  Wide constant = 0;
  gather(sum, terms, constant);
  merge_like_terms(terms);
  const auto common = [](Wide a, Wide b) {
    while (b != 0) a = std::exchange(b, a % b);
    return a < 0 ? -a : a;
  };
  Wide content = constant;
  for (const WideTerm& term : terms) content = common(content, term.coefficient);
  if (terms.empty() || content > INT64_MAX) content = 1;
  if ((terms.empty() ? constant : terms.front().coefficient) < 0) content = -content;
  if (content == 1 || content == 0) return 1;
  for (WideTerm& term : terms) term.coefficient /= content;
  sum = sum_of(terms, constant / content);
  return static_cast<std::int64_t>(content);
}

Dim sum_of(std::vector<WideTerm>& terms, Wide constant) {
  merge_like_terms(terms);
  std::vector<Dim> sum;
  bool has_new_terms = false;
  for (const WideTerm& term : terms) {
    const bool wide_product = term.rest.op() == DimOp::kMul && is_constant(term.rest.operands()[0]);
    has_new_terms = has_new_terms || (wide_product && term.coefficient != 1 && term.coefficient != -1);
    for (const std::int64_t coefficient : pieces(term.coefficient)) {
      sum.push_back(scaled(coefficient, term.rest));
      has_new_terms = has_new_terms || sum.back().op() == DimOp::kAdd;  // the coefficient could be distributed
    }
  }
  for (const std::int64_t piece : pieces(constant)) sum.push_back(Dim(piece));
  if (has_new_terms) return make_sum(sum);
  if (sum.empty()) return Dim(0);
  if (sum.size() == 1) return sum[0];
  return DimTable::intern(DimOp::kAdd, std::move(sum), false);
}

}  // namespace

Term as_term(Dim dim) {
  if (dim.op() != DimOp::kMul || dim.is_float()) return {1, dim};
  const std::span<const Dim> operands = dim.operands();
  if (!is_constant(operands[0])) return {1, dim};
  if (is_constant(operands[1])) {  // a number that does not fit int64: only its sign is taken out
    const std::int64_t first = DimTable::integer(operands[0]);
    if (first >= 0 || first == INT64_MIN) return {1, dim};
    std::vector<Dim> positive(operands.begin(), operands.end());
    positive[0] = Dim(-first);
    return {-1, make_product(positive)};
  }
  if (operands.size() == 2) return {DimTable::integer(operands[0]), operands[1]};
  return {DimTable::integer(operands[0]), DimTable::intern(DimOp::kMul, {operands.begin() + 1, operands.end()}, false)};
}

std::vector<Dim> factors_of(Dim rest) {
  if (rest.op() != DimOp::kMul) return {rest};
  return {rest.operands().begin(), rest.operands().end()};
}

std::optional<Linear> as_linear(Dim dim) {
  std::vector<WideTerm> terms;
  Wide constant = 0;
  gather(dim, terms, constant);
  merge_like_terms(terms);
  Linear out;
  for (const WideTerm& term : terms) {
    if (!fits(term.coefficient)) return std::nullopt;
    out.terms.push_back({static_cast<std::int64_t>(term.coefficient), term.rest});
  }
  if (!fits(constant)) return std::nullopt;
  out.constant = static_cast<std::int64_t>(constant);
  return out;
}

Dim from_linear(const Linear& linear) {
  std::vector<Dim> operands;
  for (const Term& term : linear.terms) operands.push_back(scaled(term.coefficient, term.rest));
  operands.push_back(Dim(linear.constant));
  return make_sum(operands);
}

Dim scaled(std::int64_t coefficient, Dim rest) {
  if (coefficient == 0) return Dim(0);
  if (coefficient == 1) return rest;
  if (rest.op() == DimOp::kConst || rest.op() == DimOp::kAdd ||
      (rest.op() == DimOp::kMul && is_constant(rest.operands()[0]))) {
    const Dim operands[] = {Dim(coefficient), rest};
    return make_product(operands);
  }
  std::vector<Dim> operands{Dim(coefficient)};
  for (const Dim factor : factors_of(rest)) operands.push_back(factor);
  return DimTable::intern(DimOp::kMul, std::move(operands), false);
}

Dim make_sum(std::span<const Dim> operands) {
  std::vector<WideTerm> terms;
  Wide constant = 0;
  for (const Dim operand : operands) gather(operand, terms, constant);
  return sum_of(terms, constant);
}

Dim make_product(std::span<const Dim> operands) {
  std::vector<std::int64_t> constants;
  std::vector<Dim> factors;
  const auto add_factor = [&](Dim factor) {
    if (is_constant(factor))
      constants.push_back(DimTable::integer(factor));
    else
      factors.push_back(factor);
  };
  for (const Dim operand : operands) {
    if (operand.op() == DimOp::kMul) {
      for (const Dim factor : operand.operands()) add_factor(factor);
    } else {
      add_factor(operand);
    }
  }
  if (std::find(constants.begin(), constants.end(), 0) != constants.end()) return Dim(0);
  if (factors.size() > 1) {
    for (Dim& factor : factors) {
      if (factor.op() == DimOp::kAdd) constants.push_back(take_content(factor));
    }
  }
  constants = combine(constants);
  if (factors.size() == 1 && factors[0].op() == DimOp::kAdd && constants.size() == 1) {
    if (constants[0] == 1) return factors[0];
    if (const std::optional<Dim> sum = distribute(constants[0], factors[0])) return *sum;
  }
  std::sort(factors.begin(), factors.end(), before);
  std::vector<Dim> product;
  for (const std::int64_t constant : constants) product.push_back(Dim(constant));
  if (!factors.empty() && constants.size() == 1 && constants[0] == 1) product.clear();
  product.insert(product.end(), factors.begin(), factors.end());
  if (product.size() == 1) return product[0];
  return DimTable::intern(DimOp::kMul, std::move(product), false);
}

Dim make_power(Dim base, Dim exponent) {
  const std::optional<std::int64_t> power = exponent.constant();
  constexpr std::size_t kLongestProduct = 64;
  if (power && *power == 0) return Dim(1);
  if (power && *power > 0 &&
      factors_of(base).size() * static_cast<std::size_t>(std::min<std::int64_t>(*power, 128)) <= kLongestProduct) {
    const std::vector<Dim> factors(static_cast<std::size_t>(*power), base);
    return make_product(factors);
  }
  return DimTable::intern(DimOp::kPow, {base, exponent}, false);
}

}  // namespace tilewright
