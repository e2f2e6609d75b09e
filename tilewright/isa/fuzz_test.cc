// Damaged program files and assembler text: an error, or a program that says the same again. None crashes, hangs or
// takes memory that its bytes do not pay for.
#include <fmt/format.h>

#include <set>

#include "tilewright/base/fuzz_testing.h"
#include "tilewright/isa/example_programs.h"
#include "tilewright/isa/layout.h"

namespace tilewright::isa {
namespace {

using tilewright::testing::FuzzRun;

std::vector<Program> examples() {
  std::vector<Program> out;
  for (const std::string_view text : testing::kExamplePrograms) {
    Result<Program> program = assemble(text);
    EXPECT_TRUE(program.ok()) << program.error().message << "\n" << text;
    if (program.ok()) out.push_back(std::move(*program));
  }
  return out;
}

// Makes the checksum right again, so that the damage reaches the readers of the fields.
void seal(std::vector<std::uint8_t>& bytes) {
  if (bytes.size() < 16) return;
  std::uint64_t state = (bytes.size() - 16) * 0x9e3779b97f4a7c15u;
  for (std::size_t i = 16; i + 8 <= bytes.size(); i += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, &bytes[i], sizeof word);
    state = (state ^ word) * 0xff51afd7ed558ccdu;
    state ^= state >> 32;
  }
  std::memcpy(&bytes[8], &state, sizeof state);
}

TEST(ExamplePrograms, AreGoodAndHoldEveryInstruction) {
  std::set<Opcode> met;
  for (const Program& program : examples()) {
    const Status status = verify_program(program);
    ASSERT_TRUE(status.ok()) << status.error().message << "\n" << disassemble(program);
    for (std::size_t at = 0; at < program.words.size(); at += Inst(program.words.data() + at).num_words())
      met.insert(Inst(program.words.data() + at).opcode());
  }
  for (const InstInfo& info : all_insts()) EXPECT_TRUE(met.contains(info.opcode)) << info.text;
}

TEST(ProgramFileFuzz, DamageBehindARightChecksumIsAnErrorOrAProgram) {
  const std::vector<Program> programs = examples();
  std::uint64_t read = 0;
  FuzzRun run;
  while (run.next()) {
    std::vector<std::uint8_t> bytes = encode_file(programs[run.below(programs.size())]);
    damage(bytes, run);
    if (run.below(8) != 0) seal(bytes);
    const Result<Program> program = decode_file(bytes);
    if (!program.ok()) {
      ASSERT_FALSE(program.error().message.empty());
      continue;
    }
    ++read;
    ASSERT_EQ(encode_file(*program), bytes);
    (void)verify_program(*program).ok();  // whatever it says
    (void)disassemble(*program);
  }
  EXPECT_GT(read, run.rounds() / 50);
}

TEST(ProgramTextFuzz, DamagedTextIsAnErrorOrAProgram) {
  std::uint64_t read = 0;
  FuzzRun run;
  while (run.next()) {
    const auto pick = [&] { return testing::kExamplePrograms[run.below(std::size(testing::kExamplePrograms))]; };
    std::string text(pick());
    if (run.below(2) == 0) {
      damage(text, run);
    } else {  // words of one program in another
      for (std::uint64_t i = run.below(3) + 1; i > 0; --i) {
        const std::string_view other = pick();
        text.insert(run.below(text.size()), other.substr(run.below(other.size()), run.below(40)));
      }
    }
    const Result<Program> program = assemble(text);
    if (!program.ok()) {
      ASSERT_FALSE(program.error().message.empty());
      continue;
    }
    ++read;
    const Result<Program> again = assemble(disassemble(*program));
    ASSERT_TRUE(again.ok()) << again.error().message << "\n" << text;
    ASSERT_EQ(again->words, program->words) << text;
    (void)verify_program(*program).ok();
  }
  EXPECT_GT(read, run.rounds() / 50);
}

}  // namespace
}  // namespace tilewright::isa
