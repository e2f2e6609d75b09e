#include "tilewright/isa/isa_doc.h"

#include <gtest/gtest.h>

#include "tilewright/isa/program.h"

namespace tilewright::isa {
namespace {

TEST(IsaMarkdown, NamesEveryInstructionPhaseAndOperation) {
  const std::string text = isa_markdown();
  for (const InstInfo& info : all_insts())
    EXPECT_NE(text.find("### " + std::string(info.text)), std::string::npos) << info.text;
  for (const PhaseInfo& info : all_phases())
    EXPECT_NE(text.find("| " + std::string(info.text) + " |"), std::string::npos) << info.text;
  for (const StripInfo& info : all_strips())
    EXPECT_NE(text.find("| " + std::string(info.text) + " |"), std::string::npos) << info.text;
}

}  // namespace
}  // namespace tilewright::isa
