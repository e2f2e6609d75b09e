#include "tilewright/tensor/dim.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <thread>

namespace tilewright {
namespace {

Dim parsed(std::string_view text) {
  Result<Dim> dim = parse_dim(text);
  EXPECT_TRUE(dim.ok()) << text;
  return dim.ok() ? *dim : Dim(0);
}

// Both texts are the same expression, whose canonical text is `canonical`.
void expect_canonical(std::string_view text, std::string_view canonical) {
  EXPECT_EQ(to_string(parsed(text)), canonical) << text;
  EXPECT_TRUE(parsed(text) == parsed(canonical)) << text;
}

void expect_error(std::string_view text, std::string_view message) {
  const Result<Dim> dim = parse_dim(text);
  ASSERT_FALSE(dim.ok()) << text;
  EXPECT_EQ(dim.error().message, message);
}

TEST(Dim, LikeTermsAreCollected) {
  expect_canonical("2*s0 + s0", "3*s0");
  expect_canonical("s0 - s0", "0");
  expect_canonical("s1 + s0 + 3 + s1 - 1", "s0 + 2*s1 + 2");
}
TEST(Dim, APositiveTermIsPrintedFirst) {
  expect_canonical("-s0 + s1", "s1 - s0");
}
TEST(Dim, ConstantsDistributeOverSums) {
  expect_canonical("2*(a + b - 3)", "2*a + 2*b - 6");
}
TEST(Dim, ProductsTakeOutCommonFactors) {
  expect_canonical("(2*s1 + 2)*s0", "2*s0*(s1 + 1)");
  expect_canonical("s0*(1 - s1)", "-s0*(s1 - 1)");
}
TEST(Dim, OrderOfCreationDoesNotMatter) {
  const Dim late = Dim::symbol("order_b"), early = Dim::symbol("order_a");
  EXPECT_TRUE(late + early == early + late);
  EXPECT_EQ(to_string(late * early + late), "order_b + order_a*order_b");
}
TEST(Dim, ProductsFlattenHoweverTheyAreGrouped) {
  EXPECT_TRUE(parsed("a*(b*2)*c") == parsed("(c*a)*(2*b)"));
}
TEST(Dim, QuotientsByOneAndOfMultiplesVanish) {
  expect_canonical("x//1", "x");
  expect_canonical("(k*x)//k", "x");
  expect_canonical("(6*a + 4*b)//2", "3*a + 2*b");
  expect_canonical("(4*a + 4*b)//(2*a + 2*b)", "2");
}
TEST(Dim, QuotientsAreInLowestTerms) {
  expect_canonical("(6*a + 9)//4", "(3*a)//2 + 2");
  expect_canonical("(a*b + a*c)//(a*d)", "(b + c)//d");
  expect_canonical("(x//2 + 1)//3", "(x + 2)//6");
}
TEST(Dim, RemaindersOfMultiplesVanish) {
  expect_canonical("x%1", "0");
  expect_canonical("(4*x + y)%4", "y%4");
  expect_canonical("(x%8)%4", "x%4");
  expect_canonical("(6*a + 9)%4", "2*((3*a)%2) + 1");
}
TEST(Dim, DivisionFoldsAsInPython) {
  EXPECT_EQ(floordiv(Dim(-7), Dim(2)).constant(), -4);
  EXPECT_EQ(mod(Dim(-7), Dim(3)).constant(), 2);
  EXPECT_EQ(mod(Dim(7), Dim(-3)).constant(), -2);
  EXPECT_EQ(ceildiv(Dim(7), Dim(2)).constant(), 4);
  EXPECT_EQ(ceildiv(Dim(-7), Dim(2)).constant(), -3);
}
TEST(Dim, DivisionByZeroStaysAsWritten) {
  expect_canonical("7//0", "7//0");
}
TEST(Dim, TwoFormsOfCeilingDivisionAgree) {
  EXPECT_TRUE(ceildiv(Dim::symbol("s0"), Dim(8)) == parsed("(s0 - 1)//8 + 1"));
}
TEST(Dim, MinimaFlattenAndDropWhatIsNeverTaken) {
  expect_canonical("min(a, min(3, a + 1))", "min(a, 3)");
  expect_canonical("max(max(a, 3), max(b, 7))", "max(max(a, b), 7)");
}
TEST(Dim, BroadcastRules) {
  expect_canonical("broadcast(a, a)", "a");
  expect_canonical("broadcast(1, a)", "a");
  expect_canonical("broadcast(a, 4)", "4");
  expect_canonical("broadcast(b, broadcast(a, b))", "broadcast(a, b)");
  expect_canonical("broadcast(min(a, 512), a)", "a");
  expect_canonical("broadcast(min(a, 512), b)", "broadcast(b, min(a, 512))");
  expect_canonical("broadcast(min(a, 0), a)", "broadcast(a, min(a, 0))");
}
TEST(Dim, BroadcastOfDifferentConstantsIsLeftToTheEvaluator) {
  expect_canonical("broadcast(2, 3)", "broadcast(2, 3)");
}
TEST(Dim, ComparisonsOfAKnownDifferenceFold) {
  expect_canonical("lt(a, a + 1)", "1");
  expect_canonical("eq(a + b, b + a + 2)", "0");
}
TEST(Dim, TruthValuesSimplify) {
  expect_canonical("not(not(eq(a, b)))", "eq(a, b)");
  expect_canonical("not(lt(a, b))", "le(b, a)");
  expect_canonical("and(eq(a, b), 1)", "eq(a, b)");
  expect_canonical("or(x, 1)", "1");
  expect_canonical("ne(lt(a, b), 0)", "lt(a, b)");
}
TEST(Dim, SelectsWithOneOutcomeVanish) {
  expect_canonical("select(lt(a, a), b, c)", "c");
  expect_canonical("select(x, c, c)", "c");
}
TEST(Dim, BitOperationsBecomeArithmetic) {
  expect_canonical("shl(a, 3)", "8*a");
  expect_canonical("shr(a, 1)", "a//2");
  expect_canonical("bitand(a, 7)", "a%8");
  expect_canonical("bitxor(6, 5)", "3");
}
TEST(Dim, SmallPowersAreProducts) {
  expect_canonical("pow(s0, 2)", "s0*s0");
  expect_canonical("pow(2, 10)", "1024");
}
TEST(Dim, IntegersThatMeetFloatsConvert) {
  expect_canonical("%x*s0 + 1", "%x*float(s0) + 1.0");
  expect_canonical("truediv(s0, 2)", "truediv(float(s0), 2.0)");
  expect_canonical("select(c, %x, 1)", "select(c, %x, 1.0)");
}
TEST(Dim, FloatConstantsFoldInDoublePrecision) {
  EXPECT_EQ((Dim::real(0.1) + Dim::real(0.2)).real_constant(), 0.1 + 0.2);
  EXPECT_EQ(parsed("sqrt(2)").real_constant(), std::sqrt(2.0));
  EXPECT_EQ(parsed("pow(2, -1)").real_constant(), 0.5);
  EXPECT_EQ(parsed("round(2.5)").constant(), 2);
  EXPECT_EQ(parsed("floor(-0.5)").constant(), -1);
}
TEST(Dim, FloatSumsKeepTheirGrouping) {
  expect_canonical("%a + %b + %c", "%a + %b + %c");
  EXPECT_FALSE(parsed("(%a + %b) + %c") == parsed("%a + (%b + %c)"));
}
TEST(Dim, FloatDifferencesAreNotAssumedZero) {
  expect_canonical("%a - %a", "%a - %a");
}  // inf - inf is nan
TEST(Dim, RoundingAnIntegerIsThatInteger) {
  expect_canonical("floor(float(s0))", "s0");
}
TEST(Dim, OverflowStaysUnfolded) {
  expect_canonical("9223372036854775807 + 1", "9223372036854775807 + 1");
  expect_canonical("9223372036854775807 + 1 - 1", "9223372036854775807");
  expect_canonical("4611686018427387904*s0*2", "2*4611686018427387904*s0");
  expect_canonical("-9223372036854775808*-1", "-1*-9223372036854775808");
}
TEST(Dim, NamesThatAreNotIdentifiersAreQuoted) {
  const Dim odd = Dim::symbol("batch `size`\\") + Dim::symbol("inf");
  EXPECT_TRUE(parsed(to_string(odd)) == odd);
}
TEST(Dim, SymbolsComeInOrderOfAppearance) {
  std::vector<Dim> symbols;
  collect_symbols(parsed("min(b, a)*c + b"), symbols);
  ASSERT_EQ(symbols.size(), 3u);
  EXPECT_EQ(to_string(symbols[0]), "b");
}
TEST(Dim, SubstitutionFolds) {
  const auto replace = [](Dim symbol) { return to_string(symbol) == "a" ? Dim(6) : symbol; };
  EXPECT_EQ(to_string(substitute(parsed("a*b + a//4 + %x"), replace)), to_string(parsed("6*b + 1 + %x")));
}
TEST(ParseDim, ErrorsNameWhatIsWrong) {
  expect_error("max(a, b", "unexpected end of the expression 'max(a, b'");
  expect_error("a $ b", "unexpected '$' at position 2 of the expression 'a $ b'");
  expect_error("frob(1)", "no function of dims is called 'frob'");
  expect_error("min(1)", "'min' takes 2 operands, not 1");
  expect_error("broadcast(%x, 1)", "'broadcast' takes integers, not %x");
  expect_error("99999999999999999999", "not a number that i64 holds: '99999999999999999999'");
}
TEST(ParseDim, NestingIsBounded) {
  expect_error(std::string(5000, '('), "an expression is nested more than 200 deep");
}

enum class Numbers { kSmall, kExtreme };

// A random expression over a few symbols, integers or numbers of both kinds.
Dim random_dim(std::mt19937& random, int depth, bool floats, Numbers numbers) {
  const auto pick = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  if (depth == 0 || pick(5) == 0) {
    if (floats && pick(3) == 0) return pick(2) == 0 ? Dim::float_symbol("x") : Dim::real((pick(9) - 4) * 0.75);
    if (numbers == Numbers::kExtreme && pick(16) == 0)
      return Dim(pick(2) == 0 ? INT64_MAX - pick(2) : INT64_MIN + pick(2));
    static const char* const kNames[] = {"a", "b", "c", "d"};
    return pick(2) == 0 ? Dim::symbol(kNames[pick(4)]) : Dim(pick(13) - 4);
  }
  struct Row {
    DimOp op;
    int operands;
    char takes;
  };
  static const Row kRows[] = {
#define DIM_OP(Name, text, operands, takes, ...) {DimOp::k##Name, operands, takes},
#include "tilewright/tensor/dim_ops.def"
#undef DIM_OP
  };
  for (;;) {
    // Half of the time sums and products, which have the most rules.
    const Row row = pick(2) == 0 ? kRows[4 + pick(4)] : kRows[pick(static_cast<int>(std::size(kRows)))];
    if (row.takes == '-' || (!floats && row.takes == 'f') || (!floats && row.op == DimOp::kToFloat)) continue;
    std::vector<Dim> operands;
    const int count = row.operands < 0 ? 2 + pick(3) : row.operands;
    for (int i = 0; i < count; ++i)
      operands.push_back(random_dim(random, depth - 1, floats && row.takes != 'i', numbers));
    const bool any_float = std::any_of(operands.begin(), operands.end(), [](Dim dim) { return dim.is_float(); });
    if (any_float && row.takes == 'i') continue;  // pow(2, -1) is one without a float in sight
    return Dim::make(row.op, operands);
  }
}

TEST(Dim, TextRoundTrips) {
  const unsigned seed = std::random_device{}();
  std::mt19937 random(seed);
  for (int i = 0; i < 20000; ++i) {
    const Dim dim = random_dim(random, 1 + i % 4, i % 2 == 0, Numbers::kSmall);
    const std::string text = to_string(dim);
    if (text.size() > 4000) continue;
    const Result<Dim> again = parse_dim(text);
    ASSERT_TRUE(again.ok()) << "seed " << seed << ": " << text << ": " << again.error().message;
    ASSERT_TRUE(*again == dim) << "seed " << seed << ": " << text << " became " << to_string(*again);
  }
}

// Numbers beyond int64 may be grouped in another way, but their text is always read.
TEST(Dim, TextOfOverflowingExpressionsIsRead) {
  const unsigned seed = std::random_device{}();
  std::mt19937 random(seed);
  for (int i = 0; i < 20000; ++i) {
    const std::string text = to_string(random_dim(random, 1 + i % 4, i % 2 == 0, Numbers::kExtreme));
    if (text.size() > 4000) continue;
    const Result<Dim> again = parse_dim(text);
    ASSERT_TRUE(again.ok()) << "seed " << seed << ": " << text << ": " << again.error().message;
  }
}

TEST(Dim, TheLowestCoefficientIsNotDividedByMinusOne) {
  const Dim a = Dim::symbol("s0"), b = Dim::symbol("s1");
  for (const Dim divisor : {Dim(-1) * b, Dim(-1) * a * b}) {
    for (const DimOp op : {DimOp::kFloorDiv, DimOp::kMod}) {
      const Dim operands[] = {Dim(INT64_MIN) * a * b + a, divisor};
      EXPECT_TRUE(parse_dim(to_string(Dim::make(op, operands))).ok());
    }
  }
}

TEST(Dim, InterningIsThreadSafe) {
  constexpr int kThreads = 4;
  std::vector<std::vector<Dim>> made(kThreads);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&made, t] {
      for (int i = 0; i < 2000; ++i) {
        const int k = t % 2 == 0 ? i : 1999 - i;  // in both directions
        made[static_cast<std::size_t>(t)].push_back(Dim::symbol("thread" + std::to_string(k)) * Dim(k + 5000) + Dim(1));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (std::size_t i = 0; i < 2000; ++i) {
    ASSERT_TRUE(made[0][i] == made[2][i]);
    ASSERT_TRUE(made[0][i] == made[1][1999 - i]);
  }
}

}  // namespace
}  // namespace tilewright
