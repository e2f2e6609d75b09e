#include "tilewright/runtime/result_memory.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <thread>

namespace tilewright::runtime {
namespace {

constexpr std::size_t kMega = std::size_t{1} << 20;

TEST(ResultMemory, WhatWasLetGoServesTheNextRequest) {
  ResultMemory memory;
  void* first = memory.take(3 * kMega).get();
  EXPECT_EQ(memory.kept(), 3 * kMega);
  const auto second = memory.take(2 * kMega);
  EXPECT_EQ(second.get(), first);
  EXPECT_EQ(memory.kept(), 0u);
}

TEST(ResultMemory, ALiveBlockIsNotGivenAgain) {
  ResultMemory memory;
  const auto first = memory.take(kMega), second = memory.take(kMega);
  EXPECT_NE(first.get(), second.get());
}

TEST(ResultMemory, ASmallRequestDoesNotHoldALargeBlock) {
  ResultMemory memory;
  memory.take(64 * kMega);
  const auto small = memory.take(kMega);
  EXPECT_EQ(memory.kept(), 64 * kMega);
}

TEST(ResultMemory, TheSmallestBlockThatFitsIsTaken) {
  ResultMemory memory;
  auto a = memory.take(5 * kMega), b = memory.take(4 * kMega);
  void* const smaller = b.get();
  a.reset();
  b.reset();
  EXPECT_EQ(memory.take(4 * kMega - 5).get(), smaller);
}

TEST(ResultMemory, NoMoreIsKeptThanWasLive) {
  ResultMemory memory;
  for (std::size_t size = 1; size <= 40; ++size) memory.take(size * kMega);
  EXPECT_LE(memory.kept(), 40 * kMega);
  memory.trim();
  EXPECT_EQ(memory.kept(), 0u);
}

TEST(ResultMemory, WhatALargeCallLeftGoesBackAfterManySmallOnes) {
  ResultMemory memory;
  memory.take(100 * kMega);
  for (int i = 0; i < 600; ++i) memory.take(kMega);
  EXPECT_LE(memory.kept(), ResultMemory::kAlwaysKept);
}

TEST(ResultMemory, TooMuchIsRefused) {
  ResultMemory memory;
  EXPECT_EQ(memory.take(SIZE_MAX), nullptr);
  EXPECT_EQ(memory.take(std::size_t{1} << 60), nullptr);
  EXPECT_NE(memory.take(0), nullptr);
  EXPECT_NE(memory.take(kMega), nullptr);
}

TEST(ResultMemory, ThreadsNeverShareABlock) {
  ResultMemory memory;
  std::vector<std::thread> threads;
  for (int mark = 1; mark <= 4; ++mark) {
    threads.emplace_back([&memory, mark] {
      std::mt19937 random(static_cast<unsigned>(mark));
      for (int i = 0; i < 300; ++i) {
        const std::size_t bytes = ResultMemory::kPooled + random() % (kMega / 2);
        const auto block = memory.take(bytes);
        std::memset(block.get(), mark, bytes);
        std::this_thread::yield();
        const auto* at = static_cast<const unsigned char*>(block.get());
        ASSERT_EQ(at[0], mark);
        ASSERT_EQ(at[bytes - 1], mark);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace tilewright::runtime
