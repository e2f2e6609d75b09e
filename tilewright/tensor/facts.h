// What is known of symbols before a call, and three-valued questions about dims. Unknown is neither yes nor no: the
// caller turns it into a check or a choice made when the symbols are bound.
#pragma once

#include <optional>
#include <unordered_map>

#include "tilewright/tensor/dim.h"

namespace tilewright {

enum class Answer { kNo, kYes, kUnknown };

struct Range {
  std::int64_t low = 0;
  std::int64_t high = INT64_MAX;
};

class Facts {
 public:
  void set_range(Dim symbol, Range range);  // default for a symbol: [0, INT64_MAX]
  void set_divisor(Dim symbol, std::int64_t divisor);
  void set_equal(Dim a, Dim b);  // a fact that guards already ensure
  Range range(Dim dim) const;    // conservative bounds of an integer expression

  Answer same(Dim a, Dim b) const;
  Answer is_one(Dim a) const { return same(a, Dim(1)); }
  Answer is_zero(Dim a) const { return same(a, Dim(0)); }
  Answer less(Dim a, Dim b) const;
  Answer less_equal(Dim a, Dim b) const;
  Answer divisible(Dim a, std::int64_t divisor) const;
  Dim simplify(Dim dim) const;  // with equalities and ranges applied

  // What was set, for printing.
  const std::unordered_map<Dim, Range>& ranges() const { return ranges_; }
  const std::unordered_map<Dim, std::int64_t>& divisors() const { return divisors_; }
  const std::unordered_map<Dim, Dim>& equalities() const { return equal_; }

 private:
  // Every value is remainder + k * modulus; modulus 0: the value is known.
  struct Congruence {
    std::int64_t modulus = 1;
    std::int64_t remainder = 0;
  };
  // A query visits at most this many nodes; beyond, nothing is known. Shared subexpressions count each time.
  static constexpr int kBudget = 4096;

  Range range_of(Dim dim, int& budget) const;  // facts_range.cc
  Range quotient_range(Dim dim, int& budget) const;
  Range extremum_range(Dim dim, int& budget) const;
  Range range_of(Dim dim) const;
  Congruence congruence(Dim dim, int& budget) const;
  // The questions about expressions as they are, from ranges and divisors alone. They never simplify, so that
  // simplify() may ask them.
  Answer same_as_is(Dim a, Dim b) const;
  Answer at_most(Dim a, Dim b, int depth) const;
  Answer less_equal_as_is(Dim a, Dim b) const;
  Answer divisible_as_is(Dim a, std::int64_t divisor) const;
  Dim simplify_once(Dim dim, std::unordered_map<Dim, Dim>& done) const;  // facts_simplify.cc
  Dim simplify_node(Dim dim) const;
  std::optional<Dim> without_rounding(Dim dim) const;

  std::unordered_map<Dim, Range> ranges_;
  std::unordered_map<Dim, std::int64_t> divisors_;
  std::unordered_map<Dim, Dim> equal_;  // replaced by; acyclic
};

inline bool provably_different(Dim a, Dim b, const Facts& facts = {}) {
  return facts.same(a, b) == Answer::kNo;
}

}  // namespace tilewright
