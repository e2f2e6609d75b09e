// The pool: every task once, whoever calls, whatever the limit; idle means idle; fork works. Runs under TSan, too.
#include "tilewright/vm/cpu/pool.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#if defined(__SANITIZE_THREAD__)
constexpr bool kThreadSanitizer = true;
#else
constexpr bool kThreadSanitizer = false;
#endif

namespace tilewright::vm::cpu {
namespace {

// Sets the number of threads for one test.
class Threads {
 public:
  explicit Threads(int count) : before_(num_threads()) { set_num_threads(count); }
  ~Threads() { set_num_threads(before_); }

 private:
  int before_;
};

void expect_each_task_once(std::int64_t tasks, std::int64_t chunk) {
  auto counts = std::make_unique<std::atomic<int>[]>(static_cast<std::size_t>(tasks) + 1);
  auto body = [](void* context, std::int64_t first, std::int64_t last) {
    for (std::int64_t task = first; task < last; ++task) static_cast<std::atomic<int>*>(context)[task].fetch_add(1);
  };
  parallel_for(tasks, chunk, body, counts.get());
  for (std::int64_t task = 0; task < tasks; ++task) ASSERT_EQ(counts[static_cast<std::size_t>(task)].load(), 1) << task;
}

TEST(Pool, RunsEachTaskOnce) {
  const Threads threads(4);
  for (const std::int64_t tasks : {0, 1, 2, 3, 7, 64, 1000, 3000000}) {
    expect_each_task_once(tasks, 0);
  }
  for (const std::int64_t chunk : {1, 3, 1000}) expect_each_task_once(997, chunk);
}

TEST(Pool, ManyJobsInARow) {
  const Threads threads(3);
  std::atomic<std::int64_t> sum{0};
  for (int job = 0; job < 20000; ++job) {
    parallel_for(4, [&](std::int64_t first, std::int64_t last) { sum.fetch_add(last - first); });
  }
  EXPECT_EQ(sum.load(), 80000);
}

TEST(Pool, SeveralCallersAtOnce) {
  const Threads threads(3);
  std::vector<std::thread> callers;
  std::atomic<int> wrong{0};
  for (int caller = 0; caller < 8; ++caller) {
    callers.emplace_back([&wrong, caller] {
      for (int job = 0; job < 1000; ++job) {
        std::atomic<std::int64_t> sum{0};
        const std::int64_t tasks = 1 + (job * 7 + caller) % 40;
        parallel_for(tasks, [&](std::int64_t first, std::int64_t last) {
          for (std::int64_t task = first; task < last; ++task) sum.fetch_add(task);
        });
        if (sum.load() != tasks * (tasks - 1) / 2) wrong.fetch_add(1);
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(wrong.load(), 0);
}

TEST(Pool, ATaskMayStartTasks) {
  const Threads threads(4);
  std::atomic<std::int64_t> sum{0};
  parallel_for(20, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t task = first; task < last; ++task) {
      parallel_for(10, [&](std::int64_t a, std::int64_t b) { sum.fetch_add(b - a); });
    }
  });
  EXPECT_EQ(sum.load(), 200);
}

TEST(Pool, OneThreadRunsOnTheCaller) {
  const Threads threads(1);
  const auto caller = std::this_thread::get_id();
  parallel_for(100, [&](std::int64_t, std::int64_t) { EXPECT_EQ(std::this_thread::get_id(), caller); });
}

TEST(Pool, TheNumberOfThreadsMayChange) {
  const Threads threads(2);
  for (const int count : {1, 4, 2, 6, 3, 1, 5}) {
    set_num_threads(count);
    EXPECT_EQ(num_threads(), count);
    expect_each_task_once(500, 1);
  }
}

TEST(Pool, AtMostTheLimitWorksOnAJob) {
  const Threads threads(6);
  expect_each_task_once(500, 1);
  set_num_threads(2);
  std::atomic<int> at_once{0}, most{0};
  parallel_for(
      2000, 1,
      [](void* context, std::int64_t, std::int64_t) {
        auto* counters = static_cast<std::atomic<int>**>(context);
        const int now = counters[0]->fetch_add(1) + 1;
        int seen = counters[1]->load();
        while (seen < now && !counters[1]->compare_exchange_weak(seen, now)) {
        }
        counters[0]->fetch_sub(1);
      },
      std::array<std::atomic<int>*, 2>{&at_once, &most}.data());
  EXPECT_LE(most.load(), 2);
}

TEST(Pool, AnIdlePoolUsesNoCpu) {
  const Threads threads(4);
  expect_each_task_once(500, 1);
  usleep(20000);  // well beyond the time that workers look for work
  rusage before{}, after{};
  getrusage(RUSAGE_SELF, &before);
  usleep(100000);
  getrusage(RUSAGE_SELF, &after);
  const auto microseconds = [](const rusage& usage) {
    return (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000 + usage.ru_utime.tv_usec + usage.ru_stime.tv_usec;
  };
  EXPECT_LE(microseconds(after) - microseconds(before), kThreadSanitizer ? 20000 : 5000);
}

TEST(Pool, AForkedChildBuildsAPoolOfItsOwn) {
  if (kThreadSanitizer) GTEST_SKIP() << "the sanitizer forbids threads after fork";
  const Threads threads(4);
  expect_each_task_once(500, 1);
  const pid_t child = fork();
  if (child == 0) {
    std::atomic<std::int64_t> sum{0};
    for (int job = 0; job < 100; ++job) {
      parallel_for(64, [&](std::int64_t first, std::int64_t last) { sum.fetch_add(last - first); });
    }
    _exit(sum.load() == 6400 ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  expect_each_task_once(500, 1);
}

}  // namespace
}  // namespace tilewright::vm::cpu
