#include "tilewright/tensor/facts.h"

#include <gtest/gtest.h>

#include <array>
#include <random>

#include "tilewright/tensor/dim_program.h"

namespace tilewright {
namespace {

Dim parsed(std::string_view text) {
  Result<Dim> dim = parse_dim(text);
  EXPECT_TRUE(dim.ok()) << text;
  return dim.ok() ? *dim : Dim(0);
}
const Dim s0 = Dim::symbol("s0"), s1 = Dim::symbol("s1"), s2 = Dim::symbol("s2");

void expect_range(const Facts& facts, std::string_view text, std::int64_t low, std::int64_t high) {
  const Range range = facts.range(parsed(text));
  EXPECT_EQ(range.low, low) << text;
  EXPECT_EQ(range.high, high) << text;
}

TEST(Facts, ASymbolIsASizeUnlessToldOtherwise) {
  expect_range({}, "s0", 0, INT64_MAX);
}
TEST(Facts, RangesFollowTheOperations) {
  Facts facts;
  facts.set_range(s0, {2, 10});
  facts.set_range(s1, {-3, 4});
  expect_range(facts, "2*s0 - s1 + 1", 1, 24);
  expect_range(facts, "s0*s1", -30, 40);
  expect_range(facts, "s1//2", -2, 2);
  expect_range(facts, "s1%8", 0, 7);
  expect_range(facts, "s0%16", 2, 10);
  expect_range(facts, "max(s0, 4)", 4, 10);
  expect_range(facts, "min(s0, s1)", -3, 4);
  expect_range(facts, "abs(s1)", 0, 4);
  expect_range(facts, "broadcast(s0, s2)", 0, INT64_MAX);
  expect_range(facts, "pow(s0, s2)", 1, INT64_MAX);
  expect_range(facts, "eq(s0, s1)", 0, 1);
}
TEST(Facts, RangesSaturate) {
  expect_range({}, "s0 + s1", 0, INT64_MAX);
  expect_range({}, "s0*s1*9223372036854775807", 0, INT64_MAX);
  expect_range({}, "9223372036854775807 - s0", 0, INT64_MAX);
}
TEST(Facts, UnknownIsNeitherYesNorNo) {
  EXPECT_EQ(Facts().same(s0, s1), Answer::kUnknown);
  EXPECT_EQ(Facts().is_one(s0), Answer::kUnknown);
  EXPECT_EQ(Facts().less(s0, s1), Answer::kUnknown);
  EXPECT_EQ(Facts().divisible(s0, 8), Answer::kUnknown);
}
TEST(Facts, ExpressionsThatDifferByAConstantAreDifferent) {
  EXPECT_EQ(Facts().same(s0, s0 + Dim(1)), Answer::kNo);
  EXPECT_EQ(Facts().same(s0 * Dim(2), Dim(2) * s0), Answer::kYes);
}
TEST(Facts, ProductsOfSumsAreMultipliedOut) {
  EXPECT_EQ(Facts().same(parsed("(s0 + 1)*s1"), parsed("s0*s1 + s1")), Answer::kYes);
}
TEST(Facts, OddIsNotEven) {
  EXPECT_EQ(Facts().same(parsed("2*s0"), parsed("2*s1 + 1")), Answer::kNo);
}
TEST(Facts, DisjointRangesDiffer) {
  Facts facts;
  facts.set_range(s0, {2, 10});
  EXPECT_EQ(facts.is_one(s0), Answer::kNo);
  EXPECT_TRUE(provably_different(s0, Dim(11), facts));
  EXPECT_FALSE(provably_different(s0, Dim(10), facts));
}
TEST(Facts, OrderFollowsFromRangesAndStructure) {
  EXPECT_EQ(Facts().less(s0, s0 + Dim(1)), Answer::kYes);
  EXPECT_EQ(Facts().less(s0, Dim(0)), Answer::kNo);
  EXPECT_EQ(Facts().less_equal(parsed("min(s0, s1)"), s0), Answer::kYes);
  EXPECT_EQ(Facts().less_equal(parsed("s0//3"), s0), Answer::kYes);
  EXPECT_EQ(Facts().less(parsed("s0%8"), Dim(8)), Answer::kYes);
  EXPECT_EQ(Facts().less_equal(s0, parsed("max(s1, s0 + 2)")), Answer::kYes);
}
TEST(Facts, DivisorsSpreadThroughExpressions) {
  Facts facts;
  facts.set_divisor(s0, 8);
  EXPECT_EQ(facts.divisible(s0, 4), Answer::kYes);
  EXPECT_EQ(facts.divisible(parsed("3*s0*s1 + 16"), 8), Answer::kYes);
  EXPECT_EQ(facts.divisible(parsed("s0 + 3"), 8), Answer::kNo);
  EXPECT_EQ(facts.divisible(s0, 16), Answer::kUnknown);
  EXPECT_EQ(facts.divisible(parsed("s0//2"), 4), Answer::kYes);
  EXPECT_EQ(facts.divisible(parsed("max(s0, 24)"), 8), Answer::kYes);
}
TEST(Facts, SeveralDivisorsCombine) {
  Facts facts;
  facts.set_divisor(s0, 4);
  facts.set_divisor(s0, 6);
  EXPECT_EQ(facts.divisible(s0, 12), Answer::kYes);
}
TEST(Facts, EqualitiesDecideSameness) {
  Facts facts;
  facts.set_equal(s1, s0);
  facts.set_equal(s2, s1 + Dim(1));
  EXPECT_EQ(facts.same(s2, s0 + Dim(1)), Answer::kYes);
  EXPECT_EQ(facts.same(s2, s0), Answer::kNo);
}
TEST(Facts, EqualitiesAreSolvedForASymbol) {
  Facts facts;
  facts.set_equal(parsed("2*s0 + 4"), parsed("2*s1"));
  EXPECT_EQ(facts.same(s1, s0 + Dim(2)), Answer::kYes);
}
TEST(Facts, EqualitiesOfProductsReplaceThem) {
  Facts facts;
  facts.set_equal(parsed("s0*s1"), Dim(64));
  EXPECT_EQ(to_string(facts.simplify(parsed("s0*s1 + 1"))), "65");
}
TEST(Facts, AnEqualityThatMentionsItselfEnds) {
  Facts facts;
  facts.set_equal(s0, parsed("min(s0, s1)"));
  EXPECT_EQ(facts.same(s0, parsed("min(s0, s1)")), Answer::kYes);
}
TEST(Facts, SimplifyUsesRangesAndDivisors) {
  Facts facts;
  facts.set_range(s0, {2, 100});
  facts.set_divisor(s1, 8);
  const auto simplified = [&](std::string_view text) { return to_string(facts.simplify(parsed(text))); };
  EXPECT_EQ(simplified("max(s0, 1)"), "s0");
  EXPECT_EQ(simplified("broadcast(s0, s2)"), "s0");
  EXPECT_EQ(simplified("s0%128"), "s0");
  EXPECT_EQ(simplified("s0//128"), "0");
  EXPECT_EQ(simplified("8*(s1//8)"), "s1");
  EXPECT_EQ(simplified("s1%4"), "0");
  EXPECT_EQ(simplified("select(lt(s0, 101), s1, s2)"), "s1");
}
TEST(Facts, FloatsAreOnlyDecidedByTheirConstants) {
  EXPECT_EQ(Facts().same(Dim::real(1), Dim::real(1.5)), Answer::kNo);
  EXPECT_EQ(Facts().same(Dim::float_symbol("x"), Dim::real(1)), Answer::kUnknown);
}
TEST(Facts, DeepNestsAreAnsweredQuickly) {
  Dim dim = s0;
  for (int i = 0; i < 40; ++i) dim = min(max(dim, s1 + Dim(i)) * Dim(2), dim + s2);
  EXPECT_EQ(Facts().same(dim, s0), Answer::kUnknown);
}

// Whatever the facts say of random expressions holds for every value that satisfies the facts.
class SoundnessTest : public testing::Test {
 protected:
  Dim random_dim(int depth) {
    if (depth == 0) return pick(3) == 0 ? Dim(pick(9) - 3) : std::array{s0, s1, s2}[static_cast<std::size_t>(pick(3))];
    const Dim a = random_dim(depth - 1), b = random_dim(depth - 1);
    switch (pick(14)) {
      case 0:
        return a + b;
      case 1:
        return a - b;
      case 2:
        return a * b;
      case 3:
        return floordiv(a, Dim(pick(4) + 2));
      case 4:
        return mod(a, Dim(pick(4) + 2));
      case 5:
        return min(a, b);
      case 6:
        return max(a, b);
      case 7:
        return broadcast(a, b);
      case 8:
        return floordiv(a, b);
      case 9:
        return mod(a, b);
      case 10:
        return Dim(pick(5) + 1) * a + b;
      case 11:
        return select(parsed("le(s0, s1)"), a, b);
      case 12: {
        const Dim operands[] = {a};
        return Dim::make(DimOp::kAbs, operands);
      }
      default: {
        const Dim operands[] = {a, b};
        return Dim::make(pick(2) == 0 ? DimOp::kEq : DimOp::kLt, operands);
      }
    }
  }
  int pick(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }
  std::optional<std::int64_t> value(Dim dim, std::array<std::int64_t, 3> symbols) {
    DimProgram program;
    const DimProgram::Slot slot = program.add(dim);
    std::vector<DimValue> values(program.size());
    for (const DimProgram::Slot symbol : program.symbol_slots()) {
      values[symbol].integer = symbols[static_cast<std::size_t>(program.dim(symbol).name()[1] - '0')];
    }
    if (!program.run(values).ok()) return std::nullopt;
    return values[slot].integer;
  }
  unsigned seed_ = std::random_device{}();
  std::mt19937 random_{seed_};
};

TEST_F(SoundnessTest, AnswersHoldForEveryValue) {
  Facts facts;
  facts.set_range(s0, {0, 6});
  facts.set_range(s1, {-2, 9});
  facts.set_divisor(s1, 3);
  facts.set_range(s2, {1, 40});
  facts.set_equal(s2, s0 * Dim(2) + Dim(1));
  for (int i = 0; i < 1000; ++i) {
    const Dim a = random_dim(1 + i % 3), b = random_dim(1 + i % 2);
    const std::string where = fmt::format("seed {}: {} and {}", seed_, to_string(a), to_string(b));
    const Range range = facts.range(a);
    const Answer same = facts.same(a, b), less = facts.less(a, b), divisible = facts.divisible(a, 3);
    const Dim simple = facts.simplify(a);
    for (std::int64_t x = 0; x <= 6; ++x) {
      for (const std::int64_t y : {0, 3, 6, 9}) {
        const std::array<std::int64_t, 3> symbols{x, y, 2 * x + 1};
        const std::optional<std::int64_t> of_a = value(a, symbols), of_b = value(b, symbols);
        if (!of_a) continue;
        ASSERT_TRUE(range.low <= *of_a && *of_a <= range.high) << where;
        if (divisible != Answer::kUnknown) {
          ASSERT_EQ(*of_a % 3 == 0, divisible == Answer::kYes) << where;
        }
        if (const auto simplified = value(simple, symbols)) {
          ASSERT_EQ(*simplified, *of_a) << where << to_string(simple);
        }
        if (!of_b) continue;
        if (same != Answer::kUnknown) {
          ASSERT_EQ(*of_a == *of_b, same == Answer::kYes) << where;
        }
        if (less != Answer::kUnknown) {
          ASSERT_EQ(*of_a < *of_b, less == Answer::kYes) << where;
        }
      }
    }
  }
}

}  // namespace
}  // namespace tilewright
