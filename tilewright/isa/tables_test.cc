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

}  // namespace
}  // namespace tilewright::isa
