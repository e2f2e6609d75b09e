// Every strip operation, lane and form on every level, against the reference machine, at all tails and misalignments.
#include "tilewright/vm/cpu/level/strip_testing.h"

namespace tilewright::vm::testing {
namespace {

constexpr std::int64_t kTails[] = {0, 1, 3, 7, 15, 16, 17, 31, 64, 65, 127, 128, 129, 300};

// A program v = load(stream 0); op; store(stream 3), with operands in streams 1 and 2.
struct StripCase {
  std::string name;
  std::vector<Word> code;
  DType from, operand, to;
  std::int64_t from_stride, operand_a_stride, operand_b_stride, to_stride;  // 0: one element
  double allowed_ulps = 0;                                                  // of float results
  Lane result = Lane::kF32;
};

// The inputs of element i, for messages.
std::string inputs_of(const StripCase& c, const TestMemory& from, const TestMemory& a, std::int64_t i) {
  std::string text;
  visit(c.from, [&]<typename T>() {
    text = fmt::format("; v = {}", static_cast<double>(from.get<T>(i * c.from_stride / byte_size(c.from))));
  });
  visit(c.operand, [&]<typename T>() {
    text += fmt::format(", a = {}", static_cast<double>(a.get<T>(i * c.operand_a_stride / byte_size(c.operand))));
  });
  return text;
}

template <typename Inputs>
void expect_equal(const StripCase& c, const std::string& where, const TestMemory& expected, const TestMemory& actual,
                  std::int64_t count, Inputs inputs) {
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t at = i * c.to_stride / byte_size(c.to);
    const bool floats = is_float(c.to);
    double distance = 0;
    std::string values;
    visit(c.to, [&]<typename T>() {
      if constexpr (std::is_same_v<T, float> || std::is_same_v<T, double>) {
        distance = ulps(actual.get<T>(at), static_cast<double>(expected.get<T>(at)));
        values = fmt::format("{} instead of {}", actual.get<T>(at), expected.get<T>(at));
      } else if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) {
        const float a = actual.get<T>(at), e = expected.get<T>(at);
        distance = a == e || (std::isnan(a) && std::isnan(e)) ? 0 : 1e30;
        values = fmt::format("{} instead of {}", a, e);
      } else {
        distance =
            std::memcmp(actual.data() + at * byte_size(c.to), expected.data() + at * byte_size(c.to), sizeof(T)) == 0
                ? 0
                : 1e30;
        if constexpr (!std::is_same_v<T, bool>)
          values = fmt::format("{} instead of {}", actual.get<T>(at), expected.get<T>(at));
      }
    });
    ASSERT_LE(distance, floats ? c.allowed_ulps : 0.0)
        << where << ", element " << i << " of " << count << ": " << values << inputs(i);
  }
}

void run_case(const StripCase& c, std::int64_t count, std::int64_t misalign, std::mt19937_64& random) {
  const auto bytes = [&](std::int64_t stride, DType dtype) {
    return stride * std::max<std::int64_t>(count - 1, 0) + byte_size(dtype);
  };
  TestMemory from(bytes(c.from_stride, c.from), misalign), a(bytes(c.operand_a_stride, c.operand), misalign),
      b(bytes(c.operand_b_stride, c.operand), misalign);
  fill(from, c.from, random), fill(a, c.operand, random), fill(b, c.operand, random);
  const isa::Program program = one_instruction(isa::MapFields{1, std::max<std::int64_t>(count, 1)}, {}, count,
                                               {{isa::Space::kBuffer, c.from, 0, 0, c.from_stride, {}},
                                                {isa::Space::kBuffer, c.operand, 1, 0, c.operand_a_stride, {}},
                                                {isa::Space::kBuffer, c.operand, 2, 0, c.operand_b_stride, {}},
                                                {isa::Space::kBuffer, c.to, 3, 0, c.to_stride, {}}},
                                               {{isa::PhaseOp::kStrip, c.code, {}}},
                                               {from.size(), a.size(), b.size(), bytes(c.to_stride, c.to)});
  expect_valid(program);
  TestMemory expected(bytes(c.to_stride, c.to), misalign);
  std::memset(expected.data(), 0x5a, static_cast<std::size_t>(expected.size()));
  run_on(reference(), program, {&from, &a, &b, &expected});
  for (TestLevel& level : levels()) {
    TestMemory actual(bytes(c.to_stride, c.to), misalign);
    std::memset(actual.data(), 0x5a, static_cast<std::size_t>(actual.size()));
    run_on(*level.machine, program, {&from, &a, &b, &actual});
    const std::string where = fmt::format("{} on {}, count {}, misaligned by {}", c.name, level.name, count, misalign);
    ASSERT_TRUE(actual.intact()) << where;
    expect_equal(c, where, expected, actual, count, [&](std::int64_t i) { return inputs_of(c, from, a, i); });
    if (::testing::Test::HasFatalFailure()) return;
  }
}

