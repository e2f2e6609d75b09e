// Interval and congruence analysis of integer expressions. The ends of int64 stand for infinity: they absorb additions,
// so that bounds are conservative; values outside int64 need no room, since evaluating one is an error.
#include <algorithm>
#include <numeric>

#include "tilewright/tensor/dim_table.h"
#include "tilewright/tensor/facts.h"

namespace tilewright {
namespace {

using Wide = __int128;
constexpr Range kAny{INT64_MIN, INT64_MAX};

std::int64_t clamped(Wide value) {
  return static_cast<std::int64_t>(std::clamp(value, Wide{INT64_MIN}, Wide{INT64_MAX}));
}
// An infinite end stays infinite.
Range sum(Range a, Range b) {
  const bool no_low = a.low == INT64_MIN || b.low == INT64_MIN;
  const bool no_high = a.high == INT64_MAX || b.high == INT64_MAX;
  return {no_low ? INT64_MIN : clamped(Wide{a.low} + b.low), no_high ? INT64_MAX : clamped(Wide{a.high} + b.high)};
}

Range product(Range a, Range b) {
  const auto times = [](std::int64_t x, std::int64_t y) { return clamped(Wide{x} * y); };
  const std::int64_t corners[] = {times(a.low, b.low), times(a.low, b.high), times(a.high, b.low),
                                  times(a.high, b.high)};
  return {*std::min_element(corners, corners + 4), *std::max_element(corners, corners + 4)};
}

std::int64_t power(std::int64_t base, std::int64_t exponent) {  // base >= 0, exponent >= 0
  if (base <= 1) return exponent == 0 ? 1 : base;
  std::int64_t result = 1;
  for (std::int64_t i = 0; i < exponent && i < 64; ++i) result = clamped(Wide{result} * base);
  return result;
}

Range hull(Range a, Range b) {
  return {std::min(a.low, b.low), std::max(a.high, b.high)};
}

std::int64_t floor_quotient(std::int64_t a, std::int64_t b) {
  if (b == -1) return clamped(-Wide{a});
  return a / b - ((a % b != 0 && (a < 0) != (b < 0)) ? 1 : 0);
}

// One less than the next power of two above `value`.
std::int64_t all_bits_below(std::int64_t value) {
  std::uint64_t bits = static_cast<std::uint64_t>(value);
  for (const int shift : {1, 2, 4, 8, 16, 32}) bits |= bits >> shift;
  return static_cast<std::int64_t>(bits);
}

}  // namespace

Range Facts::range_of(Dim dim) const {
  int budget = kBudget;
  return range_of(dim, budget);
}

Range Facts::range(Dim dim) const {
  const Range found = range_of(dim);
  if (equal_.empty()) return found;
  const Dim simple = simplify(dim);
  if (simple == dim) return found;
  const Range other = range_of(simple);
  return {std::max(found.low, other.low), std::min(found.high, other.high)};
}

Range Facts::quotient_range(Dim dim, int& budget) const {
  const Range a = range_of(dim.operands()[0], budget);
  Range b = range_of(dim.operands()[1], budget);
  if (b.low == 0) b.low = 1;  // zero is an error when evaluated
  if (b.high == 0) b.high = -1;
  if (b.low > b.high || (b.low < 0 && b.high > 0)) return kAny;
  if (dim.op() == DimOp::kMod) {
    if (b.high < 0) return {b.low == INT64_MIN ? b.low : b.low + 1, 0};
    if (a.low >= 0 && a.high < b.low) return a;
    return {0, std::min(b.high - 1, a.low >= 0 ? a.high : INT64_MAX)};
  }
  const std::int64_t corners[] = {floor_quotient(a.low, b.low), floor_quotient(a.low, b.high),
                                  floor_quotient(a.high, b.low), floor_quotient(a.high, b.high)};
  return {*std::min_element(corners, corners + 4), *std::max_element(corners, corners + 4)};
}

Range Facts::extremum_range(Dim dim, int& budget) const {
  const Range a = range_of(dim.operands()[0], budget);
  const Range b = range_of(dim.operands()[1], budget);
  switch (dim.op()) {
    case DimOp::kMin:
      return {std::min(a.low, b.low), std::min(a.high, b.high)};
    case DimOp::kMax:
      return {std::max(a.low, b.low), std::max(a.high, b.high)};
    case DimOp::kBroadcast: {
      const bool no_zero = a.low >= 1 && b.low >= 1;
      return {no_zero ? std::max(a.low, b.low) : std::min(a.low, b.low), std::max(a.high, b.high)};
    }
    case DimOp::kPow:
      if (a.low < 0 || b.low < 0) return kAny;
      return {a.low == 0 ? 0 : power(a.low, b.low), a.high == 0 ? 1 : power(a.high, b.high)};
    case DimOp::kBitAnd:
      if (a.low < 0 && b.low < 0) return kAny;
      if (a.low < 0 || b.low < 0) return {0, a.low < 0 ? b.high : a.high};
      return {0, std::min(a.high, b.high)};
    case DimOp::kBitOr:
    case DimOp::kBitXor:
      if (a.low < 0 || b.low < 0) return kAny;
      return {dim.op() == DimOp::kBitOr ? std::max(a.low, b.low) : 0, all_bits_below(std::max(a.high, b.high))};
    case DimOp::kShiftLeft:
      return a.low >= 0 ? Range{a.low, INT64_MAX} : Range{INT64_MIN, a.high <= 0 ? a.high : INT64_MAX};
    case DimOp::kShiftRight:
      return {std::min<std::int64_t>(a.low, 0), std::max<std::int64_t>(a.high, -1)};
    default:
      return kAny;
  }
}

Range Facts::range_of(Dim dim, int& budget) const {
  if (dim.is_float() || --budget < 0) return kAny;
  if (const std::optional<std::int64_t> constant = dim.constant()) return {*constant, *constant};
  const auto operands = dim.operands();
  const auto operand = [&](std::size_t i) { return range_of(operands[i], budget); };
  switch (dim.op()) {
    case DimOp::kSymbol: {
      const auto found = ranges_.find(dim);
      return found == ranges_.end() ? Range{} : found->second;
    }
    case DimOp::kAdd:
    case DimOp::kMul: {
      Range out = operand(0);
      for (std::size_t i = 1; i < operands.size(); ++i) {
        out = dim.op() == DimOp::kAdd ? sum(out, operand(i)) : product(out, operand(i));
      }
      const bool square = dim.op() == DimOp::kMul && operands.size() == 2 && operands[0] == operands[1];
      if (square) out.low = std::max<std::int64_t>(out.low, 0);
      return out;
    }
    case DimOp::kFloorDiv:
    case DimOp::kMod:
      return quotient_range(dim, budget);
    case DimOp::kAbs: {
      const Range a = operand(0);
      if (a.low >= 0) return a;
      const std::int64_t negated = clamped(-Wide{a.low});
      return a.high <= 0 ? Range{clamped(-Wide{a.high}), negated} : Range{0, std::max(negated, a.high)};
    }
    case DimOp::kSelect: {
      const Range condition = operand(0);
      if (condition.low > 0 || condition.high < 0) return operand(1);
      if (condition.low == 0 && condition.high == 0) return operand(2);
      return hull(operand(1), operand(2));
    }
    case DimOp::kEq:
    case DimOp::kNe:
    case DimOp::kLt:
    case DimOp::kLe:
    case DimOp::kAnd:
    case DimOp::kOr:
    case DimOp::kNot:
      return {0, 1};
    default:
      return operands.size() == 2 ? extremum_range(dim, budget) : kAny;
  }
}

Facts::Congruence Facts::congruence(Dim dim, int& budget) const {
  constexpr Congruence kNothing{};
  if (dim.is_float() || --budget < 0) return kNothing;
  if (const std::optional<std::int64_t> constant = dim.constant()) return {0, *constant};
  const auto reduced = [](Wide modulus, Wide remainder) -> Congruence {
    if (modulus < 0) modulus = -modulus;
    if (modulus > INT64_MAX) return {};
    if (modulus > 0) remainder = ((remainder % modulus) + modulus) % modulus;
    if (remainder < INT64_MIN || remainder > INT64_MAX) return {};
    return {static_cast<std::int64_t>(modulus), static_cast<std::int64_t>(remainder)};
  };
  const auto common = [](Wide a, Wide b) {
    a = a < 0 ? -a : a;
    b = b < 0 ? -b : b;
    while (b != 0) a = std::exchange(b, a % b);
    return a;
  };
  const auto operands = dim.operands();
  switch (dim.op()) {
    case DimOp::kSymbol: {
      const auto found = divisors_.find(dim);
      return found == divisors_.end() ? kNothing : Congruence{found->second, 0};
    }
    case DimOp::kAdd:
    case DimOp::kMul: {
      Congruence a = congruence(operands[0], budget);
      for (std::size_t i = 1; i < operands.size(); ++i) {
        const Congruence b = congruence(operands[i], budget);
        const Wide am = a.modulus, ar = a.remainder, bm = b.modulus, br = b.remainder;
        if (dim.op() == DimOp::kAdd)
          a = reduced(common(am, bm), ar + br);
        else
          a = reduced(common(common(am * br, bm * ar), am <= INT32_MAX || bm <= INT32_MAX ? am * bm : am), ar * br);
      }
      return a;
    }
    case DimOp::kFloorDiv: {
      const std::int64_t divisor = operands[1].constant().value_or(0);
      const Congruence a = congruence(operands[0], budget);
      if (divisor <= 0 || a.modulus % divisor != 0) return kNothing;
      return reduced(a.modulus / divisor, floor_quotient(a.remainder, divisor));
    }
    case DimOp::kMod: {
      const std::int64_t divisor = operands[1].constant().value_or(0);
      if (divisor <= 0) return kNothing;
      const Congruence a = congruence(operands[0], budget);
      if (a.modulus % divisor == 0) return {0, ((a.remainder % divisor) + divisor) % divisor};
      return reduced(std::gcd(a.modulus, divisor), a.remainder);
    }
    case DimOp::kMin:
    case DimOp::kMax:
    case DimOp::kBroadcast:
    case DimOp::kSelect: {
      const std::size_t first = operands.size() - 2;
      const Congruence a = congruence(operands[first], budget);
      const Congruence b = congruence(operands[first + 1], budget);
      const Wide both = common(common(a.modulus, b.modulus), Wide{a.remainder} - b.remainder);
      return reduced(both, a.remainder);
    }
    default:
      return kNothing;
  }
}

}  // namespace tilewright
