// Launches: what may stand side by side, and that the text form says it.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "tilewright/isa/program.h"

namespace tilewright::isa {
namespace {

// A map that copies 8 floats from one place to another.
std::string copy(int from, int from_offset, int to, int to_offset) {
  const auto offset = [](int bytes) { return bytes == 0 ? std::string() : fmt::format(" offset={}", bytes); };
  return fmt::format(
      "map tasks=1 inner=8 dims=[1] row_tile=1 inner_tile=8\n  s0 = buffer {} f32{} inner=4\n"
      "  s1 = buffer {} f32{} inner=4\n  phase strip\n    load_f32.f32.unit s0\n    store_f32.f32.unit s1\n    "
      "end.f32\n",
      from, offset(from_offset), to, offset(to_offset));
}

std::string program(const std::string& instructions) {
  return "program scratch=0\nbuffer 0 arena 64\nbuffer 1 input 64\nbuffer 2 output 64\n" + instructions;
}

std::string verdict(const std::string& instructions) {
  const Result<Program> assembled = assemble(program(instructions));
  if (!assembled.ok()) return "text: " + assembled.error().message;
  const Status status = verify_program(*assembled);
  return status.ok() ? "good" : status.error().message;
}

TEST(Launch, HalvesOfABufferMayBeWrittenSideBySide) {
  EXPECT_EQ(verdict(copy(1, 0, 2, 0) + "beside " + copy(1, 0, 2, 32)), "good");
}

TEST(Launch, BothReadingOneInputIsNoConflict) {
  EXPECT_EQ(verdict(copy(1, 0, 0, 0) + "beside " + copy(1, 0, 2, 0)), "good");
}

TEST(Launch, TwoWritersOfOneByteAreRefused) {
  EXPECT_EQ(verdict(copy(1, 0, 2, 0) + "beside " + copy(1, 0, 2, 28)),
            "instruction 1 (map): touches bytes 28 to 60 of buffer 2, and an instruction beside it bytes 0 to 32");
}

// Copies a row of 4 floats twice, to rows that are 32 bytes apart.
std::string rows(int to_offset, int inner, int row_bytes = 32) {
  return fmt::format(
      "map tasks=2 inner={} dims=[2] row_tile=1 inner_tile=8\n  s0 = buffer 1 f32 inner=4 strides=[0]\n"
      "  s1 = buffer 2 f32 offset={} inner=4 strides=[{}]\n  phase strip\n    load_f32.f32.unit s0\n"
      "    store_f32.f32.unit s1\n    end.f32\n",
      inner, to_offset, row_bytes);
}

TEST(Launch, OneMayWriteBetweenTheRowsOfAnother) {
  EXPECT_EQ(verdict(rows(0, 4) + "beside " + rows(16, 4)), "good");
  EXPECT_EQ(verdict(rows(16, 4) + "beside " + rows(0, 4)), "good");
  EXPECT_EQ(verdict(rows(0, 2) + "beside " + rows(8, 5) + "beside " + rows(28, 1)), "good");
}

TEST(Launch, RowsThatOverlapAreRefused) {
  EXPECT_NE(verdict(rows(0, 5) + "beside " + rows(16, 4)), "good");
  EXPECT_NE(verdict(rows(12, 1) + "beside " + rows(0, 4)), "good");
  EXPECT_NE(verdict(rows(0, 4) + "beside " + rows(16, 4, 16)), "good");  // its second row is the first one's
}

TEST(Launch, AReaderOfWhatStandsBesideItIsRefused) {
  EXPECT_EQ(verdict(copy(1, 0, 0, 0) + "beside " + copy(0, 0, 2, 0)),
            "instruction 1 (map): touches bytes 0 to 32 of buffer 0, and an instruction beside it bytes 0 to 32");
}

TEST(Launch, AWriterOfWhatStandsBesideItReadsIsRefused) {
  EXPECT_NE(verdict(copy(0, 0, 2, 0) + "beside " + copy(1, 0, 0, 0)), "good");
}

TEST(Launch, TheThirdIsComparedWithTheFirst) {
  EXPECT_NE(verdict(copy(1, 0, 2, 0) + "beside " + copy(1, 0, 2, 32) + "beside " + copy(1, 0, 2, 0)), "good");
}

TEST(Launch, TheNextLaunchMayReadWhatTheLastWrote) {
  EXPECT_EQ(verdict(copy(1, 0, 0, 0) + "beside " + copy(1, 0, 0, 32) + copy(0, 32, 2, 0)), "good");
}

TEST(Launch, NothingStandsBesideTheStart) {
  EXPECT_EQ(verdict("beside " + copy(1, 0, 2, 0)), "instruction 0 (map): beside an instruction before the first");
}

TEST(Launch, HasAtMostSixteenInstructions) {
  std::string text = "map tasks=0 inner=0 dims=[1] row_tile=1 inner_tile=128\n  phase strip\n    end.f32\n";
  std::string launch = text;
  for (int i = 1; i < kMaxLaunch; ++i) launch += "beside " + text;
  EXPECT_EQ(verdict(launch), "good");
  EXPECT_EQ(verdict(launch + "beside " + text), "instruction 16 (map): more than 16 instructions side by side");
}

TEST(Launch, TextRoundTrips) {
  const std::string text = program(copy(1, 0, 2, 0) + "beside " + copy(1, 0, 2, 32));
  const Result<Program> assembled = assemble(text);
  ASSERT_TRUE(assembled.ok()) << assembled.error().message;
  EXPECT_NE(disassemble(*assembled).find("\nbeside map "), std::string::npos);
  EXPECT_EQ(assemble(disassemble(*assembled))->words, assembled->words);
}

}  // namespace
}  // namespace tilewright::isa
