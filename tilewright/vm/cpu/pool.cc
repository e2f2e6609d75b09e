// Jobs live in a fixed table of slots that is never freed, so a worker may look at a slot whose job has ended. A claim
// word packs [generation:28 | chunks claimed from the back:18 | from the front:18]; a claim is a compare-and-swap,
// which succeeds only while the job that the thread saw is the current one; then the job stays until that chunk is
// done. Half of the threads claim from the back, so from call to call a thread meets much the same chunks: what they
// read is in its cache. Who publishes a job has its first chunk. A phase of a sequence is published like a job, in the
// same slot, by the thread that ended the phase before; only that thread touches the slot's description meanwhile.
#include "tilewright/vm/cpu/pool.h"

#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <climits>
#include <cstdlib>
#include <mutex>
#include <thread>

namespace tilewright::vm::cpu {
namespace {

constexpr int kSlots = 32;
constexpr int kMaxThreads = 256;
constexpr int kChunkBits = 18;
constexpr std::uint64_t kChunkMask = (std::uint64_t{1} << kChunkBits) - 1;
constexpr std::uint64_t kClosed = kChunkMask;  // more chunks from the front than a job has
constexpr std::int64_t kMaxChunks = std::int64_t{1} << (kChunkBits - 1);
constexpr auto kSpinTime = std::chrono::microseconds(20);
// Within a sequence the next phase is as far away as the chunk that another thread is in: sleeping would cost its
// wake-up in every phase.
constexpr auto kPhaseSpinTime = std::chrono::microseconds(300);

thread_local bool claims_from_back = false;

std::int64_t claimed(std::uint64_t claim) {
  return static_cast<std::int64_t>((claim & kChunkMask) + (claim >> kChunkBits & kChunkMask));
}
// What the claim of a chunk adds.
std::uint64_t one_chunk() {
  return claims_from_back ? kChunkMask + 1 : 1;
}
// The chunk that the calling thread claims next.
std::int64_t next_chunk(std::uint64_t claim, std::int64_t num_chunks) {
  return claims_from_back ? num_chunks - 1 - static_cast<std::int64_t>(claim >> kChunkBits & kChunkMask)
                          : static_cast<std::int64_t>(claim & kChunkMask);
}
std::uint64_t generation_of(std::uint64_t claim) {
  return claim >> (2 * kChunkBits);
}
std::uint64_t claim_word(std::uint64_t generation, std::uint64_t chunks) {
  return generation << (2 * kChunkBits) | chunks;
}

void pause_cpu() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#else
  std::this_thread::yield();
#endif
}

void futex_wait(std::atomic<std::uint32_t>& word, std::uint32_t expected) {
  syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, expected, nullptr, nullptr, 0);
}
void futex_wake(std::atomic<std::uint32_t>& word, int count) {
  syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, count, nullptr, nullptr, 0);
}

// Spins until `done` is true or `limit` has passed. Returns whether it is true.
template <typename Done>
bool spin_until(Done done, std::chrono::microseconds limit = kSpinTime) {
  const auto spin = [&] {
    for (int i = 0; i < 32; ++i) {
      if (done()) return true;
      pause_cpu();
    }
    return done();
  };
  if (spin()) return true;
  const auto start = std::chrono::steady_clock::now();
  do {
    if (spin()) return true;
  } while (std::chrono::steady_clock::now() - start < limit);
  return false;
}

struct alignas(128) Slot {
  std::atomic<bool> taken{false};
  std::atomic<std::uint64_t> claim{kClosed};
  std::atomic<ParallelBody> body{nullptr};
  std::atomic<void*> context{nullptr};
  std::atomic<std::int64_t> tasks{0};
  std::atomic<std::int64_t> chunk{1};
  std::atomic<std::int64_t> num_chunks{0};
  std::atomic<NextPhase> next{nullptr};               // null: the job is one phase
  alignas(64) std::atomic<std::int64_t> finished{0};  // chunks
  std::atomic<std::uint32_t> caller_sleeps{0};
  std::atomic<bool> ended{false};  // of a sequence: next() has said so
};

