#include <gtest/gtest.h>

#include <random>

#include "tilewright/isa/strip_facts.h"

namespace tilewright::isa {
namespace {

constexpr std::string_view kGelu = R"(program scratch=1024
buffer 0 input 256
buffer 1 output 256
map tasks=2 inner=16 dims=[2,2] row_tile=2 inner_tile=16
  s0 = buffer 0 f32 inner=4 strides=[128,64]
  s1 = buffer 1 f32 offset=4 inner=4 strides=[128,64]
  s2 = literal f32 bits=0x40000000  # 2
  phase strip
    load_f32.f32.unit s0
    mul.f32.one s2
    gelu.f32
    store_f32.f32.unit s1
    end.f32
)";

constexpr std::string_view kNorm = R"(program scratch=4096
buffer 0 input 256
buffer 1 arena 256
rows tasks=2 inner=16 dims=[4] row_tile=2
  s0 = buffer 0 f32 inner=4 strides=[64]
  s1 = buffer 1 f32 inner=4 strides=[64]
  s2 = literal f32 bits=0x3727c5ac  # 1e-05
  s3 = accumulator f32 reduce=sum_square target=4 strides=[4]
  s4 = scratch f32 offset=512 strides=[4]
  s5 = iota i64 offset=-3 inner=1
  phase layer_norm from=s0 to=s1 weight=none bias=none eps=s2
  phase strip accumulator=3 count=1
    load_f32.f32.unit s1
    acc_sum_square.f32 s3
    end.f32
  phase scalar
    load_f32.f32.unit s4
    sub.f32.one_reversed s2
    store_f32.f32.unit s4
    end.f32
)";

TEST(ProgramText, IsPrintedAsItWasWritten) {
  for (const std::string_view text : {kGelu, kNorm}) {
    const Result<Program> program = assemble(text);
    ASSERT_TRUE(program.ok()) << program.error().message;
    EXPECT_EQ(disassemble(*program), text);
  }
}

TEST(ProgramText, AVerifiedProgramComesFromIt) {
  const Result<Program> program = assemble(kNorm);
  ASSERT_TRUE(program.ok());
  const Status status = verify_program(*program);
  EXPECT_TRUE(status.ok()) << status.error().message;
}

std::string error_of(std::string_view text) {
  const Result<Program> program = assemble(text);
  return program.ok() ? "" : program.error().message;
}

TEST(ProgramText, ErrorsNameTheLineAndTheWord) {
  EXPECT_EQ(error_of("program scratch=0\nbuffer 1 input 4"), "line 2: buffer '1', the next one is 0");
  EXPECT_EQ(error_of("buffer 0 disk 4"), "line 1: unknown buffer kind 'disk'");
  EXPECT_EQ(error_of("map tasks=1 rowtile=3"), "line 1: map has no field 'rowtile=3'");
  EXPECT_EQ(error_of("map tasks=x"), "line 1: not a number: 'tasks=x'");
  EXPECT_EQ(error_of("map tasks=1\n  s1 = slot f32"), "line 2: stream 's1', the next one is s0");
  EXPECT_EQ(error_of("map tasks=1\n  s0 = shelf f32"), "line 2: unknown space 'shelf'");
  EXPECT_EQ(error_of("map tasks=1\n  s0 = slot f31"), "line 2: unknown dtype 'f31'");
  EXPECT_EQ(error_of("map tasks=1\n  s0 = slot f32 strides=[1]"), "line 2: 1 strides, 0 outer dims");
  EXPECT_EQ(error_of("map tasks=1\n  phase walk"), "line 2: unknown phase 'walk'");
  EXPECT_EQ(error_of("map\n  phase softmax from=s1 eps=s2"), "line 2: softmax has no operand 'eps=s2'");
  EXPECT_EQ(error_of("map\n  phase strip\n    add.f33 s0"), "line 3: add has no lane or form 'add.f33'");
  EXPECT_EQ(error_of("map\n  phase strip\n    div.i32 s0"), "line 3: div does not exist in lane i32");
  EXPECT_EQ(error_of("map\n  phase strip\n    add.f32"), "line 3: add needs 1 streams");
  EXPECT_EQ(error_of("load_f32.f32.unit s0"), "line 1: unknown word 'load_f32.f32.unit'");
}

// Random programs: whole instructions of random content, with damage in some of them.
class RandomProgram {
 public:
  explicit RandomProgram(std::uint64_t seed) : random_(seed) {}

