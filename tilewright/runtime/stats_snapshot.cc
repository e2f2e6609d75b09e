#include "tilewright/runtime/stats_snapshot.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "tilewright/runtime/arena.h"
#include "tilewright/runtime/stats.h"

namespace tilewright {
namespace {

// The second number of statm: pages in memory. 0 where the system does not say.
std::int64_t resident_bytes() {
  char text[128] = {};
  const int file = ::open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  const ssize_t length = ::read(file, text, sizeof text - 1);
  ::close(file);
  if (length <= 0) return 0;
  char* end = nullptr;
  std::strtoll(text, &end, 10);
  return std::strtoll(end, nullptr, 10) * sysconf(_SC_PAGESIZE);
}

}  // namespace

StatsSnapshot stats_snapshot() {
  const runtime::Stats& now = runtime::stats();
  StatsSnapshot out;
  out.calls = now.calls;
  out.launches = now.launches;
  out.machine_ns = now.machine_ns;
  out.speculations_fused = now.speculations_fused;
  out.speculations_split = now.speculations_split;
  out.programs_encoded = now.programs_encoded;
  out.bytes_written = now.bytes_written;
  out.cache_hits = now.cache_hits;
  out.guards_failed = now.guards_failed;
  out.host_calls = now.host_calls;
  out.weights_packed = now.weights_packed;
  out.packed_bytes = now.packed_bytes;
  out.cached_program_bytes = now.cached_program_bytes;
  out.arena_bytes = runtime::Arena::total_resident();
  out.resident_bytes = resident_bytes();
  out.encode_total_ns = now.encode_total_ns;
  const std::size_t count = std::min<std::size_t>(now.encode_count, runtime::Stats::kSamples);
  std::vector<std::int64_t> times;
  times.reserve(count);
  for (std::size_t i = 0; i < count; ++i) times.push_back(now.encode_ns[i].load(std::memory_order_relaxed));
  if (times.empty()) return out;
  std::sort(times.begin(), times.end());
  out.encode_p50_ns = times[(times.size() - 1) / 2];
  out.encode_p90_ns = times[(times.size() - 1) * 9 / 10];
  out.encode_p99_ns = times[(times.size() - 1) * 99 / 100];
  out.encode_max_ns = times.back();
  return out;
}

}  // namespace tilewright