void sweep(const StripCase& c) {
  const std::uint64_t seed = std::hash<std::string>{}(c.name);
  std::mt19937_64 random(seed);
  for (const std::int64_t count : kTails) {
    for (const std::int64_t misalign : {std::int64_t{0}, std::int64_t{8}, std::int64_t{20}}) {
      run_case(c, count, misalign, random);
      if (::testing::Test::HasFatalFailure()) return;
    }
  }
}

bool gives_mask(StripOp op) {
  return (op >= StripOp::kEq && op <= StripOp::kLe) || op == StripOp::kToMask || op == StripOp::kIsNan ||
         op == StripOp::kIsInf || op == StripOp::kIsFinite;
}
bool takes_mask(StripOp op) {
  return op == StripOp::kSelect || op == StripOp::kFromMask || op == StripOp::kStoreBool;
}
Lane integer_lane(Lane lane) {
  return isa::lane_bytes(lane) == 4 ? Lane::kI32 : Lane::kI64;
}
Lane float_lane(Lane lane) {
  return isa::lane_bytes(lane) == 4 ? Lane::kF32 : Lane::kF64;
}

// Where both round once the results are equal. f32 vector functions may be off by 3; f64 functions are libm's, or
// formulas of our own on both sides, whose cancellations differ.
double allowed(StripOp op, Lane lane) {
  const isa::StripShape shape = isa::kStripFacts[static_cast<std::size_t>(op)].shape;
  const bool sums =
      shape == isa::StripShape::kUnary && (op <= StripOp::kTrunc || op >= StripOp::kNot || op == StripOp::kRelu);
  const bool rounds_once =
      shape != isa::StripShape::kUnary && op != StripOp::kPow && op != StripOp::kAtan2 && op != StripOp::kHypot;
  if (sums || rounds_once) return 0;
  return lane == Lane::kF32 ? 3.0 : 64.0;
}

StripCase arithmetic_case(const isa::StripInfo& info, Lane lane, int form) {
  const DType dtype = lane_dtype(lane);
  const std::int64_t bytes = byte_size(dtype);
  StripCase c{fmt::format("{}.{} form {}", info.text, to_string(dtype), form),
              {},
              dtype,
              dtype,
              dtype,
              bytes,
              bytes,
              bytes,
              bytes};
  c.code.push_back(isa::strip_word(lane_load(lane), lane, 0, 0));
  if (takes_mask(info.op)) c.code.push_back(isa::strip_word(StripOp::kToMask, lane));
  c.code.push_back(isa::strip_word(info.op, lane, form, 1, 2));
  if (info.shape == isa::StripShape::kUnary) c.code.back() = isa::strip_word(info.op, lane, form);
  if (info.shape == isa::StripShape::kBinary) {
    c.code.back() = isa::strip_word(info.op, lane, form, 1);
    if ((form & isa::kOneOperand) != 0) c.operand_a_stride = 0;
  }
  if (info.shape == isa::StripShape::kTernary) {
    if ((form & isa::kOneStrip) != 0) c.operand_a_stride = 0;
    if ((form & isa::kStripOne) != 0) c.operand_b_stride = 0;
  }
  Lane result = lane;
  if (gives_mask(info.op) || info.op == StripOp::kToInt) result = integer_lane(lane);
  if (info.op == StripOp::kToFloat) result = float_lane(lane);
  c.to = lane_dtype(result);
  c.allowed_ulps = allowed(info.op, lane);
  c.code.push_back(isa::strip_word(lane_store(result), result, 0, 3));
  c.code.push_back(isa::strip_word(StripOp::kEnd, lane));
  return c;
}

