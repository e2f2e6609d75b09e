#include "tilewright/runtime/arena.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <memory>
#include <vector>

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

TEST(Arena, ThousandsMayLiveAtOnce) {
  std::vector<std::unique_ptr<Arena>> arenas;
  for (int i = 0; i < 3000; ++i) {
    arenas.push_back(std::make_unique<Arena>());
    ASSERT_NE(arenas.back()->base(), nullptr) << i;
  }
  EXPECT_GE(arenas[0]->capacity(), std::int64_t{1} << 30);
  EXPECT_TRUE(arenas.back()->ensure(32 << 20));
}

TEST(Arena, LeavesRoomUnderALimitOfTheAddressSpace) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the sanitizers take terabytes of address space";
#endif
  const pid_t child = fork();
  if (child == 0) {
    const rlimit limit{std::int64_t{8} << 30, RLIM_INFINITY};
    if (setrlimit(RLIMIT_AS, &limit) != 0) _exit(0);
    std::vector<std::unique_ptr<Arena>> arenas;
    for (int i = 0; i < 20; ++i) arenas.push_back(std::make_unique<Arena>());
    const bool good = arenas.back()->base() != nullptr && std::vector<char>(std::size_t{1} << 28).size() > 0;
    _exit(good ? 0 : 1);
  }
  int status = 1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
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
