// Counters of the process: what ran, what was encoded, what it cost. Cheap enough to keep always; read by stats().
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

namespace tilewright::runtime {

struct Stats {
  std::atomic<std::int64_t> calls{0};
  std::atomic<std::int64_t> launches{0};            // programs run
  std::atomic<std::int64_t> bytes_written{0};       // by programs, to buffers: intermediates, results, assigned inputs
  std::atomic<std::int64_t> machine_ns{0};          // wall time in those outside of loops and branches
  std::atomic<std::int64_t> speculations_fused{0};  // in programs run: one kernel, for their sizes agreed
  std::atomic<std::int64_t> speculations_split{0};  // or several
  std::atomic<std::int64_t> programs_encoded{0};
  std::atomic<std::int64_t> cache_hits{0};
  std::atomic<std::int64_t> guards_failed{0};
  std::atomic<std::int64_t> host_calls{0};
  std::atomic<std::int64_t> weights_packed{0};
  std::atomic<std::int64_t> packed_bytes{0};
  std::atomic<std::int64_t> cached_program_bytes{0};

  // The last kSamples encode times, in nanoseconds.
  static constexpr std::size_t kSamples = 4096;
  std::array<std::atomic<std::int64_t>, kSamples> encode_ns{};
  std::atomic<std::uint64_t> encode_count{0};
  std::atomic<std::int64_t> encode_total_ns{0};
  void add_encode_time(std::int64_t ns) {
    encode_total_ns.fetch_add(ns, std::memory_order_relaxed);
    encode_ns[encode_count.fetch_add(1, std::memory_order_relaxed) % kSamples].store(ns, std::memory_order_relaxed);
  }
};

Stats& stats();

}  // namespace tilewright::runtime
