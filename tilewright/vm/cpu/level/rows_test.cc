// Map over several rows, rows with accumulators and scalar phases, columns, softmax and norms, against the reference
// machine.
#include "tilewright/vm/cpu/level/strip_testing.h"

namespace tilewright::vm::testing {
namespace {

using isa::PhaseOp;
using isa::ReduceKind;
using isa::Space;

constexpr std::int64_t kLengths[] = {1,  2,  3,   7,   8,   15,  16,  17,  31,  33,   63,
                                     64, 65, 100, 127, 128, 129, 384, 385, 500, 1000, 5003};
constexpr std::int64_t kScratch = 64 << 10;

Word f32_word(StripOp op, int form = 0, std::uint16_t a = 0, std::uint16_t b = 0) {
  return isa::strip_word(op, Lane::kF32, form, a, b);
}
Word end_word() {
  return f32_word(StripOp::kEnd);
}
std::int64_t bits_of(float value) {
  return std::bit_cast<std::uint32_t>(value);
}
std::int64_t accumulator_link(ReduceKind kind, int target) {
  return static_cast<std::int64_t>(kind) << 32 | target;
}

void fill_uniform(TestMemory& memory, std::mt19937_64& random, double low = -2, double high = 2) {
  for (std::int64_t i = 0; i < memory.size() / 4; ++i) {
    memory.set<float>(i, static_cast<float>(low + (high - low) * static_cast<double>(random() >> 11) * 0x1p-53));
  }
}

// Runs on the reference and every level, buffers copied for each; compares the last buffer to `tolerance` relative to
// the larger of the value and `floor`.
void expect_like_reference(const isa::Program& program, std::vector<TestMemory*> inputs, std::int64_t out_bytes,
                           double tolerance, const std::string& what, double floor = 1e-3) {
  expect_valid(program);
  TestMemory expected(out_bytes);
  std::vector<TestMemory*> buffers = inputs;
  buffers.push_back(&expected);
  std::memset(expected.data(), 0, static_cast<std::size_t>(out_bytes));
  run_on(reference(), program, buffers);
  for (TestLevel& level : levels()) {
    TestMemory actual(out_bytes);
    std::memset(actual.data(), 0, static_cast<std::size_t>(out_bytes));
    buffers.back() = &actual;
    run_on(*level.machine, program, buffers);
    ASSERT_TRUE(actual.intact()) << what << " on " << level.name;
    for (std::int64_t i = 0; i < out_bytes / 4; ++i) {
      const double e = expected.get<float>(i), a = actual.get<float>(i);
      const bool same =
          (std::isnan(e) && std::isnan(a)) || e == a || std::fabs(a - e) <= tolerance * std::max(std::fabs(e), floor);
      ASSERT_TRUE(same) << what << " on " << level.name << ", element " << i << ": " << a << " instead of " << e;
    }
  }
}

TEST(Map, WalksRowsAndInnerTilesOfEveryOuterIndex) {
  std::mt19937_64 random(1);
  for (const std::int64_t inner : {1, 17, 128, 200, 500}) {
    // out[2, 5, inner] = x * w[inner] + row[5], x with padded rows
    const std::int64_t row = (inner + 3) * 4;
    TestMemory x(2 * 5 * row), w(inner * 4), bias(5 * 4);
    fill_uniform(x, random), fill_uniform(w, random), fill_uniform(bias, random);
    const isa::Program program =
        one_instruction(isa::MapFields{2, 128}, {2, 5}, inner,
                        {{Space::kBuffer, DType::kF32, 0, 0, 4, {5 * row, row}},
                         {Space::kBuffer, DType::kF32, 1, 0, 4, {0, 0}},
                         {Space::kBuffer, DType::kF32, 2, 0, 0, {0, 4}},
                         {Space::kBuffer, DType::kF32, 3, 0, 4, {5 * inner * 4, inner * 4}},
                         {Space::kSlot, DType::kF32, 0, 0, 4, {}}},
                        {{PhaseOp::kStrip,
                          {f32_word(StripOp::kLoadF32, isa::kUnit, 0), f32_word(StripOp::kMul, 0, 1),
                           f32_word(StripOp::kStoreF32, 0, 4), f32_word(StripOp::kAdd, isa::kOneOperand, 2),
                           f32_word(StripOp::kSub, 0, 4), f32_word(StripOp::kAdd, 0, 4),
                           f32_word(StripOp::kStoreF32, 0, 3), end_word()},
                          {}}},
                        {x.size(), w.size(), bias.size(), 10 * inner * 4}, 512);
    expect_like_reference(program, {&x, &w, &bias}, 10 * inner * 4, 1e-6, fmt::format("inner {}", inner));
  }
}

TEST(Map, LargeOutputsThatAreStoredPastTheCacheAreRight) {
  std::mt19937_64 random(2);
  const std::int64_t rows = 3, inner = (2 << 20) + 5;
  TestMemory x(rows * inner * 4);
  fill_uniform(x, random);
  const isa::Program program = one_instruction(
      isa::MapFields{1, 64 << 10}, {rows}, inner,
      {{Space::kBuffer, DType::kF32, 0, 0, 4, {inner * 4}}, {Space::kBuffer, DType::kF32, 1, 0, 4, {inner * 4}}},
      {{PhaseOp::kStrip,
        {f32_word(StripOp::kLoadF32, 0, 0), f32_word(StripOp::kNeg), f32_word(StripOp::kStoreF32, 0, 1), end_word()},
        {}}},
      {x.size(), x.size()});
  for (TestLevel& level : levels()) {
    TestMemory out(x.size());
    run_on(*level.machine, program, {&x, &out});
    ASSERT_TRUE(out.intact());
    for (std::int64_t i = 0; i < rows * inner; ++i)
      ASSERT_EQ(out.get<float>(i), -x.get<float>(i)) << level.name << " element " << i;
  }
}

// Streams of a softmax-like program in scratch: 0 x, 1 out, 2 row maximum, 3 row sum, 4 exponentials, 5 accumulator
// max, 6 acc sum.
isa::Program composed_softmax(std::int64_t rows, std::int64_t n, std::int64_t row_tile) {
  const std::int64_t scalars = row_tile * 4, exps = 2 * scalars;
  const std::int64_t slots = (exps + row_tile * n * 4 + 511) / 512 * 512;
  return one_instruction(
      isa::RowsFields{row_tile}, {rows}, n,
      {{Space::kBuffer, DType::kF32, 0, 0, 4, {n * 4}},
       {Space::kBuffer, DType::kF32, 1, 0, 4, {n * 4}},
       {Space::kScratch, DType::kF32, 0, 0, 0, {4}},
       {Space::kScratch, DType::kF32, 0, scalars, 0, {4}},
       {Space::kScratch, DType::kF32, 0, exps, 4, {n * 4}},
       {Space::kAccumulator, DType::kF32, 0, slots, accumulator_link(ReduceKind::kMax, 2), {}},
       {Space::kAccumulator, DType::kF32, 0, slots + 512, accumulator_link(ReduceKind::kSum, 3), {}}},
      {{PhaseOp::kStrip, {f32_word(StripOp::kLoadF32, 0, 0), f32_word(StripOp::kAccMax, 0, 5), end_word()}, {5, 1}},
       {PhaseOp::kStrip,
        {f32_word(StripOp::kLoadF32, 0, 0), f32_word(StripOp::kSub, isa::kOneOperand, 2), f32_word(StripOp::kExp),
         f32_word(StripOp::kAccSum, 0, 6), f32_word(StripOp::kStoreF32, 0, 4), end_word()},
        {6, 1}},
       {PhaseOp::kScalar,
        {f32_word(StripOp::kLoadF32, 0, 3), f32_word(StripOp::kReciprocal), f32_word(StripOp::kStoreF32, 0, 3),
         end_word()},
        {}},
       {PhaseOp::kStrip,
        {f32_word(StripOp::kLoadF32, 0, 4), f32_word(StripOp::kMul, isa::kOneOperand, 3),
         f32_word(StripOp::kStoreF32, 0, 1), end_word()},
        {}}},
      {rows * n * 4, rows * n * 4}, slots + 1024);
}

TEST(Rows, PhasesWithAccumulatorsAndScalarsMakeASoftmax) {
  std::mt19937_64 random(3);
  for (const std::int64_t n : kLengths) {
    const std::int64_t rows = 5;
    TestMemory x(rows * n * 4);
    fill_uniform(x, random, -5, 5);
    expect_like_reference(composed_softmax(rows, n, 2), {&x}, rows * n * 4, 2e-6, fmt::format("n {}", n), 1e-8);
  }
}

TEST(Rows, EveryReductionOfEveryLaneEqualsTheReference) {
  struct Kind {
    StripOp op;
    ReduceKind kind;
  };
  constexpr Kind kKinds[] = {{StripOp::kAccSum, ReduceKind::kSum},
                             {StripOp::kAccProd, ReduceKind::kProd},
                             {StripOp::kAccMax, ReduceKind::kMax},
                             {StripOp::kAccMin, ReduceKind::kMin},
                             {StripOp::kAccOr, ReduceKind::kOr},
                             {StripOp::kAccAnd, ReduceKind::kAnd},
                             {StripOp::kAccSumSquare, ReduceKind::kSumSquare}};
  std::mt19937_64 random(4);
  for (const Kind& kind : kKinds) {
    for (const Lane lane : {Lane::kF32, Lane::kI32, Lane::kF64, Lane::kI64}) {
      if ((isa::kStripFacts[static_cast<std::size_t>(kind.op)].lanes & 1 << static_cast<int>(lane)) == 0) continue;
      const DType dtype = lane_dtype(lane);
      const std::int64_t bytes = byte_size(dtype);
      for (const std::int64_t n : {0, 1, 5, 16, 17, 100, 129, 300}) {
        TestMemory x(std::max<std::int64_t>(3 * n * bytes, 8));
        visit(dtype, [&]<typename T>() {
          for (std::int64_t i = 0; i < 3 * n; ++i)
            x.set<T>(i, static_cast<T>(0.5f + static_cast<float>(random() % 1000) / 999.0f));
        });
        const isa::Program program =
            one_instruction(isa::RowsFields{2}, {3}, n,
                            {{Space::kBuffer, dtype, 0, 0, bytes, {n * bytes}},
                             {Space::kBuffer, dtype, 1, 0, 0, {bytes}},
                             {Space::kAccumulator, dtype, 0, 0, accumulator_link(kind.kind, 1), {}}},
                            {{PhaseOp::kStrip,
                              {isa::strip_word(lane_load(lane), lane, 0, 0), isa::strip_word(kind.op, lane, 0, 2),
                               isa::strip_word(StripOp::kEnd, lane)},
                              {2, 1}}},
                            {x.size(), 3 * bytes}, 512);
        expect_valid(program);
        TestMemory expected(3 * bytes);
        run_on(reference(), program, {&x, &expected});
        for (TestLevel& level : levels()) {
          TestMemory actual(3 * bytes);
          run_on(*level.machine, program, {&x, &actual});
          visit(dtype, [&]<typename T>() {
            for (std::int64_t i = 0; i < 3; ++i) {
              const double e = static_cast<double>(expected.get<T>(i)), a = static_cast<double>(actual.get<T>(i));
              ASSERT_LE(std::isinf(e) && e == a ? 0 : std::fabs(a - e), is_float(dtype) ? std::fabs(e) * 1e-4 : 0.0)
                  << isa::find_strip(kind.op)->text << " of " << to_string(dtype) << " on " << level.name << ", n " << n
                  << ": " << a << " instead of " << e;
            }
          });
        }
      }
    }
  }
}

TEST(Rows, TheMeanOfSixMillionEqualNumbersIsThatNumber) {
  const std::int64_t n = 6'000'000;
  TestMemory x(n * 4);
  for (std::int64_t i = 0; i < n; ++i) x.set<float>(i, 0.1f);
  const isa::Program program = one_instruction(
      isa::RowsFields{1}, {1}, n,
      {{Space::kBuffer, DType::kF32, 0, 0, 4, {n * 4}},
       {Space::kBuffer, DType::kF32, 1, 0, 0, {4}},
       {Space::kAccumulator, DType::kF32, 0, 0, accumulator_link(ReduceKind::kSum, 1), {}}},
      {{PhaseOp::kStrip, {f32_word(StripOp::kLoadF32, 0, 0), f32_word(StripOp::kAccSum, 0, 2), end_word()}, {2, 1}}},
      {x.size(), 4}, 512);
  for (TestLevel& level : levels()) {
    TestMemory sum(4);
    run_on(*level.machine, program, {&x, &sum});
    EXPECT_NEAR(sum.get<float>(0) / static_cast<double>(n), static_cast<double>(0.1f), 1e-6) << level.name;
  }
}

isa::Program column_sum(std::int64_t kept, std::int64_t a, std::int64_t b, std::int64_t inner,
                        std::int64_t inner_tile) {
  const std::int64_t slots = (std::min(inner_tile, inner) * 4 + 511) / 512 * 512;
  return one_instruction(isa::ColumnsFields{2, inner_tile}, {kept, a, b}, inner,
                         {{Space::kBuffer, DType::kF32, 0, 0, 4, {a * b * inner * 4, b * inner * 4, inner * 4}},
                          {Space::kBuffer, DType::kF32, 1, 0, 4, {inner * 4, 0, 0}},
                          {Space::kAccumulator, DType::kF32, 0, 0, accumulator_link(ReduceKind::kSum, 1), {}},
                          {Space::kAccumulator, DType::kF32, 0, slots, accumulator_link(ReduceKind::kMax, 1), {}},
                          {Space::kScratch, DType::kF32, 0, 0, 4, {}},
                          {Space::kScratch, DType::kF32, 0, slots, 4, {}}},
                         {{PhaseOp::kStrip,
                           {f32_word(StripOp::kLoadF32, 0, 0), f32_word(StripOp::kAccSum, 0, 2),
                            f32_word(StripOp::kAccMax, 0, 3), end_word()},
                           {2, 2}},
                          {PhaseOp::kStrip,
                           {f32_word(StripOp::kLoadF32, 0, 4), f32_word(StripOp::kSub, 0, 5),
                            f32_word(StripOp::kStoreF32, 0, 1), end_word()},
                           {}}},
                         {kept * a * b * inner * 4, kept * inner * 4}, 2 * slots);
}

TEST(Columns, SumsAndMaximaOverTwoOuterDims) {
  std::mt19937_64 random(5);
  for (const std::int64_t inner : {1, 17, 128, 130, 1100}) {
    for (const std::int64_t tile : {inner, std::int64_t{128}}) {
      TestMemory x(2 * 3 * 150 * inner * 4);
      fill_uniform(x, random);
      expect_like_reference(column_sum(2, 3, 150, inner, tile), {&x}, 2 * inner * 4, 1e-5,
                            fmt::format("inner {} tile {}", inner, tile), 4);
    }
  }
}

TEST(Columns, TheSumOfAMillionRowsKeepsItsDigits) {
  const std::int64_t rows = 1'000'000;
  TestMemory x(rows * 2 * 4);
  for (std::int64_t i = 0; i < rows * 2; ++i) x.set<float>(i, 0.1f);
  for (TestLevel& level : levels()) {
    TestMemory out(8);
    run_on(*level.machine, column_sum(1, 1, rows, 2, 2), {&x, &out});
    EXPECT_NEAR((out.get<float>(0) + 0.1) / static_cast<double>(rows), static_cast<double>(0.1f), 1e-6) << level.name;
  }
}

isa::Program native_phase(PhaseOp op, std::int64_t rows, std::int64_t n, std::int64_t row_tile, bool weight,
                          bool bias) {
  TestPhase phase{op, {}, {0, 1}};
  if (op == PhaseOp::kLayerNorm || op == PhaseOp::kRmsNorm) {
    phase.operands.push_back(weight ? 2 : isa::kNoStream);
    phase.operands.push_back(bias ? 3 : isa::kNoStream);
    phase.operands.push_back(4);
  }
  return one_instruction(isa::RowsFields{row_tile}, {rows}, n,
                         {{Space::kBuffer, DType::kF32, 0, 0, 4, {n * 4}},
                          {Space::kBuffer, DType::kF32, 3, 0, 4, {n * 4}},
                          {Space::kBuffer, DType::kF32, 1, 0, 4, {0}},
                          {Space::kBuffer, DType::kF32, 2, 0, 4, {0}},
                          {Space::kLiteral, DType::kF32, 0, bits_of(1e-5f), 0, {}}},
                         {phase}, {rows * n * 4, n * 4, n * 4, rows * n * 4});
}

TEST(NativePhases, SoftmaxAndNormsEqualTheReference) {
  std::mt19937_64 random(6);
  for (const PhaseOp op : {PhaseOp::kSoftmax, PhaseOp::kLogSoftmax, PhaseOp::kLayerNorm, PhaseOp::kRmsNorm}) {
    for (const std::int64_t n : kLengths) {
      for (const int affine : {0, 1, 2, 3}) {
        TestMemory x(5 * n * 4), w(n * 4), b(n * 4);
        fill_uniform(x, random, -3, 5), fill_uniform(w, random), fill_uniform(b, random);
        const std::string what = fmt::format("{} n {} affine {}", isa::find_phase(op)->text, n, affine);
        expect_like_reference(native_phase(op, 5, n, 2, (affine & 1) != 0, (affine & 2) != 0), {&x, &w, &b}, 5 * n * 4,
                              4e-6, what, 0.2);
        if (HasFatalFailure() || op == PhaseOp::kSoftmax || op == PhaseOp::kLogSoftmax) break;
      }
    }
  }
}

// Streams: from, addend, weight, bias, to, eps, scale. The rows of the addend are `addend_row` bytes apart.
isa::Program native_phase_of_sum(PhaseOp op, std::int64_t rows, std::int64_t n, std::int64_t row_tile, bool adds,
                                 std::int64_t addend_row) {
  TestPhase phase{op, {}, {0, 4}};
  if (op == PhaseOp::kScaledSoftmax) {
    phase.operands.push_back(6);
    phase.operands.push_back(adds ? 1 : isa::kNoStream);
  } else {
    phase.operands.insert(phase.operands.end(), {2, 3, 5, 1});
  }
  return one_instruction(isa::RowsFields{row_tile}, {rows}, n,
                         {{Space::kBuffer, DType::kF32, 0, 0, 4, {n * 4}},
                          {Space::kBuffer, DType::kF32, 1, 0, 4, {addend_row}},
                          {Space::kBuffer, DType::kF32, 2, 0, 4, {0}},
                          {Space::kBuffer, DType::kF32, 3, 0, 4, {0}},
                          {Space::kBuffer, DType::kF32, 4, 0, 4, {n * 4}},
                          {Space::kLiteral, DType::kF32, 0, bits_of(1e-5f), 0, {}},
                          {Space::kLiteral, DType::kF32, 0, bits_of(-0.7f), 0, {}}},
                         {phase}, {rows * n * 4, rows * n * 4, n * 4, n * 4, rows * n * 4});
}

TEST(NativePhases, ScaledAndSummedRowsEqualTheReference) {
  std::mt19937_64 random(9);
  for (const PhaseOp op : {PhaseOp::kScaledSoftmax, PhaseOp::kSumLayerNorm, PhaseOp::kSumRmsNorm}) {
    for (const std::int64_t n : kLengths) {
      for (const int kind : {0, 1, 2}) {  // an addend of each row; the same one for all; none
        TestMemory x(5 * n * 4), y(5 * n * 4), w(n * 4), b(n * 4);
        for (TestMemory* memory : {&x, &y, &w, &b}) fill_uniform(*memory, random, -3, 5);
        expect_like_reference(native_phase_of_sum(op, 5, n, 2, kind != 2, kind == 0 ? n * 4 : 0), {&x, &y, &w, &b},
                              5 * n * 4, 8e-6, fmt::format("{} n {} kind {}", isa::find_phase(op)->text, n, kind), 0.5);
        if (HasFatalFailure()) return;
      }
    }
  }
}

// More than 6 MB, so that results go past the cache; rows begin at every distance from a vector.
TEST(NativePhases, LargeResultsThatAreStoredPastTheCacheAreThoseOfSmallOnes) {
  std::mt19937_64 random(10);
  for (const std::int64_t n : {48, 77, 384, 1023, 70'001}) {
    const std::int64_t rows = (7 << 20) / 4 / n;
    TestMemory x(rows * n * 4), y(rows * n * 4), w(n * 4), b(n * 4);
    for (TestMemory* memory : {&x, &y, &w, &b}) fill_uniform(*memory, random);
    for (const PhaseOp op : {PhaseOp::kScaledSoftmax, PhaseOp::kSumLayerNorm, PhaseOp::kSumRmsNorm}) {
      const isa::Program large = native_phase_of_sum(op, rows, n, 9, true, n * 4),
                         small = native_phase_of_sum(op, 5, n, 9, true, n * 4);
      expect_valid(large);
      for (TestLevel& level : levels()) {
        TestMemory all(rows * n * 4), first(5 * n * 4);
        run_on(*level.machine, large, {&x, &y, &w, &b, &all});
        run_on(*level.machine, small, {&x, &y, &w, &b, &first});
        ASSERT_TRUE(all.intact()) << level.name;
        EXPECT_EQ(std::memcmp(all.data(), first.data(), static_cast<std::size_t>(first.size())), 0)
            << level.name << " n " << n << " " << isa::find_phase(op)->text;
        for (std::int64_t i = 0; i < rows * n; ++i) {
          ASSERT_FALSE(std::isnan(all.get<float>(i))) << level.name << " n " << n << " element " << i;
        }
      }
    }
  }
}

TEST(NativePhases, SoftmaxOfInfinitiesAndNansFollowsTheFormula) {
  std::mt19937_64 random(7);
  for (const std::int64_t n : {5, 130, 300}) {
    TestMemory x(4 * n * 4), w(n * 4), b(n * 4);
    fill_uniform(x, random);
    for (std::int64_t i = 0; i < n; ++i) x.set<float>(i, -INFINITY);  // no value at all
    x.set<float>(n + 3, -INFINITY), x.set<float>(2 * n + 2, std::nanf("")), x.set<float>(3 * n + 1, INFINITY);
    expect_like_reference(native_phase(PhaseOp::kSoftmax, 4, n, 4, false, false), {&x, &w, &b}, 4 * n * 4, 1e-6,
                          fmt::format("n {}", n));
  }
}

TEST(Rows, ARowDoesNotDependOnItsTile) {
  std::mt19937_64 random(8);
  for (const std::int64_t n : {17, 500, 5003}) {
    TestMemory x(7 * n * 4), w(n * 4), b(n * 4);
    fill_uniform(x, random), fill_uniform(w, random), fill_uniform(b, random);
    for (TestLevel& level : levels()) {
      TestMemory together(7 * n * 4), apart(7 * n * 4), composed_together(7 * n * 4), composed_apart(7 * n * 4);
      run_on(*level.machine, native_phase(PhaseOp::kLayerNorm, 7, n, 7, true, true), {&x, &w, &b, &together});
      run_on(*level.machine, native_phase(PhaseOp::kLayerNorm, 7, n, 2, true, true), {&x, &w, &b, &apart});
      run_on(*level.machine, composed_softmax(7, n, 3), {&x, &composed_together});
      run_on(*level.machine, composed_softmax(7, n, 1), {&x, &composed_apart});
      EXPECT_EQ(std::memcmp(together.data(), apart.data(), static_cast<std::size_t>(together.size())), 0)
          << level.name << " n " << n;
      EXPECT_EQ(std::memcmp(composed_together.data(), composed_apart.data(), static_cast<std::size_t>(apart.size())), 0)
          << level.name << " n " << n;
    }
  }
}

}  // namespace
}  // namespace tilewright::vm::testing
