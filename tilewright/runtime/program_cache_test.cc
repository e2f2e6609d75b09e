#include "tilewright/runtime/program_cache.h"

#include <gtest/gtest.h>

#include "tilewright/runtime/stats.h"

namespace tilewright::runtime {
namespace {

std::shared_ptr<const BoundSegment> segment(std::size_t words) {
  auto made = BoundSegment::make();
  made->words.resize(words);
  return made;
}

TEST(ProgramCache, FindsWhatWasInserted) {
  ProgramCache cache(1 << 20);
  const auto entry = segment(10);
  cache.insert({1, 2, 3}, entry);
  EXPECT_EQ(cache.find({1, 2, 3}), entry);
  EXPECT_EQ(cache.find({1, 2}), nullptr);
}

TEST(ProgramCache, TheFirstOfEqualKeysStays) {
  ProgramCache cache(1 << 20);
  const auto first = segment(10);
  cache.insert({1}, first);
  cache.insert({1}, segment(10));
  EXPECT_EQ(cache.find({1}), first);
}

TEST(ProgramCache, TheLeastRecentlyUsedGoesFirst) {
  ProgramCache cache(3 * 9000);
  for (std::int64_t key : {1, 2, 3}) cache.insert({key}, segment(1000));
  EXPECT_NE(cache.find({1}), nullptr);
  cache.insert({4}, segment(1000));
  EXPECT_EQ(cache.find({2}), nullptr);
  EXPECT_NE(cache.find({1}), nullptr);
}

TEST(ProgramCache, NeverHoldsMoreThanItsLimit) {
  const std::int64_t before = stats().cached_program_bytes;
  {
    ProgramCache cache(100000);
    for (std::int64_t key = 0; key < 500; ++key) {
      cache.insert({key, key * 7}, segment(static_cast<std::size_t>(key * 37 % 900)));
      ASSERT_LE(stats().cached_program_bytes - before, 100000);
    }
  }
  EXPECT_EQ(stats().cached_program_bytes, before);
}

TEST(ProgramCache, AnEntryBeyondTheLimitIsNotKept) {
  ProgramCache cache(1000);
  cache.insert({1}, segment(10));
  cache.insert({2}, segment(1000));
  EXPECT_EQ(cache.find({2}), nullptr);
}

TEST(ProgramCache, AnEntryInUseOutlivesTheCache) {
  std::shared_ptr<const BoundSegment> held;
  {
    ProgramCache cache(1 << 20);
    cache.insert({1}, segment(10));
    held = cache.find({1});
    cache.clear();
  }
  EXPECT_EQ(held->words.size(), 10u);
}

}  // namespace
}  // namespace tilewright::runtime