struct Pool {
  Slot slots[kSlots];
  alignas(64) std::atomic<std::uint32_t> epoch{0};  // moves with every new job; sleeping workers wait on it
  std::atomic<int> sleepers{0};
  std::atomic<int> limit{1};      // threads per job, callers included
  std::atomic<int> workers{0};    // started
  std::atomic<int> sequences{0};  // that run now
  std::mutex start_mutex;
};

Pool& pool() {
  static Pool* const instance = [] {
    auto* created = new Pool;  // never freed: workers may look at it until the process ends
    created->limit = default_num_threads();
    pthread_atfork([] { pool().start_mutex.lock(); }, [] { pool().start_mutex.unlock(); },
                   [] {
                     Pool& child = pool();
                     for (Slot& slot : child.slots) {
                       slot.taken = false;
                       slot.next = nullptr;
                       slot.claim = claim_word(generation_of(slot.claim.load()) + 1, kClosed);
                     }
                     child.sleepers = 0;
                     child.workers = 0;
                     child.sequences = 0;
                     child.start_mutex.unlock();
                   });
    return created;
  }();
  return *instance;
}

void wake_caller(Slot& slot) {
  if (slot.caller_sleeps.load(std::memory_order_seq_cst) == 0) return;
  slot.caller_sleeps.store(0, std::memory_order_seq_cst);
  futex_wake(slot.caller_sleeps, 1);
}

bool begin_next_phase(Slot& slot, NextPhase next, ParallelBody body, void* context);

// Runs a chunk and counts it. Of a sequence the thread that ends a phase begins the next one, whose first chunk it has
// then claimed already: true, run it next.
bool run_chunk(Slot& slot, std::int64_t index) {
  const ParallelBody body = slot.body.load(std::memory_order_relaxed);
  void* const context = slot.context.load(std::memory_order_relaxed);
  const std::int64_t tasks = slot.tasks.load(std::memory_order_relaxed);
  const std::int64_t chunk = slot.chunk.load(std::memory_order_relaxed);
  const std::int64_t num_chunks = slot.num_chunks.load(std::memory_order_relaxed);
  const NextPhase next = slot.next.load(std::memory_order_relaxed);
  const std::int64_t first = index * chunk;
  body(context, first, first + chunk < tasks ? first + chunk : tasks);
  if (slot.finished.fetch_add(1, std::memory_order_seq_cst) + 1 != num_chunks) return false;
  const bool goes_on = next != nullptr && begin_next_phase(slot, next, body, context);
  wake_caller(slot);
  return goes_on;
}

// Claims and runs chunks of the job in `slot` until none is left. Returns whether it ran any. `has_first`: the caller
// has claimed the first chunk when it published the job.
bool work_on(Slot& slot, bool has_first = false) {
  bool worked = false;
  std::uint64_t claim = has_first ? 0 : slot.claim.load(std::memory_order_acquire);
  for (;;) {
    const std::int64_t num_chunks = slot.num_chunks.load(std::memory_order_acquire);
    std::int64_t index = next_chunk(0, num_chunks);
    if (!has_first) {
      if (claimed(claim) >= num_chunks) return worked;
      index = next_chunk(claim, num_chunks);
      if (!slot.claim.compare_exchange_weak(claim, claim + one_chunk(), std::memory_order_acq_rel,
                                            std::memory_order_acquire)) {
        continue;
      }
    }
    has_first = run_chunk(slot, index);
    worked = true;
    if (!has_first) claim = slot.claim.load(std::memory_order_acquire);
  }
}