void sweep_shape(isa::StripShape shape) {
  for (const isa::StripInfo& info : isa::all_strips()) {
    if (info.shape != shape) continue;
    const isa::StripFacts& facts = isa::kStripFacts[static_cast<std::size_t>(info.op)];
    for (const Lane lane : {Lane::kF32, Lane::kI32, Lane::kF64, Lane::kI64}) {
      if ((facts.lanes & 1 << static_cast<int>(lane)) == 0) continue;
      for (int form = 0; form < facts.forms; ++form) {
        sweep(arithmetic_case(info, lane, form));
        if (::testing::Test::HasFatalFailure()) return;
      }
    }
  }
}

TEST(Strip, UnaryOperationsEqualTheReference) {
  sweep_shape(isa::StripShape::kUnary);
}
TEST(Strip, BinaryOperationsEqualTheReference) {
  sweep_shape(isa::StripShape::kBinary);
}
TEST(Strip, TernaryOperationsEqualTheReference) {
  sweep_shape(isa::StripShape::kTernary);
}

// Operands are streams 1 and 2 in turn, so the third shares its stride with the first.
bool pair_case(const isa::StripInfo& info, int form, StripCase& c) {
  const isa::StripFacts& facts = isa::kStripFacts[static_cast<std::size_t>(info.op)];
  const bool loads = facts.first == StripOp::kLoadF32, stores = facts.second == StripOp::kStoreF32;
  c = {fmt::format("{} form {}", info.text, form), {}, DType::kF32, DType::kF32, DType::kF32, 4, 4, 4, 4};
  std::uint16_t operands[3] = {};
  for (int i = 0, next = 0; i < facts.operands; ++i) {
    const bool one = (form >> i & 1) != 0, first = loads && i == 0, last = stores && i + 1 == facts.operands;
    if (one && (first || last)) return false;
    operands[i] = static_cast<std::uint16_t>(first ? 0 : last ? 3 : 1 + next++ % 2);
    if (first || last) continue;
    std::int64_t& stride = operands[i] == 1 ? c.operand_a_stride : c.operand_b_stride;
    if (next == 3 && stride != (one ? 0 : 4)) return false;
    stride = one ? 0 : 4;
  }
  if (!loads) c.code.push_back(isa::strip_word(StripOp::kLoadF32, Lane::kF32, 0, 0));
  c.code.push_back(isa::strip_word(info.op, Lane::kF32, form, operands[0], operands[1], operands[2]));
  if (!stores) c.code.push_back(isa::strip_word(StripOp::kStoreF32, Lane::kF32, 0, 3));
  c.code.push_back(isa::strip_word(StripOp::kEnd, Lane::kF32));
  return true;
}

TEST(Strip, PairsEqualTheReference) {
  int cases = 0;
  for (const isa::StripInfo& info : isa::all_strips()) {
    if (info.shape != isa::StripShape::kPair) continue;
    for (int form = 0; form < 8; ++form) {
      StripCase c;
      if (!isa::strip_exists(isa::strip_word(info.op, Lane::kF32, form)) || !pair_case(info, form, c)) continue;
      ++cases;
      sweep(c);
      if (HasFatalFailure()) return;
    }
  }
  EXPECT_GT(cases, 70);
}

