#include <gtest/gtest.h>

#include <chrono>
#include <random>

#include "tilewright/isa/program.h"

namespace tilewright::isa {
namespace {

Program sample() {
  Program program;
  program.buffers = {{BufferKind::kInput, 64}, {BufferKind::kOutput, 1 << 20}};
  program.words = {1, 2, 3, ~Word{0}};
  program.scratch_bytes = 512;
  return program;
}

void expect_same(const Program& a, const Program& b) {
  EXPECT_EQ(a.words, b.words);
  EXPECT_EQ(a.scratch_bytes, b.scratch_bytes);
  ASSERT_EQ(a.buffers.size(), b.buffers.size());
  for (std::size_t i = 0; i < a.buffers.size(); ++i) {
    EXPECT_EQ(a.buffers[i].kind, b.buffers[i].kind);
    EXPECT_EQ(a.buffers[i].bytes, b.buffers[i].bytes);
  }
}

TEST(ProgramFile, GivesBackTheProgram) {
  const Result<Program> back = decode_file(encode_file(sample()));
  ASSERT_TRUE(back.ok());
  expect_same(*back, sample());
}

TEST(ProgramFile, AnEmptyProgramIsAFile) {
  const Result<Program> back = decode_file(encode_file({}));
  ASSERT_TRUE(back.ok());
  expect_same(*back, {});
}

TEST(ProgramFile, SaysThatItIsNoProgramFile) {
  std::vector<std::uint8_t> bytes = encode_file(sample());
  bytes[0] = 'X';
  EXPECT_EQ(decode_file(bytes).error().message, "not a program file: it begins with 0x31505758");
}

TEST(ProgramFile, AnotherVersionIsUnsupported) {
  std::vector<std::uint8_t> bytes = encode_file(sample());
  bytes[4] = 9;
  EXPECT_EQ(decode_file(bytes).error().kind, ErrorKind::kUnsupported);
  EXPECT_EQ(decode_file(bytes).error().message, "program file of version 9, known is 1");
}

TEST(ProgramFile, EveryTruncationIsCorrupt) {
  const std::vector<std::uint8_t> bytes = encode_file(sample());
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    const Result<Program> back = decode_file(std::span(bytes).first(size));
    ASSERT_FALSE(back.ok()) << size;
    EXPECT_EQ(back.error().kind, ErrorKind::kCorrupt) << size;
  }
}

TEST(ProgramFile, EveryFlippedBitIsNoticed) {
  const std::vector<std::uint8_t> bytes = encode_file(sample());
  for (std::size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    std::vector<std::uint8_t> damaged = bytes;
    damaged[bit / 8] = static_cast<std::uint8_t>(damaged[bit / 8] ^ (1 << bit % 8));
    EXPECT_FALSE(decode_file(damaged).ok()) << bit;
  }
}

TEST(ProgramFile, HugeCountsTakeNoMemory) {
  std::vector<std::uint8_t> bytes = encode_file(sample());
  for (std::size_t i = 24; i < 40; ++i) bytes[i] = 0xff;
  EXPECT_EQ(decode_file(bytes).error().kind, ErrorKind::kCorrupt);
}

TEST(ProgramFile, RandomBytesNeverCrash) {
  const auto seed = static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
  SCOPED_TRACE(seed);
  std::mt19937_64 random(seed);
  const std::vector<std::uint8_t> bytes = encode_file(sample());
  for (int round = 0; round < 20000; ++round) {
    std::vector<std::uint8_t> damaged = bytes;
    const auto changes = random() % 8 + 1;
    for (std::uint64_t i = 0; i < changes; ++i)
      damaged[random() % damaged.size()] = static_cast<std::uint8_t>(random());
    if (random() % 4 == 0) damaged.resize(random() % 200);
    const Result<Program> back = decode_file(damaged);
    EXPECT_TRUE(!back.ok() || damaged == bytes);
  }
}

}  // namespace
}  // namespace tilewright::isa
