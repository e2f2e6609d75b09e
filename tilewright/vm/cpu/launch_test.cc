// How a launch is cut: chunks of about equal cost, costly ones first, every task once.
#include "tilewright/vm/cpu/launch.h"

#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "tilewright/vm/cpu/cost.h"
#include "tilewright/vm/cpu/level/matmul_testing.h"

namespace tilewright::vm::cpu {
namespace {

constexpr BackendTraits kTraits{.threads = 2, .vector_floats = 16, .matmul_rows = 8, .flops_per_us = 100000};

// A product of m rows in tasks of m_tile rows.
std::vector<isa::Word> product(std::int64_t m, std::int64_t m_tile) {
  isa::MatMulFields fields{};
  fields.k = 64;
  fields.m_tile = m_tile;
  fields.n_tile = 64;
  fields.k_block = 64;
  return testing::encode(
      fields, {m}, 64,
      {{.buffer = 0, .strides = {256}}, {.buffer = 1, .strides = {256}}, {.buffer = 2, .strides = {256}}}, {});
}

void nothing(const isa::Inst&, const TaskContext&, std::int64_t) {}

// Tasks of each chunk by instruction, in the order of the chunks.
std::vector<std::map<const isa::Word*, std::int64_t>> chunks_of(const Launch& launch) {
  std::vector<std::map<const isa::Word*, std::int64_t>> chunks;
  for (std::int64_t chunk = 0; chunk < launch.chunks(); ++chunk) {
    chunks.emplace_back();
    launch.visit_chunks(chunk, chunk + 1,
                        [&](const isa::Inst& inst, TaskHandler, std::int64_t first, std::int64_t last) {
                          chunks.back()[inst.words()] += last - first;
                        });
  }
  return chunks;
}

class UnlikeInstructions : public ::testing::Test {
 protected:
  void SetUp() override {
    launch.add(isa::Inst(small.data()), nothing);
    launch.add(isa::Inst(large.data()), nothing);
    launch.predict(kTraits);
    ASSERT_TRUE(launch.split(2));
  }
  const std::vector<isa::Word> small = product(64, 8), large = product(2048, 64);
  Launch launch;
};

TEST(Launch, PredictsTheSumOfItsInstructions) {
  const auto small = product(64, 8), large = product(2048, 64);
  Launch one, other, both;
  one.add(isa::Inst(small.data()), nothing);
  other.add(isa::Inst(large.data()), nothing);
  both.add(isa::Inst(small.data()), nothing);
  both.add(isa::Inst(large.data()), nothing);
  EXPECT_DOUBLE_EQ(both.predict(kTraits), one.predict(kTraits) + other.predict(kTraits));
}

TEST(Launch, OneTaskIsNotSplit) {
  const auto words = product(4096, 4096);
  Launch launch;
  launch.add(isa::Inst(words.data()), nothing);
  launch.predict(kTraits);
  EXPECT_FALSE(launch.split(2));
}

TEST_F(UnlikeInstructions, EachTaskIsInOneChunk) {
  std::map<const isa::Word*, std::int64_t> tasks;
  for (const auto& chunk : chunks_of(launch)) {
    for (const auto& [words, count] : chunk) tasks[words] += count;
  }
  EXPECT_EQ(tasks[small.data()], 8);
  EXPECT_EQ(tasks[large.data()], 32);
}

TEST_F(UnlikeInstructions, CostlyChunksComeFirstAndCheapTasksShareOne) {
  const auto chunks = chunks_of(launch);
  EXPECT_EQ(chunks.front().begin()->first, large.data());
  EXPECT_EQ(chunks.front().begin()->second, 1);
  EXPECT_EQ(chunks.back().begin()->first, small.data());
  EXPECT_GE(chunks.back().begin()->second, 4);
}

TEST(Launch, ThePoolCanCountTheChunksOfAnyNumberOfTasks) {
  const auto huge = product(std::int64_t{1} << 40, 8);
  Launch launch;
  for (int i = 0; i < isa::kMaxLaunch; ++i) launch.add(isa::Inst(huge.data()), nothing);
  launch.predict(kTraits);
  ASSERT_TRUE(launch.split(2));
  EXPECT_LE(launch.chunks(), std::int64_t{1} << 17);
}

TEST_F(UnlikeInstructions, ARangeOfChunksRunsAsOne) {
  std::int64_t all = 0;
  launch.visit_chunks(0, launch.chunks(), [&](const isa::Inst&, TaskHandler, std::int64_t first, std::int64_t last) {
    all += last - first;
  });
  EXPECT_EQ(all, 40);
}

}  // namespace
}  // namespace tilewright::vm::cpu