// Whether there is a new job or phase, after some looking.
bool wait_for_work(Pool& p, std::uint32_t epoch) {
  const auto moved = [&] { return p.epoch.load(std::memory_order_relaxed) != epoch; };
  const auto moved_or_ended = [&] { return moved() || p.sequences.load(std::memory_order_relaxed) == 0; };
  spin_until(moved_or_ended, kPhaseSpinTime);
  return spin_until(moved);
}

void worker_loop(int index) {
  claims_from_back = index % 2 == 0;
  Pool& p = pool();
  for (;;) {
    const std::uint32_t epoch = p.epoch.load(std::memory_order_seq_cst);
    bool worked = false;
    if (index < p.limit.load(std::memory_order_relaxed) - 1) {
      for (Slot& slot : p.slots) worked |= work_on(slot);
    }
    if (worked) continue;
    if (index < p.limit.load(std::memory_order_relaxed) - 1 && wait_for_work(p, epoch)) {
      continue;
    }
    p.sleepers.fetch_add(1, std::memory_order_seq_cst);
    futex_wait(p.epoch, epoch);
    p.sleepers.fetch_sub(1, std::memory_order_seq_cst);
  }
}

void start_workers(Pool& p) {
  const std::lock_guard lock(p.start_mutex);
  const int wanted = p.limit.load() - 1;
  for (int index = p.workers.load(); index < wanted; ++index) {
    std::thread(worker_loop, index).detach();
    p.workers.store(index + 1);
  }
}

Slot* take_slot(Pool& p) {
  for (Slot& slot : p.slots) {
    if (!slot.taken.load(std::memory_order_relaxed) && !slot.taken.exchange(true, std::memory_order_acq_rel))
      return &slot;
  }
  return nullptr;
}

void wait_until_finished(Slot& slot, std::int64_t num_chunks) {
  const auto done = [&] { return slot.finished.load(std::memory_order_seq_cst) == num_chunks; };
  while (!spin_until(done)) {
    slot.caller_sleeps.store(1, std::memory_order_seq_cst);
    if (done()) break;
    futex_wait(slot.caller_sleeps, 1);
  }
  slot.caller_sleeps.store(0, std::memory_order_relaxed);
}

void publish(Slot& slot, std::int64_t tasks, std::int64_t chunk, std::int64_t num_chunks, ParallelBody body,
             void* context) {
  const std::uint64_t generation = generation_of(slot.claim.load(std::memory_order_relaxed)) + 1;
  slot.claim.store(claim_word(generation, kClosed), std::memory_order_release);
  slot.body.store(body, std::memory_order_release);
  slot.context.store(context, std::memory_order_release);
  slot.tasks.store(tasks, std::memory_order_release);
  slot.chunk.store(chunk, std::memory_order_release);
  slot.num_chunks.store(num_chunks, std::memory_order_release);
  slot.finished.store(0, std::memory_order_relaxed);
  slot.claim.store(claim_word(generation + 1, one_chunk()), std::memory_order_seq_cst);  // the publisher has one
}

void wake_workers(Pool& p, std::int64_t wanted) {
  p.epoch.fetch_add(1, std::memory_order_seq_cst);
  const int sleepers = p.sleepers.load(std::memory_order_seq_cst);
  if (sleepers == 0) return;
  // Surplus workers of a lowered limit sleep on the same word, so a wake-up meant for one worker must reach all.
  const bool surplus = p.workers.load(std::memory_order_relaxed) >= p.limit.load(std::memory_order_relaxed);
  futex_wake(p.epoch, surplus || wanted > INT_MAX ? INT_MAX : static_cast<int>(wanted));
}

// By the thread that ended the last chunk of the phase before.
bool begin_next_phase(Slot& slot, NextPhase next, ParallelBody body, void* context) {
  std::int64_t tasks = 0;
  if (!next(context, tasks)) {
    slot.ended.store(true, std::memory_order_seq_cst);
    return false;
  }
  publish(slot, tasks, 1, tasks, body, context);
  wake_workers(pool(), tasks - 1);
  return true;
}

