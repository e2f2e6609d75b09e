// Elementary functions of f32 against f64, over the whole range of floats with inf, nan, denormals and signed zeros.
#include "tilewright/vm/cpu/level/strip_testing.h"

namespace tilewright::vm::testing {
namespace {

constexpr double kSqrtHalf = 0.70710678118654752440;

struct Function {
  StripOp op;
  double (*exact)(double);
};
constexpr Function kFunctions[] = {
    {StripOp::kExp, [](double x) { return std::exp(x); }},
    {StripOp::kExp2, [](double x) { return std::exp2(x); }},
    {StripOp::kExpm1, [](double x) { return std::expm1(x); }},
    {StripOp::kLog, [](double x) { return std::log(x); }},
    {StripOp::kLog2, [](double x) { return std::log2(x); }},
    {StripOp::kLog10, [](double x) { return std::log10(x); }},
    {StripOp::kLog1p, [](double x) { return std::log1p(x); }},
    {StripOp::kSin, [](double x) { return std::sin(x); }},
    {StripOp::kCos, [](double x) { return std::cos(x); }},
    {StripOp::kTanh, [](double x) { return std::tanh(x); }},
    {StripOp::kErf, [](double x) { return std::erf(x); }},
    {StripOp::kSigmoid, [](double x) { return 1 / (1 + std::exp(-x)); }},
    {StripOp::kSilu, [](double x) { return x / (1 + std::exp(-x)); }},
    {StripOp::kGelu, [](double x) { return x * std::erfc(-x * kSqrtHalf) / 2; }},
    {StripOp::kGeluTanh,
     [](double x) { return x / (1 + std::exp(-1.5957691216057307118 * (x + 0.044715 * x * x * x))); }},
    {StripOp::kRsqrt, [](double x) { return 1 / std::sqrt(x); }},
    {StripOp::kReciprocal, [](double x) { return 1 / x; }},
};

// Every `step`-th bit pattern of both signs, the neighbourhood of 0 and 1 in the range that matters, and the special
// values.
TestMemory all_floats(std::uint32_t step) {
  std::vector<float> values{0.0f,  -0.0f,  INFINITY, -INFINITY,       std::nanf(""), 1.0f,
                            -1.0f, 1e-45f, -1e-45f,  1.17549435e-38f, 3.4028235e38f, -3.4028235e38f};
  for (std::uint64_t bits = 1; bits < 0x100000000ull; bits += step)
    values.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
  for (int i = -100000; i <= 100000; ++i) values.push_back(static_cast<float>(i) * 1.7e-4f);
  TestMemory memory(static_cast<std::int64_t>(values.size()) * 4);
  std::memcpy(memory.data(), values.data(), values.size() * sizeof(float));
  return memory;
}

void expect_accurate(const Function& function, const TestMemory& inputs, TestLevel& level) {
  const std::int64_t count = inputs.size() / 4;
  TestMemory from(inputs), to(inputs.size());
  const isa::Program program = one_instruction(
      isa::MapFields{1, 128 * 1024}, {}, count,
      {{isa::Space::kBuffer, DType::kF32, 0, 0, 4, {}}, {isa::Space::kBuffer, DType::kF32, 1, 0, 4, {}}},
      {{isa::PhaseOp::kStrip,
        {isa::strip_word(StripOp::kLoadF32, Lane::kF32, 0, 0), isa::strip_word(function.op, Lane::kF32),
         isa::strip_word(StripOp::kStoreF32, Lane::kF32, 0, 1), isa::strip_word(StripOp::kEnd, Lane::kF32)},
        {}}},
      {from.size(), to.size()});
  expect_valid(program);
  run_on(*level.machine, program, {&from, &to});
  double worst = 0;
  float at = 0, result = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const float x = from.get<float>(i), y = to.get<float>(i);
    const double distance = ulps(y, function.exact(x));
    if (distance > worst) worst = distance, at = x, result = y;
  }
  const std::string_view text = isa::find_strip(function.op)->text;
  if (std::getenv("TILEWRIGHT_PRINT_ULPS") != nullptr)
    fmt::print("{:12} {:9} {:.3f} ulp at {}\n", text, level.name, worst, at);
  EXPECT_LE(worst, 3.0) << text << " on " << level.name << " at " << at << ": " << result << " instead of "
                        << function.exact(at);
}

TEST(Math, F32FunctionsStayWithin3Ulp) {
  const TestMemory inputs = all_floats(16411);
  for (const Function& function : kFunctions) {
    for (TestLevel& level : levels()) expect_accurate(function, inputs, level);
  }
}

}  // namespace
}  // namespace tilewright::vm::testing
