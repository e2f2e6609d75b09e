// Every operation with operands and every unary operation, in every lane and form, against values computed here in
// wider types. A row of strip_ops.def that no expectation covers fails the test.
#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <limits>
#include <optional>

#include "tilewright/isa/strip_facts.h"
#include "tilewright/vm/reference/run_text.h"

namespace tilewright::vm::reference {
namespace {

using isa::StripOp;

// What an operation gives: a value of the lane, or a mask, or a value of the other kind of lane.
struct Expected {
  long double value = 0;
  int ulps = 0;
};
using Wide = __int128;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

template <typename L>
std::string lane_name() {
  if constexpr (std::is_floating_point_v<L>) return sizeof(L) == 4 ? "f32" : "f64";
  return sizeof(L) == 4 ? "i32" : "i64";
}
template <typename L>
using IntegerOf = std::conditional_t<sizeof(L) == 4, std::int32_t, std::int64_t>;
template <typename L>
using RealOf = std::conditional_t<sizeof(L) == 4, float, double>;
template <typename L>
std::uint64_t bits_of(L value) {
  if constexpr (sizeof(L) == 4)
    return std::bit_cast<std::uint32_t>(value);
  else
    return std::bit_cast<std::uint64_t>(value);
}

template <typename L>
std::vector<L> sample_values() {
  if constexpr (std::is_floating_point_v<L>) {
    return {L(0.0), L(-0.0), L(1),    L(-1),    L(0.5),       L(-0.25),      L(2.5),  L(3.5), L(-7.75),
            L(10),  L(-3),   L(1e-3), L(100.5), L(kInfinity), L(-kInfinity), L(kNan), L(0.9)};
  } else {
    constexpr L kLow = std::numeric_limits<L>::min();
    constexpr L kHigh = std::numeric_limits<L>::max();
    return {0, 1, -1, 2, -2, 3, -7, 7, 31, 33, 63, 64, 100, -100, 300, kLow, kHigh, kLow + 1};
  }
}

// Runs `code` on v = x with operands y (strip) and `one`; the result has type R.
template <typename R, typename L>
std::vector<R> run_code(const std::string& code, const std::vector<L>& x, const std::vector<L>& y, L one) {
  const std::string text =
      fmt::format(R"(program scratch=0
buffer 0 input {0}
buffer 1 input {0}
buffer 2 output {0}
map tasks=1 inner={1} dims=[] row_tile=1 inner_tile={1}
  s0 = buffer 0 {2} inner={3}
  s1 = buffer 1 {2} inner={3}
  s2 = buffer 2 {4} inner={3}
  s3 = literal {2} bits={5:#x}
  phase strip
    load_{2}.{2}.unit s0
{6}    store_{4}.{4}.unit s2
    end.{4}
)",
                  x.size() * sizeof(L), x.size(), lane_name<L>(), sizeof(L), lane_name<R>(), bits_of(one), code);
  const std::vector<Bytes> buffers = run_text(text, {to_bytes(x), to_bytes(y)});
  return buffers.size() == 3 ? from_bytes<R>(buffers[2]) : std::vector<R>(x.size());
}

template <typename L>
void expect_near(L actual, const Expected& expected, const std::string& what) {
  if (std::isnan(expected.value)) {
    EXPECT_TRUE(std::isnan(static_cast<double>(actual))) << what << " gave " << actual;
    return;
  }
  const L exact = static_cast<L>(expected.value);
  if (actual == exact) return;
  if constexpr (std::is_floating_point_v<L>) {
    L low = exact;
    L high = exact;
    for (int i = 0; i < expected.ulps; ++i)
      low = std::nextafter(low, -std::numeric_limits<L>::infinity()),
      high = std::nextafter(high, std::numeric_limits<L>::infinity());
    if (actual >= low && actual <= high) return;
  }
  ADD_FAILURE() << what << " gave " << actual << ", not " << exact;
}

long double floor_of(long double x) {
  return std::floor(x);
}

std::optional<Expected> expect_unary_real(StripOp op, long double x, std::size_t size) {
  const auto narrow = [&](long double v) { return size == 4 ? static_cast<long double>(static_cast<float>(v)) : v; };
  const long double pi = std::acos(-1.0L);
  switch (op) {
    case StripOp::kNeg:
      return Expected{-x};
    case StripOp::kAbs:
      return Expected{std::fabs(x)};
    case StripOp::kSign:
      return Expected{std::isnan(x) ? x : x > 0 ? 1.0L : x < 0 ? -1.0L : 0.0L};
    case StripOp::kCeil:
      return Expected{std::ceil(x)};
    case StripOp::kFloor:
      return Expected{floor_of(x)};
    case StripOp::kRound:
      return Expected{std::nearbyint(x)};
    case StripOp::kTrunc:
      return Expected{std::trunc(x)};
    case StripOp::kSqrt:
      return Expected{std::sqrt(x), 1};
    case StripOp::kRsqrt:
      return Expected{1 / std::sqrt(x), 1};
    case StripOp::kReciprocal:
      return Expected{1 / x, 1};
    case StripOp::kExp:
      return Expected{std::exp(x), 1};
    case StripOp::kExp2:
      return Expected{std::exp2(x), 1};
    case StripOp::kExpm1:
      return Expected{std::expm1(x), 1};
    case StripOp::kLog:
      return Expected{std::log(x), 1};
    case StripOp::kLog2:
      return Expected{std::log2(x), 1};
    case StripOp::kLog10:
      return Expected{std::log10(x), 2};
    case StripOp::kLog1p:
      return Expected{std::log1p(x), 1};
    case StripOp::kSin:
      return Expected{std::sin(x), 1};
    case StripOp::kCos:
      return Expected{std::cos(x), 1};
    case StripOp::kTan:
      return Expected{std::tan(x), 1};
    case StripOp::kAsin:
      return Expected{std::asin(x), 1};
    case StripOp::kAcos:
      return Expected{std::acos(x), 1};
    case StripOp::kAtan:
      return Expected{std::atan(x), 1};
    case StripOp::kSinh:
      return Expected{std::sinh(x), 2};
    case StripOp::kCosh:
      return Expected{std::cosh(x), 2};
    case StripOp::kTanh:
      return Expected{std::tanh(x), 2};
    case StripOp::kAsinh:
      return Expected{std::asinh(x), 2};
    case StripOp::kAcosh:
      return Expected{std::acosh(x), 2};
    case StripOp::kAtanh:
      return Expected{std::atanh(x), 2};
    case StripOp::kErf:
      return Expected{std::erf(x), 1};
    case StripOp::kErfc:
      return Expected{std::erfc(x), 4};
    case StripOp::kLgamma:
      return Expected{std::lgamma(x), 4};
    case StripOp::kSigmoid:
      return Expected{1 / (1 + std::exp(-x)), 2};
    case StripOp::kRelu:
      return Expected{std::isnan(x) ? x : x > 0 ? x : 0.0L};
    case StripOp::kGelu:
      return Expected{x * std::erfc(-x / std::sqrt(2.0L)) / 2, 200};
    case StripOp::kGeluTanh:
      return Expected{x / (1 + std::exp(-2 * std::sqrt(2 / pi) * (x + 0.044715L * x * x * x))), 200};
    case StripOp::kSilu:
      return Expected{x / (1 + std::exp(-x)) * (std::isinf(x) && x < 0 ? kNan : 1), 2};
    case StripOp::kRoundF16:
      return Expected{std::isinf(x) || std::isnan(x) ? x
                      : std::fabs(x) >= 1 || x == 0  ? x
                                                     : narrow(static_cast<float>(Half(static_cast<float>(x))))};
    case StripOp::kRoundBF16:
      return Expected{std::isnan(x) ? x : narrow(static_cast<float>(BFloat16(static_cast<float>(x))))};
    default:
      return std::nullopt;
  }
}

std::optional<Wide> expect_unary_integer(StripOp op, Wide x) {
  switch (op) {
    case StripOp::kNeg:
      return -x;
    case StripOp::kAbs:
      return x < 0 ? -x : x;
    case StripOp::kSign:
      return x > 0 ? 1 : x < 0 ? -1 : 0;
    case StripOp::kRelu:
      return x > 0 ? x : 0;
    case StripOp::kNot:
      return -x - 1;
    case StripOp::kWrapI8:
      return ((x + 128) & 255) - 128;
    case StripOp::kWrapU8:
      return x & 255;
    case StripOp::kWrapI16:
      return ((x + 32768) & 65535) - 32768;
    default:
      return std::nullopt;
  }
}

// Predicates, and conversions between lanes.
template <typename L>
std::optional<std::int64_t> expect_integer_result(StripOp op, L x) {
  using I = IntegerOf<L>;
  const auto mask = [](bool set) { return set ? std::int64_t{-1} : std::int64_t{0}; };
  if (op == StripOp::kToMask) return mask(!(x == 0));
  if constexpr (std::is_floating_point_v<L>) {
    if (op == StripOp::kIsNan) return mask(x != x);
    if (op == StripOp::kIsInf) return mask(x == L(kInfinity) || x == -L(kInfinity));
    if (op == StripOp::kIsFinite) return mask(x - x == 0);
    if (op == StripOp::kToInt) return x != x || x - x != 0 ? std::numeric_limits<I>::min() : static_cast<I>(x);
  }
  return std::nullopt;
}

template <typename L>
void check_unary(const isa::StripInfo& info) {
  const std::vector<L> x = sample_values<L>();
  const std::string line = fmt::format("    {}.{}\n", info.text, lane_name<L>());
  if (expect_integer_result(info.op, x[0])) {
    const auto got = run_code<IntegerOf<L>>(line, x, x, x[0]);
    for (std::size_t i = 0; i < x.size(); ++i) EXPECT_EQ(got[i], *expect_integer_result(info.op, x[i])) << line << x[i];
    return;
  }
  if (info.op == StripOp::kFromMask) {
    const auto got = run_code<L>(fmt::format("    to_mask.{0}\n    from_mask.{0}\n", lane_name<L>()), x, x, x[0]);
    for (std::size_t i = 0; i < x.size(); ++i) EXPECT_EQ(got[i], x[i] == 0 ? L{0} : L{1});
    return;
  }
  if (info.op == StripOp::kToFloat) {
    const auto got = run_code<RealOf<L>>(line, x, x, x[0]);
    for (std::size_t i = 0; i < x.size(); ++i) EXPECT_EQ(got[i], static_cast<RealOf<L>>(x[i]));
    return;
  }
  if (info.op == StripOp::kErfinv || info.op == StripOp::kDigamma) return;  // special_functions_test.cc
  const auto got = run_code<L>(line, x, x, x[0]);
  for (std::size_t i = 0; i < x.size(); ++i) {
    if constexpr (std::is_floating_point_v<L>) {
      const auto expected = expect_unary_real(info.op, x[i], sizeof(L));
      ASSERT_TRUE(expected) << "no expectation of " << info.text;
      expect_near(got[i], *expected, fmt::format("{} {}", line, x[i]));
    } else {
      const auto expected = expect_unary_integer(info.op, x[i]);
      ASSERT_TRUE(expected) << "no expectation of " << info.text;
      EXPECT_EQ(got[i], static_cast<L>(*expected)) << line << x[i];
    }
  }
}

template <typename F>
void for_each_lane(const isa::StripInfo& info, F f) {
  const std::uint8_t lanes = isa::lane_bits(info.lanes);
  if (lanes & 1) f.template operator()<float>();
  if (lanes & 2) f.template operator()<std::int32_t>();
  if (lanes & 4) f.template operator()<double>();
  if (lanes & 8) f.template operator()<std::int64_t>();
}

template <typename L>
std::optional<Expected> expect_binary_real(StripOp op, L x, L y) {
  const bool nan = x != x || y != y;
  const long double X = x;
  const long double Y = y;
  switch (op) {
    case StripOp::kAdd:
      return Expected{X + Y};
    case StripOp::kSub:
      return Expected{X - Y};
    case StripOp::kMul:
      return Expected{X * Y};
    case StripOp::kDiv:
      return Expected{X / Y};
    case StripOp::kFloorDiv:
      return Expected{std::floor(static_cast<L>(X / Y))};
    case StripOp::kTruncDiv:
      return Expected{std::trunc(static_cast<L>(X / Y))};
    case StripOp::kRem:
      return Expected{std::fmod(X, Y)};
    case StripOp::kMod: {
      const long double rest = std::fmod(X, Y);
      return Expected{static_cast<L>(rest != 0 && rest * Y < 0 ? rest + Y : rest)};
    }
    case StripOp::kPow:
      return Expected{std::pow(X, Y), 1};
    case StripOp::kMax:
      return Expected{nan ? X + Y : X > Y ? X : Y};
    case StripOp::kMin:
      return Expected{nan ? X + Y : X < Y ? X : Y};
    case StripOp::kFmax:
      return Expected{std::fmax(X, Y)};
    case StripOp::kFmin:
      return Expected{std::fmin(X, Y)};
    case StripOp::kAtan2:
      return Expected{std::atan2(X, Y), 1};
    case StripOp::kHypot:
      return Expected{std::hypot(X, Y), 1};
    case StripOp::kCopySign:
      return Expected{std::signbit(y) ? -std::fabs(X) : std::fabs(X)};
    case StripOp::kNextAfter:
      return Expected{std::nextafter(x, y)};
    default:
      return std::nullopt;
  }
}

template <typename L>
std::optional<Wide> expect_binary_integer(StripOp op, L x, L y) {
  const Wide X = x;
  const Wide Y = y;
  constexpr int kBits = 8 * sizeof(L);
  switch (op) {
    case StripOp::kAdd:
      return X + Y;
    case StripOp::kSub:
      return X - Y;
    case StripOp::kMul:
      return X * Y;
    case StripOp::kTruncDiv:
      return Y == 0 ? 0 : X / Y;
    case StripOp::kRem:
      return Y == 0 ? 0 : X % Y;
    case StripOp::kFloorDiv:
      return Y == 0 ? 0 : (X - ((X % Y + Y) % Y)) / Y;
    case StripOp::kMod:
      return Y == 0 ? 0 : (X % Y + Y) % Y;
    case StripOp::kMax:
      return X > Y ? X : Y;
    case StripOp::kMin:
      return X < Y ? X : Y;
    case StripOp::kBitAnd:
      return X & Y;
    case StripOp::kBitOr:
      return X | Y;
    case StripOp::kBitXor:
      return X ^ Y;
    case StripOp::kShiftLeft:
      return Y < 0 || Y >= kBits ? 0 : X * (Wide{1} << static_cast<int>(Y));
    case StripOp::kShiftRight:
      return X >> (Y < 0 || Y >= kBits ? kBits - 1 : static_cast<int>(Y));
    case StripOp::kPow: {
      if (Y < 0) return X == 1 ? 1 : X == -1 ? (Y % 2 == 0 ? 1 : -1) : 0;
      std::uint64_t result = 1;
      if (Y > 400) return std::nullopt;  // too many steps for this way of counting
      for (Wide i = 0; i < Y; ++i) result *= static_cast<std::uint64_t>(X);
      return static_cast<Wide>(result);
    }
    default:
      return std::nullopt;
  }
}

template <typename L>
std::optional<bool> expect_compare(StripOp op, L x, L y) {
  switch (op) {
    case StripOp::kEq:
      return x == y;
    case StripOp::kNe:
      return !(x == y);
    case StripOp::kLt:
      return x < y;
    case StripOp::kLe:
      return x <= y;
    default:
      return std::nullopt;
  }
}

template <typename L>
void check_pair(StripOp op, L left, L right, L got, const std::string& what) {
  if constexpr (std::is_floating_point_v<L>) {
    const auto expected = expect_binary_real(op, left, right);
    ASSERT_TRUE(expected) << "no expectation of " << what;
    expect_near(got, *expected, fmt::format("{} {} {}", what, left, right));
  } else if (const auto expected = expect_binary_integer(op, left, right)) {
    EXPECT_EQ(got, static_cast<L>(*expected)) << what << left << " " << right;
  } else {
    EXPECT_EQ(op, StripOp::kPow) << "no expectation of " << what;
  }
}

template <typename L>
void check_binary(const isa::StripInfo& info) {
  constexpr std::string_view kForms[] = {"", ".one", ".reversed", ".one_reversed"};
  const std::vector<L> values = sample_values<L>();
  const bool compares = expect_compare(info.op, L{0}, L{0}).has_value();
  for (std::size_t shift = 0; shift < values.size(); ++shift) {
    std::vector<L> y = values;
    std::rotate(y.begin(), y.begin() + static_cast<std::ptrdiff_t>(shift), y.end());
    const L one = values[shift];
    for (int form = 0; form < 4; ++form) {
      const std::string line =
          fmt::format("    {}.{}{} {}\n", info.text, lane_name<L>(), kForms[form], form % 2 == 0 ? "s1" : "s3");
      const auto masks = compares ? run_code<IntegerOf<L>>(line, values, y, one) : std::vector<IntegerOf<L>>{};
      const auto got = compares ? std::vector<L>{} : run_code<L>(line, values, y, one);
      for (std::size_t i = 0; i < values.size(); ++i) {
        const L operand = form % 2 == 0 ? y[i] : one;
        const L left = form < 2 ? values[i] : operand;
        const L right = form < 2 ? operand : values[i];
        if (compares)
          EXPECT_EQ(masks[i], *expect_compare(info.op, left, right) ? -1 : 0) << line << left << " " << right;
        else
          check_pair(info.op, left, right, got[i], line);
      }
    }
  }
}

template <typename L>
void check_ternary(const isa::StripInfo& info) {
  constexpr std::string_view kForms[] = {" s1 s0", ".one_strip s3 s0", ".strip_one s1 s3", ".one s3 s3"};
  std::vector<L> x, y;
  for (int i = -5; i < 75; ++i) x.push_back(static_cast<L>(i)), y.push_back(static_cast<L>(2 * i + 1));
  const bool select = info.op == StripOp::kSelect;
  for (int form = 0; form < 4; ++form) {
    const std::string code =
        fmt::format("{}    {}.{}{}\n", select ? fmt::format("    to_mask.{}\n", lane_name<L>()) : "", info.text,
                    lane_name<L>(), kForms[form]);
    const auto got = run_code<L>(code, x, y, L{9});
    for (std::size_t i = 0; i < x.size(); ++i) {
      const L a = form & 1 ? L{9} : y[i];
      const L b = form & 2 ? L{9} : x[i];
      EXPECT_EQ(got[i], select ? (x[i] != 0 ? a : b) : x[i] * a + b) << code << x[i];
    }
  }
}

TEST(StripOperations, UnaryGiveWhatTheyMean) {
  for (const isa::StripInfo& info : isa::all_strips()) {
    if (info.shape == isa::StripShape::kUnary) for_each_lane(info, [&]<typename L>() { check_unary<L>(info); });
  }
}

TEST(StripOperations, BinaryGiveWhatTheyMeanInEveryForm) {
  for (const isa::StripInfo& info : isa::all_strips()) {
    if (info.shape == isa::StripShape::kBinary) for_each_lane(info, [&]<typename L>() { check_binary<L>(info); });
  }
}

TEST(StripOperations, TernaryGiveWhatTheyMeanInEveryForm) {
  for (const isa::StripInfo& info : isa::all_strips()) {
    if (info.shape == isa::StripShape::kTernary) for_each_lane(info, [&]<typename L>() { check_ternary<L>(info); });
  }
}

TEST(StripOperations, FmaRoundsOnce) {
  const float x = 1 + 0x1p-12f;  // x * x = 1 + 2^-11 + 2^-24, whose last term a rounded product loses
  const auto got = run_code<float>("    fma.f32.one s3 s3\n", std::vector<float>{x}, {x}, x);
  EXPECT_EQ(got[0], std::fma(x, x, x));
  const auto exact = run_code<float>("    fma.f32.one_strip s3 s1\n", std::vector<float>{x}, {-(1 + 0x1p-11f)}, x);
  EXPECT_EQ(exact[0], 0x1p-24f);
}

}  // namespace
}  // namespace tilewright::vm::reference