// The caller's part: chunks like any worker, else it waits for a phase or the end.
void follow_phases(Slot& slot) {
  const auto something = [&] {
    return slot.ended.load(std::memory_order_seq_cst) ||
           claimed(slot.claim.load(std::memory_order_seq_cst)) < slot.num_chunks.load(std::memory_order_seq_cst);
  };
  for (bool has_first = true;; has_first = false) {
    work_on(slot, has_first);
    if (slot.ended.load(std::memory_order_seq_cst)) break;
    if (spin_until(something, kPhaseSpinTime)) continue;
    slot.caller_sleeps.store(1, std::memory_order_seq_cst);
    if (!something()) futex_wait(slot.caller_sleeps, 1);
    slot.caller_sleeps.store(0, std::memory_order_relaxed);
  }
}

}  // namespace

int default_num_threads() {
  if (const char* text = std::getenv("TILEWRIGHT_NUM_THREADS")) {
    const long value = std::strtol(text, nullptr, 10);
    if (value >= 1) return value < kMaxThreads ? static_cast<int>(value) : kMaxThreads;
  }
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (sched_getaffinity(0, sizeof allowed, &allowed) == 0) {
    const int count = CPU_COUNT(&allowed);
    if (count >= 1) return count < kMaxThreads ? count : kMaxThreads;
  }
  return 1;
}

void set_num_threads(int count) {
  Pool& p = pool();
  p.limit.store(count < 1 ? 1 : count < kMaxThreads ? count : kMaxThreads);
}

int num_threads() {
  return pool().limit.load(std::memory_order_relaxed);
}

void parallel_for(std::int64_t tasks, std::int64_t chunk, ParallelBody body, void* context) {
  if (tasks <= 0) return;
  Pool& p = pool();
  const int threads = p.limit.load(std::memory_order_relaxed);
  if (chunk <= 0) chunk = tasks / (std::int64_t{16} * threads);
  const std::int64_t least = (tasks + kMaxChunks - 1) / kMaxChunks;
  if (chunk < least) chunk = least;
  const std::int64_t num_chunks = (tasks + chunk - 1) / chunk;
  Slot* const slot = threads == 1 || num_chunks == 1 ? nullptr : take_slot(p);
  if (slot == nullptr) {
    body(context, 0, tasks);
    return;
  }
  if (p.workers.load(std::memory_order_relaxed) < threads - 1) start_workers(p);
  publish(*slot, tasks, chunk, num_chunks, body, context);
  wake_workers(p, num_chunks - 1);
  work_on(*slot, true);
  wait_until_finished(*slot, num_chunks);
  slot->taken.store(false, std::memory_order_release);
}

bool workers_are_awake() {
  Pool& p = pool();
  return p.workers.load(std::memory_order_relaxed) > p.sleepers.load(std::memory_order_relaxed);
}

void run_phases(NextPhase next, ParallelBody body, void* context) {
  Pool& p = pool();
  std::int64_t tasks = 0;
  if (!next(context, tasks)) return;
  const int threads = p.limit.load(std::memory_order_relaxed);
  Slot* const slot = threads == 1 ? nullptr : take_slot(p);
  if (slot == nullptr) {
    do {
      body(context, 0, tasks);
    } while (next(context, tasks));
    return;
  }
  if (p.workers.load(std::memory_order_relaxed) < threads - 1) start_workers(p);
  slot->ended.store(false, std::memory_order_relaxed);
  slot->next.store(next, std::memory_order_relaxed);
  p.sequences.fetch_add(1, std::memory_order_relaxed);
  publish(*slot, tasks, 1, tasks, body, context);
  wake_workers(p, tasks - 1);
  follow_phases(*slot);
  p.sequences.fetch_sub(1, std::memory_order_relaxed);
  slot->next.store(nullptr, std::memory_order_relaxed);
  slot->taken.store(false, std::memory_order_release);
}

}  // namespace tilewright::vm::cpu
