// Elementary functions of f64 against quadruple precision, over the whole range of doubles with inf, nan, denormals and
// signed zeros. <= 3 ulp, or a row below says why not.
#include "tilewright/vm/cpu/level/strip_testing.h"

#if defined(__HAVE_FLOAT128) && __HAVE_FLOAT128 && !defined(__clang__)

namespace tilewright::vm::testing {
namespace {

using Quad = _Float128;

const Quad kPi = 4 * atanf128(1);
const Quad kSqrtHalf = sqrtf128(0.5);
const Quad kGeluSlope = 2 * sqrtf128(2 / kPi);
const Quad kGeluCubic = Quad{44715} / 1000000;

Quad sigmoid(Quad x) {
  return 1 / (1 + expf128(-x));
}
Quad gelu_tanh(Quad x) {
  return x * sigmoid(kGeluSlope * (x + kGeluCubic * x * x * x));
}
// Newton on erfc(y) - (1 - |x|), from the double's own inverse.
Quad erfinv(Quad x) {
  const Quad size = fabsf128(x);
  if (!(size <= 1)) return static_cast<Quad>(NAN);
  if (size == 1) return copysignf128(static_cast<Quad>(INFINITY), x);
  if (size == 0) return x;
  const double wanted = static_cast<double>(1 - size);
  double low = 0, high = 6;
  for (int step = 0; step < 60; ++step) (std::erfc((low + high) / 2) > wanted ? low : high) = (low + high) / 2;
  Quad y = low;
  for (int step = 0; step < 4; ++step) {
    const Quad error = size < 0.5 ? erff128(y) - size : (1 - size) - erfcf128(y);
    y -= error * expf128(y * y) * sqrtf128(kPi) / 2;
  }
  return copysignf128(y, x);
}
Quad lgamma(Quad x) {
  int sign = 0;
  return lgammaf128_r(x, &sign);
}
// Reflection and recurrence to x >= 40, then the asymptotic series (Abramowitz and Stegun 6.3.5, 6.3.7, 6.3.18).
Quad digamma(Quad x) {
  if (x == 0) return copysignf128(static_cast<Quad>(INFINITY), -x);
  if (x < 0) {
    const Quad fraction = x - truncf128(x);
    return fraction == 0 ? static_cast<Quad>(NAN) : digamma(1 - x) - kPi / tanf128(kPi * fraction);
  }
  Quad result = 0;
  for (; x < 40; x += 1) result -= 1 / x;
  if (x > 1e40) return logf128(x);
  // B(2n) / 2n, n = 1..12
  // numerator and denominator of B(2n) / 2n, n = 1..12
  constexpr double kTerms[][2] = {{1, 12},        {-1, 120},       {1, 252},       {-1, 240},
                                  {1, 132},       {-691, 32760},   {1, 12},        {-3617, 8160},
                                  {43867, 14364}, {-174611, 6600}, {854513, 3036}, {-236364091, 65520}};
  Quad power = 1;
  for (const auto& [top, bottom] : kTerms) result -= Quad{top} / Quad{bottom} * (power /= x * x);
  return result + logf128(x) - 1 / (2 * x);
}

struct Function {
  StripOp op;
  Quad (*exact)(Quad);
  double allowed = 3;
  double near_zero = 0;  // results smaller than this are held to the ulp of this
};
constexpr Function kFunctions[] = {
    {StripOp::kSqrt, [](Quad x) { return sqrtf128(x); }, 0.5},
    {StripOp::kRsqrt, [](Quad x) { return 1 / sqrtf128(x); }},
    {StripOp::kReciprocal, [](Quad x) { return 1 / x; }, 0.5},
    {StripOp::kExp, [](Quad x) { return expf128(x); }},
    {StripOp::kExp2, [](Quad x) { return exp2f128(x); }},
    {StripOp::kExpm1, [](Quad x) { return expm1f128(x); }},
    {StripOp::kLog, [](Quad x) { return logf128(x); }},
    {StripOp::kLog2, [](Quad x) { return log2f128(x); }},
    {StripOp::kLog10, [](Quad x) { return log10f128(x); }},
    {StripOp::kLog1p, [](Quad x) { return log1pf128(x); }},
    {StripOp::kSin, [](Quad x) { return sinf128(x); }},
    {StripOp::kCos, [](Quad x) { return cosf128(x); }},
    {StripOp::kTan, [](Quad x) { return tanf128(x); }},
    {StripOp::kAsin, [](Quad x) { return asinf128(x); }},
    {StripOp::kAcos, [](Quad x) { return acosf128(x); }},
    {StripOp::kAtan, [](Quad x) { return atanf128(x); }},
    {StripOp::kSinh, [](Quad x) { return sinhf128(x); }},
    {StripOp::kCosh, [](Quad x) { return coshf128(x); }},
    {StripOp::kTanh, [](Quad x) { return tanhf128(x); }},
    {StripOp::kAsinh, [](Quad x) { return asinhf128(x); }},
    {StripOp::kAcosh, [](Quad x) { return acoshf128(x); }},
    {StripOp::kAtanh, [](Quad x) { return atanhf128(x); }},
    {StripOp::kErf, [](Quad x) { return erff128(x); }},
    {StripOp::kErfc, [](Quad x) { return erfcf128(x); }},
    {StripOp::kErfinv, erfinv},
    {StripOp::kLgamma, lgamma},
    {StripOp::kDigamma, digamma, 3, 16},  // a difference below 0 and near its zeros: the error is absolute there
    {StripOp::kSigmoid, sigmoid},
    {StripOp::kSilu, [](Quad x) { return x * sigmoid(x); }},
    {StripOp::kGelu, [](Quad x) { return x * erfcf128(-x * kSqrtHalf) / 2; }, 4},  // erfc of the C library has 2.6
    {StripOp::kGeluTanh, gelu_tanh},
};

// Bit patterns of both signs in even steps, what lies between -40 and 40 and near 1, and the special values.
TestMemory all_doubles() {
  std::vector<double> values{0.0,
                             -0.0,
                             INFINITY,
                             -INFINITY,
                             std::nan(""),
                             5e-324,
                             -5e-324,
                             std::numeric_limits<double>::min(),
                             std::numeric_limits<double>::max(),
                             std::numeric_limits<double>::lowest()};
  constexpr std::uint64_t kPatterns = 12000;
  for (std::uint64_t i = 0; i < kPatterns; ++i)
    values.push_back(std::bit_cast<double>(i * (~std::uint64_t{0} / kPatterns) + i * 7919));
  for (int i = -6000; i <= 6000; ++i) values.push_back(i * 6.7e-3);
  for (int i = -1000; i <= 1000; ++i) values.push_back(i * 0.75), values.push_back(i * 0.5);
  for (int exponent = 1; exponent <= 53; ++exponent) {
    for (const double one : {1.0, -1.0, 0.5})
      values.push_back(one + std::ldexp(1, -exponent)), values.push_back(one - std::ldexp(1, -exponent));
  }
  TestMemory memory(static_cast<std::int64_t>(values.size()) * 8);
  std::memcpy(memory.data(), values.data(), values.size() * sizeof(double));
  return memory;
}

double distance(double actual, Quad exact, double near_zero) {
  const double rounded = static_cast<double>(exact);
  if (std::isnan(rounded) || std::isnan(actual)) return std::isnan(rounded) == std::isnan(actual) ? 0 : 1e30;
  if (rounded == actual) return 0;
  if (std::isinf(rounded) || std::isinf(actual)) return ulps(actual, rounded);
  const double size = std::max(std::fabs(rounded), near_zero);
  const double ulp = std::min(std::nextafter(size, static_cast<double>(INFINITY)) - size, std::ldexp(1.0, 971));
  return static_cast<double>(fabsf128(static_cast<Quad>(actual) - exact) / static_cast<Quad>(ulp));
}

void expect_accurate(const Function& function, const TestMemory& inputs, const std::vector<Quad>& exact,
                     TestLevel& level) {
  const std::int64_t count = inputs.size() / 8;
  TestMemory from(inputs), to(inputs.size());
  const isa::Program program = one_instruction(
      isa::MapFields{1, 128 * 1024}, {}, count,
      {{isa::Space::kBuffer, DType::kF64, 0, 0, 8, {}}, {isa::Space::kBuffer, DType::kF64, 1, 0, 8, {}}},
      {{isa::PhaseOp::kStrip,
        {isa::strip_word(StripOp::kLoadF64, Lane::kF64, 0, 0), isa::strip_word(function.op, Lane::kF64),
         isa::strip_word(StripOp::kStoreF64, Lane::kF64, 0, 1), isa::strip_word(StripOp::kEnd, Lane::kF64)},
        {}}},
      {from.size(), to.size()});
  expect_valid(program);
  run_on(*level.machine, program, {&from, &to});
  double worst = 0, at = 0;
  Quad wanted = 0;
  double got = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const Quad expected = exact[static_cast<std::size_t>(i)];
    const double error = distance(to.get<double>(i), expected, function.near_zero);
    if (error > worst) worst = error, at = from.get<double>(i), got = to.get<double>(i), wanted = expected;
  }
  const std::string_view text = isa::find_strip(function.op)->text;
  if (std::getenv("TILEWRIGHT_PRINT_ULPS") != nullptr)
    fmt::print("{:12} {:9} {:.3f} ulp at {}\n", text, level.name, worst, at);
  EXPECT_LE(worst, function.allowed) << text << " on " << level.name << " at " << fmt::format("{}: {}", at, got)
                                     << " instead of " << fmt::format("{}", static_cast<double>(wanted));
}

TEST(Math, F64FunctionsStayWithin3Ulp) {
  const TestMemory inputs = all_doubles();
  for (const Function& function : kFunctions) {
    std::vector<Quad> exact;
    for (std::int64_t i = 0; i < inputs.size() / 8; ++i) exact.push_back(function.exact(inputs.get<double>(i)));
    for (TestLevel& level : levels()) expect_accurate(function, inputs, exact, level);
  }
}

}  // namespace
}  // namespace tilewright::vm::testing

#endif
