#include "tilewright/runtime/arena.h"

#include <gtest/gtest.h>

namespace tilewright::runtime {
namespace {

TEST(Arena, GrowsInPlace) {
  Arena arena;
  ASSERT_TRUE(arena.ensure(1000));
  arena.base()[999] = std::byte{7};
  std::byte* const before = arena.base();
  ASSERT_TRUE(arena.ensure(50 << 20));
  EXPECT_EQ(arena.base(), before);
  EXPECT_EQ(arena.base()[999], std::byte{7});
}

TEST(Arena, RefusesMoreThanItsAddressSpace) {
  Arena arena;
  EXPECT_FALSE(arena.ensure(arena.capacity() + 1));
}

TEST(Arena, GivesBackWhatAOneOffLargeCallUsed) {
  Arena arena;
  const std::int64_t others = Arena::total_resident();
  ASSERT_TRUE(arena.ensure(100 << 20));
  EXPECT_EQ(Arena::total_resident() - others, 100 << 20);
  arena.end_call(100 << 20);
  for (int call = 0; call < 600; ++call) arena.end_call(1 << 20);
  EXPECT_LE(arena.resident(), 4 << 20);
  EXPECT_EQ(Arena::total_resident() - others, arena.resident());
}

}  // namespace
}  // namespace tilewright::runtime
