// The CPU machine: which levels exist, that a forced level is used, faults, several threads in one machine, numbers of
// traits.
#include "tilewright/vm/cpu/machine.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <thread>

#include "tilewright/vm/cpu/level/matmul_testing.h"
#include "tilewright/vm/cpu/pool.h"

namespace tilewright::vm {
namespace {

using isa::Lane;
using isa::StripOp;
using testing::Stream;

std::unique_ptr<Machine> best_machine() {
  return std::move(make_cpu_machine({})).value();
}

// out[i] = in[i] + 1 over one row of `count` floats.
std::vector<isa::Word> add_one(std::int64_t count, std::int64_t inner_tile) {
  const std::vector<isa::Word> strip = {isa::strip_word(StripOp::kLoadF32, Lane::kF32, isa::kUnit, 0),
                                        isa::strip_word(StripOp::kAdd, Lane::kF32, isa::kOneOperand, 2),
                                        isa::strip_word(StripOp::kStoreF32, Lane::kF32, isa::kUnit, 1),
                                        isa::strip_word(StripOp::kEnd, Lane::kF32)};
  const Stream one{.space = isa::Space::kLiteral, .offset = 0x3f800000, .inner_stride = 0, .strides = {0}};
  return testing::encode(isa::MapFields{1, inner_tile}, {1}, count,
                         {{.buffer = 0, .strides = {0}}, {.buffer = 1, .strides = {0}}, one}, strip);
}

TEST(CpuMachine, EveryLevelOfTheProcessorCanBeForced) {
  ASSERT_FALSE(cpu_levels().empty());
  EXPECT_EQ(cpu_levels().front(), "portable");
  for (const std::string_view level : cpu_levels()) {
    auto machine = make_cpu_machine({.isa = std::string(level)});
    ASSERT_TRUE(machine.ok());
    EXPECT_EQ((*machine)->traits().name, level);
  }
}

TEST(CpuMachine, TheWidestLevelIsTheDefault) {
  EXPECT_EQ(best_machine()->traits().name, cpu_levels().back());
}

TEST(CpuMachine, AnUnknownLevelIsAnErrorThatListsTheLevels) {
  auto machine = make_cpu_machine({.isa = "sse9"});
  ASSERT_FALSE(machine.ok());
  EXPECT_EQ(machine.error().kind, ErrorKind::kUnsupported);
  EXPECT_NE(machine.error().message.find("no level 'sse9', it has portable"), std::string::npos)
      << machine.error().message;
}

TEST(CpuMachine, TheEnvironmentNamesTheLevel) {
  setenv("TILEWRIGHT_ISA", "portable", 1);
  EXPECT_EQ(cpu_options_from_environment().isa, "portable");
  unsetenv("TILEWRIGHT_ISA");
  EXPECT_EQ(cpu_options_from_environment().isa, "");
}

TEST(CpuMachine, TraitsArePlausible) {
  for (const std::string_view level : cpu_levels()) {
    const BackendTraits traits = (*make_cpu_machine({.isa = std::string(level)}))->traits();
    EXPECT_GE(traits.threads, 1);
    EXPECT_GE(traits.fast_bytes, 32 << 10);
    EXPECT_GE(traits.l2_bytes, 128 << 10);
    EXPECT_EQ(traits.strip_elements, 8 * traits.vector_floats);
    EXPECT_EQ(traits.matmul_panel % traits.vector_floats, 0);
    EXPECT_GE(traits.matmul_rows, 4);
    EXPECT_GT(traits.flops_per_us, 0);
    EXPECT_GT(traits.bytes_per_us, 0);
  }
}

TEST(CpuMachine, TheThreadsOfTraitsFollowThePool) {
  const int before = cpu::num_threads();
  auto machine = best_machine();
  cpu::set_num_threads(3);
  EXPECT_EQ(machine->traits().threads, 3);
  cpu::set_num_threads(before);
  EXPECT_EQ(machine->traits().threads, before);
}

TEST(CpuMachine, TooMuchScratchIsAnError) {
  const auto status = best_machine()->run({}, isa::kMaxScratchBytes + 1, {});
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.error().message.find("more scratch than a worker has: 1048577 and 1048576"), std::string::npos);
}

TEST(CpuMachine, InstructionsRunInOrder) {
  constexpr std::int64_t kCount = 100000;
  std::vector<float> a(kCount, 1), b(kCount, 0), c(kCount, 0);
  auto words = add_one(kCount, 1024);
  const auto again = testing::encode(
      isa::MapFields{1, 1024}, {1}, kCount, {{.buffer = 1, .strides = {0}}, {.buffer = 2, .strides = {0}}},
      {isa::strip_word(StripOp::kLoadF32, Lane::kF32, isa::kUnit, 0),
       isa::strip_word(StripOp::kMul, Lane::kF32, isa::kStripOperand, 0),
       isa::strip_word(StripOp::kStoreF32, Lane::kF32, isa::kUnit, 1), isa::strip_word(StripOp::kEnd, Lane::kF32)});
  words.insert(words.end(), again.begin(), again.end());
  std::byte* buffers[] = {reinterpret_cast<std::byte*>(a.data()), reinterpret_cast<std::byte*>(b.data()),
                          reinterpret_cast<std::byte*>(c.data())};
  ASSERT_TRUE(best_machine()->run(words, 0, buffers).ok());
  for (const float value : c) ASSERT_EQ(value, 4);
}

TEST(CpuMachine, ALaunchRunsEveryTaskOfItsInstructions) {
  const int before = cpu::num_threads();
  constexpr std::int64_t kCount = 100000;
  for (const int threads : {1, 3}) {
    cpu::set_num_threads(threads);
    std::vector<float> a(kCount, 1), b(kCount, 0), c(kCount, 0), d(kCount, 0);
    std::byte* buffers[] = {reinterpret_cast<std::byte*>(a.data()), reinterpret_cast<std::byte*>(b.data()),
                            reinterpret_cast<std::byte*>(c.data()), reinterpret_cast<std::byte*>(d.data())};
    std::vector<isa::Word> words;
    for (const std::uint32_t to : {1u, 2u, 3u}) {
      auto one = testing::encode(
          isa::MapFields{1, 128 * to}, {1}, kCount - to,
          {{.buffer = 0, .strides = {0}}, {.buffer = to, .strides = {0}}},
          {isa::strip_word(StripOp::kLoadF32, Lane::kF32, isa::kUnit, 0),
           isa::strip_word(StripOp::kStoreF32, Lane::kF32, isa::kUnit, 1), isa::strip_word(StripOp::kEnd, Lane::kF32)});
      if (to > 1) one[0] |= isa::kBeside;
      words.insert(words.end(), one.begin(), one.end());
    }
    ASSERT_TRUE(best_machine()->run(words, 0, buffers).ok());
    for (const auto& [to, skipped] : {std::pair{&b, 1}, std::pair{&c, 2}, std::pair{&d, 3}}) {
      EXPECT_EQ(std::count(to->begin(), to->end(), 1.0f), kCount - skipped);
    }
  }
  cpu::set_num_threads(before);
}

TEST(CpuMachine, SeveralThreadsShareOneMachine) {
  auto machine = best_machine();
  const int before = cpu::num_threads();
  cpu::set_num_threads(4);
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int caller = 0; caller < 8; ++caller) {
    threads.emplace_back([&machine, &wrong, caller] {
      constexpr std::int64_t kM = 65, kN = 96, kK = 200;
      const auto value = static_cast<float>(caller + 1);
      std::vector<float> a(kM * kK, value), b(kK * kN, 1), c(kM * kN);
      const auto words = testing::encode(
          isa::MatMulFields{kK, 8, 48, 1 << 20, 0}, {kM}, kN,
          {{.buffer = 0, .strides = {kK * 4}}, {.buffer = 1, .strides = {kN * 4}}, {.buffer = 2, .strides = {kN * 4}}});
      std::byte* buffers[] = {reinterpret_cast<std::byte*>(a.data()), reinterpret_cast<std::byte*>(b.data()),
                              reinterpret_cast<std::byte*>(c.data())};
      for (int i = 0; i < 50; ++i) {
        if (!machine->run(words, 0, buffers).ok()) wrong.fetch_add(1);
        for (const float sum : c) wrong.fetch_add(sum != value * kK);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  cpu::set_num_threads(before);
  EXPECT_EQ(wrong.load(), 0);
}

TEST(CpuMachine, TheEpilogueRunsOnEveryTile) {
  for (const std::string_view level : cpu_levels()) {
    auto machine = std::move(make_cpu_machine({.isa = std::string(level)})).value();
    for (const std::int64_t m_tile : {3, 100}) {
      for (const std::int64_t n_tile : {48, 1000}) {
        constexpr std::int64_t kM = 37, kN = 203, kK = 50;
        testing::Memory a(DType::kF32, kM * kK), b(DType::kF32, kK * kN), c(DType::kF16, kM * kN),
            bias(DType::kF32, kN);
        std::mt19937 random(5);
        a.fill(random, kM * kK);
        b.fill(random, kK * kN);
        bias.fill(random, kN);
        const Stream tile{.space = isa::Space::kTile, .strides = {0}};
        const auto words = testing::encode(isa::MatMulFields{kK, m_tile, n_tile, 16, 0}, {kM}, kN,
                                           {{.buffer = 0, .strides = {kK * 4}},
                                            {.buffer = 1, .strides = {kN * 4}},
                                            tile,
                                            {.dtype = DType::kF16, .buffer = 2, .inner_stride = 2, .strides = {kN * 2}},
                                            {.buffer = 3, .strides = {0}}},
                                           {isa::strip_word(StripOp::kLoadF32, Lane::kF32, isa::kUnit, 2),
                                            isa::strip_word(StripOp::kAdd, Lane::kF32, isa::kStripOperand, 4),
                                            isa::strip_word(StripOp::kRelu, Lane::kF32),
                                            isa::strip_word(StripOp::kStoreF16, Lane::kF32, isa::kUnit, 3),
                                            isa::strip_word(StripOp::kEnd, Lane::kF32)});
        std::byte* buffers[] = {a.data(), b.data(), c.data(), bias.data()};
        ASSERT_TRUE(machine->run(words, 0, buffers).ok());
        ASSERT_TRUE(c.intact());
        for (std::int64_t m = 0; m < kM; ++m) {
          for (std::int64_t n = 0; n < kN; ++n) {
            double sum = bias.get(n);
            for (std::int64_t k = 0; k < kK; ++k) sum += a.get(m * kK + k) * b.get(k * kN + n);
            ASSERT_NEAR(c.get(m * kN + n), std::max(sum, 0.0), 0.01) << level << " " << m << " " << n;
          }
        }
      }
    }
  }
}

TEST(CpuMachine, AnInstructionOfOneTaskCostsLittle) {
  auto machine = best_machine();
  std::vector<float> a(16, 1), b(16);
  std::vector<isa::Word> words;
  constexpr int kInstructions = 1000;
  const auto one = add_one(16, 1 << 20);
  for (int i = 0; i < kInstructions; ++i) words.insert(words.end(), one.begin(), one.end());
  std::byte* buffers[] = {reinterpret_cast<std::byte*>(a.data()), reinterpret_cast<std::byte*>(b.data())};
  double least = 1e9;
  for (int i = 0; i < 200; ++i) {
    const auto start = std::chrono::steady_clock::now();
    ASSERT_TRUE(machine->run(words, 0, buffers).ok());
    least = std::min(least, std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count() /
                                kInstructions);
  }
  RecordProperty("nanoseconds_per_instruction", std::to_string(least));
#if defined(__OPTIMIZE__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  EXPECT_LE(least, 100);
#endif
}

}  // namespace
}  // namespace tilewright::vm
