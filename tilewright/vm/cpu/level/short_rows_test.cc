// Maps over rows that are shorter than a strip, with gaps between them, on every level against the reference machine:
// nothing is written in a gap, nor read behind the last row.
#include "tilewright/vm/cpu/level/strip_testing.h"

namespace tilewright::vm::testing {
namespace {

using isa::Lane;
using isa::Space;
using isa::StripOp;

enum class Variant { kPlain, kOnePerRow, kOtherPeriod, kNarrow, kReversed };

// out = (x * w - s) of `rows` rows of `inner` elements, `period` apart; s is one number, or one per row.
isa::Program program_of(std::int64_t rows, std::int64_t inner, std::int64_t period, Variant variant,
                        std::int64_t row_tile) {
  const std::int64_t row = period * 4;
  const std::int64_t other = variant == Variant::kOtherPeriod ? row + 64 : row;
  const std::int64_t one = variant == Variant::kOnePerRow ? 4 : 0;
  const bool narrow = variant == Variant::kNarrow;
  const int binary = variant == Variant::kReversed ? isa::kReversed : isa::kStripOperand;
  return one_instruction(
      isa::MapFields{row_tile, inner}, {2, rows}, inner,
      {{Space::kBuffer, DType::kF32, 0, 0, 4, {rows * row, row}},
       {Space::kBuffer, narrow ? DType::kF16 : DType::kF32, 1, 0, narrow ? 2 : 4, {0, narrow ? other / 2 : other}},
       {Space::kBuffer, DType::kF32, 2, 0, 0, {0, one}},
       {Space::kBuffer, DType::kF32, 3, 0, 4, {rows * row, row}},
       {Space::kSlot, DType::kF32, 0, 0, 4, {0, 0}}},
      {{isa::PhaseOp::kStrip,
        {isa::strip_word(narrow ? StripOp::kLoadF16 : StripOp::kLoadF32, Lane::kF32, isa::kUnit, 1),
         isa::strip_word(StripOp::kStoreF32, Lane::kF32, isa::kUnit, 4),
         isa::strip_word(StripOp::kLoadF32, Lane::kF32, isa::kUnit, 0),
         isa::strip_word(StripOp::kSub, Lane::kF32, binary, 4),
         isa::strip_word(StripOp::kMul, Lane::kF32, isa::kOneOperand, 2),
         isa::strip_word(StripOp::kStoreF32, Lane::kF32, isa::kUnit, 3), isa::strip_word(StripOp::kEnd, Lane::kF32)},
        {}}},
      {((2 * rows - 1) * period + inner) * 4, (rows * (other / 4) - other / 4 + inner) * 4, 4 * rows,
       ((2 * rows - 1) * period + inner) * 4},
      isa::kSlotBytes);
}

void expect_like_reference(const isa::Program& program, std::mt19937_64& random, const std::string& what) {
  expect_valid(program);
  if (::testing::Test::HasFatalFailure()) return;
  std::vector<std::unique_ptr<TestMemory>> first;
  for (const isa::Buffer& buffer : program.buffers) {
    first.push_back(std::make_unique<TestMemory>(buffer.bytes, 4));
    for (std::int64_t i = 0; i < buffer.bytes / 4; ++i)
      first.back()->set<float>(i, static_cast<float>(random() % 1000) / 128);
  }
  const auto expected = after_run(reference(), program, first, 4);
  for (TestLevel& level : levels()) {
    const auto actual = after_run(*level.machine, program, first, 4);
    for (std::size_t b = 0; b < actual.size(); ++b) {
      ASSERT_TRUE(actual[b]->intact()) << what << " on " << level.name;
      for (std::int64_t i = 0; i < program.buffers[b].bytes / 4; ++i) {
        const float a = actual[b]->get<float>(i), e = expected[b]->get<float>(i);
        ASSERT_TRUE(a == e || (std::isnan(a) && std::isnan(e)))
            << what << " on " << level.name << ": buffer " << b << ", element " << i << ": " << a << " and " << e;
      }
    }
  }
}

TEST(ShortRows, EqualTheReference) {
  std::mt19937_64 random(1);
  for (const std::int64_t period : {8, 16, 24, 32, 64, 128}) {
    for (const std::int64_t inner : {1, 3, 8, 9, 16, 17, 31, 32, 33, 48, 64}) {
      if (inner > period) continue;
      for (const std::int64_t rows : {1, 2, 3, 7, 16, 33}) {
        for (const auto variant :
             {Variant::kPlain, Variant::kOnePerRow, Variant::kOtherPeriod, Variant::kNarrow, Variant::kReversed}) {
          const std::int64_t row_tile = 1 + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(rows));
          expect_like_reference(program_of(rows, inner, period, variant, row_tile), random,
                                fmt::format("period {}, {} elements, {} rows, variant {}", period, inner, rows,
                                            static_cast<int>(variant)));
          if (::testing::Test::HasFatalFailure()) return;
        }
      }
    }
  }
}

}  // namespace
}  // namespace tilewright::vm::testing
