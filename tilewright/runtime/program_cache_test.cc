#include "tilewright/runtime/program_cache.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>

#include "tilewright/runtime/program_memory.h"
#include "tilewright/runtime/stats.h"

namespace tilewright::runtime {
namespace {

SegmentRef segment(const std::vector<std::int64_t>& key, std::size_t words) {
  return BoundSegment::make(key, std::vector<isa::Word>(words));
}

TEST(ProgramCache, FindsWhatWasInserted) {
  ProgramCache cache(1 << 20);
  const auto entry = segment({1, 2, 3}, 10);
  cache.insert(entry);
  EXPECT_EQ(cache.find({1, 2, 3}), entry);
  EXPECT_FALSE(cache.find({1, 2}));
}

TEST(ProgramCache, TheFirstOfEqualKeysStays) {
  ProgramCache cache(1 << 20);
  const auto first = segment({1}, 10);
  cache.insert(first);
  cache.insert(segment({1}, 10));
  EXPECT_EQ(cache.find({1}), first);
}

TEST(ProgramCache, TheLeastRecentlyUsedGoesFirst) {
  ProgramCache cache(3 * segment({1}, 1000)->bytes());
  for (std::int64_t key : {1, 2, 3}) cache.insert(segment({key}, 1000));
  EXPECT_TRUE(cache.find({1}));
  cache.insert(segment({4}, 1000));
  EXPECT_FALSE(cache.find({2}));
  for (std::int64_t key : {1, 3, 4}) EXPECT_TRUE(cache.find({key}));
}

TEST(ProgramCache, NeverHoldsMoreThanItsLimit) {
  const std::int64_t before = stats().cached_program_bytes;
  {
    ProgramCache cache(100000);
    for (std::int64_t key = 0; key < 500; ++key) {
      cache.insert(segment({key, key * 7}, static_cast<std::size_t>(key * 37 % 900)));
      ASSERT_LE(stats().cached_program_bytes - before, 100000);
    }
  }
  EXPECT_EQ(stats().cached_program_bytes, before);
}

TEST(ProgramCache, AnEntryBeyondTheLimitIsNotKept) {
  ProgramCache cache(1000);
  cache.insert(segment({1}, 10));
  cache.insert(segment({2}, 1000));
  EXPECT_FALSE(cache.find({2}));
}

TEST(ProgramCache, AnEntryInUseOutlivesTheCache) {
  SegmentRef held;
  {
    ProgramCache cache(1 << 20);
    cache.insert(segment({1}, 10));
    held = cache.find({1});
    cache.clear();
  }
  EXPECT_EQ(held->words().size(), 10u);
}

// Against the obvious way: a list of keys, newest first.
TEST(ProgramCache, FindsWhatAListOfTheNewestWouldFind) {
  constexpr std::int64_t kEntries = 50;
  ProgramCache cache(kEntries * segment({1}, 40)->bytes());
  std::vector<std::int64_t> newest;
  std::mt19937 engine(7);
  for (int i = 0; i < 20'000; ++i) {
    const auto key = static_cast<std::int64_t>(engine() % 80);
    const auto at = std::ranges::find(newest, key);
    const SegmentRef found = cache.find({key});
    ASSERT_EQ(static_cast<bool>(found), at != newest.end()) << key;
    if (at != newest.end()) {
      ASSERT_EQ(found->key()[0], key);
      newest.erase(at);
    } else {
      cache.insert(segment({key}, 40));
    }
    newest.insert(newest.begin(), key);
    if (newest.size() > static_cast<std::size_t>(kEntries)) newest.pop_back();
  }
}

TEST(ProgramMemory, BlocksAreAlignedDistinctAndUsedAgain) {
  std::vector<std::pair<std::byte*, std::size_t>> blocks;
  for (std::size_t bytes = 1; bytes < 200'000; bytes += bytes / 7 + 13) {
    ASSERT_GE(program_block_bytes(bytes), bytes);
    ASSERT_LE(program_block_bytes(bytes), std::max<std::size_t>(bytes + bytes / 4 + 64, 256));
    blocks.push_back({allocate_program(bytes), bytes});
    ASSERT_EQ(reinterpret_cast<std::uintptr_t>(blocks.back().first) % 64, 0u) << bytes;
    std::memset(blocks.back().first, static_cast<int>(blocks.size()), bytes);
  }
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const auto [memory, bytes] = blocks[i];
    for (const std::size_t at : {std::size_t{0}, bytes / 2, bytes - 1}) {
      ASSERT_EQ(memory[at], static_cast<std::byte>(i + 1)) << bytes;
    }
  }
  for (const auto& [memory, bytes] : blocks) release_program(memory, bytes);
  std::byte* again = allocate_program(1000);
  release_program(again, 1000);
  EXPECT_EQ(allocate_program(1000), again);
  release_program(again, 1000);
}

}  // namespace
}  // namespace tilewright::runtime
