#include <gtest/gtest.h>

#include <set>

#include "tilewright/isa/layout.h"
#include "tilewright/isa/strip_facts.h"

namespace tilewright::isa {
namespace {

TEST(Tables, InstructionsAreFoundByOpcodeWithTheirFields) {
  for (const InstInfo& info : all_insts()) {
    EXPECT_EQ(find_inst(info.opcode), &info);
    EXPECT_EQ(num_fields(info.opcode), static_cast<int>(info.fields.size())) << info.text;
  }
  EXPECT_EQ(find_inst(static_cast<Opcode>(0xfffe)), nullptr);
}

TEST(Tables, PhasesAndStripOperationsAreFoundByNumber) {
  for (const PhaseInfo& info : all_phases()) EXPECT_EQ(find_phase(info.op), &info);
  for (const StripInfo& info : all_strips()) EXPECT_EQ(find_strip(info.op), &info);
  EXPECT_EQ(find_phase(static_cast<PhaseOp>(999)), nullptr);
  EXPECT_EQ(find_strip(static_cast<StripOp>(255)), nullptr);
  EXPECT_EQ(find_strip(static_cast<StripOp>(5000)), nullptr);
}

TEST(Tables, NoNumberAndNoNameIsUsedTwice) {
  std::set<int> numbers;
  std::set<std::string_view> names;
  for (const StripInfo& info : all_strips()) {
    EXPECT_TRUE(numbers.insert(static_cast<int>(info.op)).second) << info.text;
    EXPECT_TRUE(names.insert(info.text).second) << info.text;
    EXPECT_LT(static_cast<int>(info.op), kNumStripOps);
  }
}

TEST(Tables, MemoryOperationsKnowTheirDType) {
  EXPECT_EQ(memory_dtype("load_bf16"), DType::kBF16);
  EXPECT_EQ(memory_dtype("store_bool"), DType::kBool);
  EXPECT_EQ(memory_dtype("load_iota"), DType::kI64);
}

TEST(Tables, OnlyLanesAndFormsOfTheTableExist) {
  EXPECT_TRUE(strip_exists(strip_word(StripOp::kDiv, Lane::kF32, 3, 5)));
  EXPECT_FALSE(strip_exists(strip_word(StripOp::kDiv, Lane::kI32, 0, 5)));     // no such lane
  EXPECT_FALSE(strip_exists(strip_word(StripOp::kDiv, Lane::kF32, 4, 5)));     // no such form
  EXPECT_FALSE(strip_exists(strip_word(StripOp::kDiv, Lane::kF32, 0, 5, 1)));  // an operand too many
  EXPECT_FALSE(strip_exists(0xffff));
}

TEST(StripPairs, JoiningAndSplittingAreInverse) {
  const Word load = strip_word(StripOp::kLoadF32, Lane::kF32, kUnit, 7),
             fma = strip_word(StripOp::kFma, Lane::kF32, kStripOne, 9, 300);
  const Word pair = join_pair(load, fma);
  EXPECT_EQ(pair, strip_word(StripOp::kLoadF32ThenFma, Lane::kF32, 4, 7, 9, 300));
  EXPECT_TRUE(strip_exists(pair));
  EXPECT_EQ(split_pair(pair).first, load);
  EXPECT_EQ(split_pair(pair).second, fma);
}

TEST(StripPairs, FormsAndLanesThatNoPairHasStayApart) {
  const Word add = strip_word(StripOp::kAdd, Lane::kF32, kStripOperand, 1);
  EXPECT_NE(join_pair(strip_word(StripOp::kLoadF32, Lane::kF32, kUnit, 0), add), 0u);
  EXPECT_EQ(join_pair(strip_word(StripOp::kLoadF32, Lane::kF32, kStrided, 0), add), 0u);
  EXPECT_EQ(join_pair(strip_word(StripOp::kLoadF32, Lane::kF32, kOne, 0), add), 0u);
  EXPECT_EQ(join_pair(strip_word(StripOp::kLoadF32, Lane::kI32, kUnit, 0), add), 0u);
  EXPECT_EQ(join_pair(strip_word(StripOp::kSub, Lane::kF32, kReversed, 0), strip_word(StripOp::kMul, Lane::kF32, 0, 1)),
            0u);
  EXPECT_EQ(join_pair(strip_word(StripOp::kMul, Lane::kF64, 0, 0), strip_word(StripOp::kMul, Lane::kF64, 0, 1)), 0u);
  EXPECT_EQ(join_pair(add, strip_word(StripOp::kExp, Lane::kF32)), 0u);
  EXPECT_EQ(join_pair(join_pair(add, add), add), 0u);
}

}  // namespace
}  // namespace tilewright::isa
