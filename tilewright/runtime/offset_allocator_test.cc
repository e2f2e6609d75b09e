#include "tilewright/runtime/offset_allocator.h"

#include <gtest/gtest.h>

#include <random>

namespace tilewright::runtime {
namespace {

TEST(OffsetAllocator, PlacesAreAligned) {
  OffsetAllocator allocator;
  EXPECT_EQ(allocator.allocate(1), 0);
  EXPECT_EQ(allocator.allocate(65), 64);
  EXPECT_EQ(allocator.allocate(1), 192);
  EXPECT_EQ(allocator.end(), 256);
}

TEST(OffsetAllocator, TheSmallestHoleThatFitsIsTaken) {
  OffsetAllocator allocator;
  const std::int64_t big = allocator.allocate(640);
  allocator.allocate(64);
  const std::int64_t small = allocator.allocate(128);
  allocator.allocate(64);
  allocator.release(big, 640);
  allocator.release(small, 128);
  EXPECT_EQ(allocator.allocate(100), small);
}

TEST(OffsetAllocator, NeighbouringHolesBecomeOne) {
  OffsetAllocator allocator;
  const std::int64_t a = allocator.allocate(64), b = allocator.allocate(64), c = allocator.allocate(64);
  allocator.allocate(64);
  allocator.release(a, 64);
  allocator.release(c, 64);
  allocator.release(b, 64);
  EXPECT_EQ(allocator.allocate(192), a);
}

TEST(OffsetAllocator, WhatIsFreeAtTheEndIsUsedBeforeTheEndGrows) {
  OffsetAllocator allocator;
  allocator.allocate(64);
  allocator.release(64 * 0, 64);
  EXPECT_EQ(allocator.allocate(128), 0);
  EXPECT_EQ(allocator.end(), 128);
}

TEST(OffsetAllocator, LiveBlocksNeverOverlap) {
  std::mt19937 random(7);
  struct Live {
    std::int64_t offset, bytes;
  };
  for (int round = 0; round < 200; ++round) {
    OffsetAllocator allocator;
    std::vector<Live> live;
    for (int i = 0; i < 200; ++i) {
      if (!live.empty() && random() % 2 == 0) {
        const std::size_t gone = random() % live.size();
        allocator.release(live[gone].offset, live[gone].bytes);
        live.erase(live.begin() + static_cast<std::ptrdiff_t>(gone));
        continue;
      }
      const auto bytes = static_cast<std::int64_t>(random() % 1000);
      const std::int64_t offset = allocator.allocate(bytes);
      ASSERT_LE(offset + bytes, allocator.end());
      for (const Live& other : live) {
        ASSERT_TRUE(offset + bytes <= other.offset || other.offset + other.bytes <= offset || bytes == 0 ||
                    other.bytes == 0)
            << "round " << round;
      }
      live.push_back({offset, bytes});
    }
    for (const Live& one : live) allocator.release(one.offset, one.bytes);
    EXPECT_EQ(allocator.allocate(1 << 20), 0) << "everything is free again";
  }
}

}  // namespace
}  // namespace tilewright::runtime