TEST(Strip, LoadsConvertFromEveryTypeInEveryForm) {
  for (const isa::StripInfo& info : isa::all_strips()) {
    if (info.shape != isa::StripShape::kLoad || info.op == StripOp::kLoadIota) continue;
    const isa::StripFacts& facts = isa::kStripFacts[static_cast<std::size_t>(info.op)];
    for (const Lane lane : {Lane::kF32, Lane::kI32, Lane::kF64, Lane::kI64}) {
      if ((facts.lanes & 1 << static_cast<int>(lane)) == 0) continue;
      const std::int64_t bytes = byte_size(facts.dtype), lane_size = isa::lane_bytes(lane);
      for (const std::int64_t stride : {bytes, 3 * bytes, std::int64_t{0}}) {
        const int form = stride == bytes ? isa::kUnit : stride == 0 ? isa::kOne : isa::kStrided;
        sweep({fmt::format("{} to {} stride {}", info.text, to_string(lane_dtype(lane)), stride),
               {isa::strip_word(info.op, lane, form, 0), isa::strip_word(lane_store(lane), lane, 0, 3),
                isa::strip_word(StripOp::kEnd, lane)},
               facts.dtype,
               DType::kF32,
               lane_dtype(lane),
               stride,
               4,
               4,
               lane_size});
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST(Strip, IotaCountsAlongRowsInEveryLane) {
  for (const Lane lane : {Lane::kF32, Lane::kI32, Lane::kF64, Lane::kI64}) {
    const std::int64_t bytes = isa::lane_bytes(lane);
    for (const std::int64_t step : {1, 0, -3}) {
      for (const std::int64_t n : {1, 17, 200, 300}) {
        const int form = step == 1 ? isa::kUnit : step == 0 ? isa::kOne : isa::kStrided;
        const isa::Program program =
            one_instruction(isa::MapFields{2, 128}, {3}, n,
                            {{isa::Space::kIota, DType::kI64, 0, -7, step, {1000}},
                             {isa::Space::kBuffer, lane_dtype(lane), 0, 0, bytes, {n * bytes}}},
                            {{isa::PhaseOp::kStrip,
                              {isa::strip_word(StripOp::kLoadIota, lane, form, 0),
                               isa::strip_word(lane_store(lane), lane, 0, 1), isa::strip_word(StripOp::kEnd, lane)},
                              {}}},
                            {3 * n * bytes});
        expect_valid(program);
        TestMemory expected(3 * n * bytes);
        run_on(reference(), program, {&expected});
        for (TestLevel& level : levels()) {
          TestMemory actual(3 * n * bytes);
          run_on(*level.machine, program, {&actual});
          EXPECT_EQ(std::memcmp(expected.data(), actual.data(), static_cast<std::size_t>(expected.size())), 0)
              << to_string(lane_dtype(lane)) << " step " << step << " n " << n << " on " << level.name;
        }
      }
    }
  }
}

TEST(Strip, StoresConvertToEveryTypeInEveryForm) {
  for (const isa::StripInfo& info : isa::all_strips()) {
    if (info.shape != isa::StripShape::kStore) continue;
    const isa::StripFacts& facts = isa::kStripFacts[static_cast<std::size_t>(info.op)];
    for (const Lane lane : {Lane::kF32, Lane::kI32, Lane::kF64, Lane::kI64}) {
      if ((facts.lanes & 1 << static_cast<int>(lane)) == 0) continue;
      const std::int64_t bytes = byte_size(facts.dtype), lane_size = isa::lane_bytes(lane);
      for (const std::int64_t stride : {bytes, 2 * bytes}) {
        std::vector<Word> code{isa::strip_word(lane_load(lane), lane, 0, 0)};
        if (takes_mask(info.op)) code.push_back(isa::strip_word(StripOp::kToMask, lane));
        code.push_back(isa::strip_word(info.op, lane, stride == bytes ? isa::kUnit : isa::kStrided, 3));
        code.push_back(isa::strip_word(StripOp::kEnd, lane));
        sweep({fmt::format("{} from {} stride {}", info.text, to_string(lane_dtype(lane)), stride), code,
               lane_dtype(lane), DType::kF32, facts.dtype, lane_size, 4, 4, stride});
        if (HasFatalFailure()) return;
      }
    }
  }
}

}  // namespace
}  // namespace tilewright::vm::testing