  Program make() {
    Program program;
    program.scratch_bytes = static_cast<std::int64_t>(random_() % 4096);
    for (std::uint64_t i = random_() % 4; i > 0; --i) {
      program.buffers.push_back({static_cast<BufferKind>(random_() % 6), static_cast<std::int64_t>(random_() >> 20)});
    }
    for (std::uint64_t i = random_() % 5; i > 0; --i) add_instruction(program.words);
    if (random_() % 4 == 0 && !program.words.empty())
      program.words[random_() % program.words.size()] ^= Word{1} << random_() % 64;
    if (random_() % 8 == 0 && !program.words.empty()) program.words.resize(random_() % program.words.size());
    return program;
  }

 private:
  Word number() { return random_() % 2 == 0 ? random_() % 100 : random_() % 2 == 0 ? ~(random_() % 100) : random_(); }

  void add_instruction(std::vector<Word>& words) {
    const std::size_t start = words.size();
    const InstInfo& info = all_insts()[random_() % all_insts().size()];
    const int rank = static_cast<int>(random_() % 4);
    const int streams = static_cast<int>(random_() % 6);
    words.resize(start + 3 + info.fields.size() + static_cast<std::size_t>(rank));
    for (std::size_t i = start + 1; i < words.size(); ++i) words[i] = number();
    for (int i = 0; i < streams; ++i) {
      const auto space = static_cast<Space>(random_() % 7);
      words.push_back(
          StreamHead::pack(space, static_cast<DType>(random_() % 10), space == Space::kBuffer ? random_() % 4 : 0));
      words.push_back(number());
      words.push_back(space == Space::kAccumulator ? (random_() % 8) << 32 | random_() % 8 : number());
      for (int d = 0; d < rank; ++d) words.push_back(number());
    }
    for (std::uint64_t i = random_() % 3; i > 0; --i) add_phase(words);
    words[start] = inst_head(info.opcode, static_cast<std::uint32_t>(words.size() - start), rank, streams);
  }

  void add_phase(std::vector<Word>& words) {
    const PhaseInfo& info = all_phases()[random_() % all_phases().size()];
    const auto count = random_() % 6;
    const auto stream = [&]() { return random_() % 4 == 0 ? Word{kNoStream} : random_() % 8; };
    const bool pair = info.op != PhaseOp::kScalar;
    const bool norm = info.op == PhaseOp::kLayerNorm || info.op == PhaseOp::kRmsNorm;
    words.push_back(static_cast<Word>(info.op) | count << 16 | (pair ? stream() << 32 | stream() << 48 : 0));
    words.push_back(norm ? stream() | stream() << 16 | stream() << 32 : 0);
    for (std::uint64_t i = 0; i < count; ++i) {
      const StripInfo& row = all_strips()[random_() % all_strips().size()];
      const StripFacts& facts = kStripFacts[static_cast<std::size_t>(row.op)];
      const auto operand = [&](int at) { return static_cast<std::uint16_t>(facts.operands > at ? random_() % 8 : 0); };
      words.push_back(strip_word(row.op, static_cast<Lane>(random_() % 4), static_cast<int>(random_() % facts.forms),
                                 operand(0), operand(1)));
    }
  }

  std::mt19937_64 random_;
};

TEST(ProgramText, GivesBackRandomPrograms) {
  const std::uint64_t seed = std::random_device{}();
  for (std::uint64_t round = 0; round < 3000; ++round) {
    const Program program = RandomProgram(seed + round).make();
    const Result<Program> back = assemble(disassemble(program));
    ASSERT_TRUE(back.ok()) << "seed " << seed + round << ": " << back.error().message << "\n" << disassemble(program);
    ASSERT_EQ(back->words, program.words) << "seed " << seed + round << "\n" << disassemble(program);
    ASSERT_EQ(back->scratch_bytes, program.scratch_bytes);
    ASSERT_EQ(back->buffers.size(), program.buffers.size());
    (void)verify_program(program).ok();  // whatever it says, it must not crash
  }
}

TEST(ProgramText, RandomTextNeverCrashes) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE(seed);
  std::mt19937_64 random(seed);
  for (int round = 0; round < 3000; ++round) {
    std::string text(round % 2 == 0 ? kGelu : kNorm);
    for (std::uint64_t i = random() % 5 + 1; i > 0; --i) {
      const std::size_t at = random() % text.size();
      if (random() % 2 == 0)
        text[at] = text[random() % text.size()];
      else
        text.erase(at, random() % 10);
      if (text.empty()) break;
    }
    const Result<Program> program = assemble(text);
    if (program.ok()) (void)verify_program(*program).ok();
  }
}

}  // namespace
}  // namespace tilewright::isa
