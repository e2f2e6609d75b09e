// Sequences of phases: every phase sees all of the one before, whoever runs it, from several callers at once. Runs
// under TSan, too.
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <thread>
#include <vector>

#include "tilewright/vm/cpu/pool.h"

namespace tilewright::vm::cpu {
namespace {

class Threads {
 public:
  explicit Threads(int count) : before_(num_threads()) { set_num_threads(count); }
  ~Threads() { set_num_threads(before_); }

 private:
  int before_;
};

// Phase p computes value[i] = sum of all values of the phase before + i, so one missed task or one that began too early
// changes every later value. Unsynchronised on purpose: the pool orders the accesses.
struct Chain {
  std::vector<std::int64_t> phases;  // tasks of each
  std::vector<std::int64_t> before{1}, now;
  std::size_t begun = 0;
  std::int64_t wrong = 0;

  static bool next(void* self, std::int64_t& tasks) {
    auto& chain = *static_cast<Chain*>(self);
    if (chain.begun > 0) chain.end_phase();
    if (chain.begun == chain.phases.size()) return false;
    tasks = chain.phases[chain.begun++];
    chain.now.assign(static_cast<std::size_t>(tasks), -1);
    return true;
  }

  static void body(void* self, std::int64_t first, std::int64_t last) {
    auto& chain = *static_cast<Chain*>(self);
    std::int64_t sum = 0;
    for (const std::int64_t value : chain.before) sum += value;
    for (; first < last; ++first) chain.now[static_cast<std::size_t>(first)] = sum % 1000 + first;
  }

  void end_phase() {
    std::int64_t sum = 0;
    for (const std::int64_t value : before) sum += value;
    for (std::size_t i = 0; i < now.size(); ++i) wrong += now[i] != sum % 1000 + static_cast<std::int64_t>(i);
    before.swap(now);
  }

  std::int64_t run() {
    run_phases(next, body, this);
    return begun == phases.size() ? wrong : -1;
  }
};

std::vector<std::int64_t> some_phases(std::size_t count, std::size_t seed) {
  std::vector<std::int64_t> phases;
  for (std::size_t i = 0; i < count; ++i) phases.push_back(static_cast<std::int64_t>(1 + (i * 7 + seed) % 23));
  return phases;
}

TEST(PoolPhases, EachSeesAllOfTheOneBefore) {
  for (const int threads : {1, 2, 3, 6}) {
    const Threads limit(threads);
    for (std::size_t seed = 0; seed < 50; ++seed) {
      Chain chain{.phases = some_phases(40, seed)};
      ASSERT_EQ(chain.run(), 0) << threads << " threads";
    }
  }
}

TEST(PoolPhases, NoneAtAll) {
  const Threads limit(3);
  EXPECT_EQ(Chain{}.run(), 0);
}

TEST(PoolPhases, SeveralCallersAtOnceBesideSingleJobs) {
  const Threads limit(3);
  std::atomic<std::int64_t> wrong{0};
  std::vector<std::thread> callers;
  for (std::size_t caller = 0; caller < 6; ++caller) {
    callers.emplace_back([&wrong, caller] {
      for (std::size_t job = 0; job < 150; ++job) {
        Chain chain{.phases = some_phases(1 + (job + caller) % 12, caller)};
        wrong.fetch_add(chain.run());
        std::atomic<std::int64_t> sum{0};
        parallel_for(9, [&](std::int64_t first, std::int64_t last) { sum.fetch_add(last - first); });
        wrong.fetch_add(sum.load() != 9);
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(wrong.load(), 0);
}

TEST(PoolPhases, AThreadThatSleepsBetweenThemIsWokenOrDoneWithout) {
  const Threads limit(4);
  struct Slow : Chain {
    static bool next(void* self, std::int64_t& tasks) {
      usleep(300);  // work of its own, longer than the others look for some
      return Chain::next(static_cast<Chain*>(static_cast<Slow*>(self)), tasks);
    }
  };
  Slow slow;
  slow.phases = some_phases(60, 3);
  run_phases(
      Slow::next,
      [](void* self, std::int64_t first, std::int64_t last) {
        Chain::body(static_cast<Chain*>(static_cast<Slow*>(self)), first, last);
      },
      &slow);
  EXPECT_EQ(slow.begun, slow.phases.size());
  EXPECT_EQ(slow.wrong, 0);
}

TEST(PoolPhases, ATaskMayRunASequence) {
  const Threads limit(4);
  std::atomic<std::int64_t> wrong{0};
  parallel_for(12, [&](std::int64_t first, std::int64_t last) {
    for (; first < last; ++first) {
      Chain chain{.phases = some_phases(8, static_cast<std::size_t>(first))};
      wrong.fetch_add(chain.run());
    }
  });
  EXPECT_EQ(wrong.load(), 0);
}

}  // namespace
}  // namespace tilewright::vm::cpu
