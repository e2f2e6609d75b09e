// The counters of the process at one moment, as plain numbers.
#pragma once

#include <cstdint>

namespace tilewright {

struct StatsSnapshot {
  std::int64_t calls = 0;               // of models and sessions, regions included
  std::int64_t launches = 0;            // programs run
  std::int64_t bytes_written = 0;       // by programs, to buffers
  std::int64_t machine_ns = 0;          // wall time that the machine took for those outside of loops and branches
  std::int64_t speculations_fused = 0;  // in programs run: kernels that were one, for their sizes agreed
  std::int64_t speculations_split = 0;  // or several
  std::int64_t programs_encoded = 0;
  std::int64_t cache_hits = 0;     // programs found ready
  std::int64_t guards_failed = 0;  // calls refused for a size
  std::int64_t host_calls = 0;
  std::int64_t weights_packed = 0;
  std::int64_t packed_bytes = 0;  // packed weights in memory
  std::int64_t cached_program_bytes = 0;
  std::int64_t arena_bytes = 0;     // intermediate values: memory of all arenas
  std::int64_t resident_bytes = 0;  // memory of the whole process
  // Time to bind and encode a program, thread CPU time in nanoseconds, over the last 4096; 0 if there were none.
  std::int64_t encode_p50_ns = 0, encode_p90_ns = 0, encode_p99_ns = 0, encode_max_ns = 0;
  std::int64_t encode_total_ns = 0;  // of all programs
};

StatsSnapshot stats_snapshot();

}  // namespace tilewright
