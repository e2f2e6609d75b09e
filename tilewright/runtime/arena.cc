#include "tilewright/runtime/arena.h"

#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/sysinfo.h>

#include <algorithm>
#include <atomic>

namespace tilewright::runtime {
namespace {
constexpr std::int64_t kMost = std::int64_t{1} << 38;   // 256 GiB of address space
constexpr std::int64_t kLeast = std::int64_t{1} << 26;  // 64 MiB
constexpr std::int64_t kHugePage = 2 << 20;
#if defined(__SANITIZE_THREAD__)
constexpr std::int64_t kAddressSpace = std::int64_t{1} << 40;  // the sanitizer leaves 1.5 TiB
#else
constexpr std::int64_t kAddressSpace = std::int64_t{1} << 46;  // half of what x86-64 gives a process
#endif
std::atomic<std::int64_t> total{0};
std::atomic<std::int64_t> reserved{0};

// What all arenas together may reserve: half of a limit on the address space, so that the rest of the process has some.
std::int64_t budget() {
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return kAddressSpace;
  return std::min(kAddressSpace, static_cast<std::int64_t>(std::min<rlim_t>(limit.rlim_cur, INT64_MAX)) / 2);
}

// A call that needs more than the machine has is an error, not the end of the process.
std::int64_t memory_of_machine() {
  struct sysinfo facts {};
  if (sysinfo(&facts) != 0) return kMost;
  return static_cast<std::int64_t>(facts.totalram + facts.totalswap) * facts.mem_unit;
}

// A sixteenth of what is left, so that thousands of arenas find room; the first ones have all that a call can need.
std::int64_t wanted() {
  const std::int64_t left = budget() - reserved.load(std::memory_order_relaxed);
  const std::int64_t size = std::max(kLeast, std::min({kMost, memory_of_machine(), left / 16}));
  return size / kHugePage * kHugePage;
}
}  // namespace

std::int64_t Arena::total_resident() {
  return total.load(std::memory_order_relaxed);
}

void Arena::set_used(std::int64_t bytes) {
  total.fetch_add(bytes - used_, std::memory_order_relaxed);
  used_ = bytes;
}

Arena::Arena() {
  for (std::int64_t size = wanted(); size >= kLeast; size /= 4) {
    void* memory = mmap(nullptr, static_cast<std::size_t>(size), PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) continue;
    base_ = static_cast<std::byte*>(memory);
    capacity_ = size;
    reserved.fetch_add(size, std::memory_order_relaxed);
    madvise(base_, static_cast<std::size_t>(size), MADV_DONTFORK);
    return;
  }
}

Arena::~Arena() {
  set_used(0);
  reserved.fetch_sub(capacity_, std::memory_order_relaxed);
  if (base_ != nullptr) munmap(base_, static_cast<std::size_t>(capacity_));
}

bool Arena::ensure(std::int64_t bytes) {
  if (bytes > capacity_) return false;
  if (bytes > used_) {
    // Large working sets use 2 MB pages; small ones do not pay for one.
    if (bytes >= 2 * kHugePage) madvise(base_, static_cast<std::size_t>(bytes), MADV_HUGEPAGE);
    set_used(bytes);
  }
  return true;
}

void Arena::trim(std::int64_t keep) {
  keep = (keep + kHugePage - 1) / kHugePage * kHugePage;
  if (used_ <= keep) return;
  madvise(base_ + keep, static_cast<std::size_t>(std::min(capacity_, used_ + kHugePage) - keep), MADV_DONTNEED);
  set_used(keep);
}

void Arena::end_call(std::int64_t bytes) {
  window_peak_ = std::max(window_peak_, bytes);
  if (++window_calls_ < kWindow) return;
  if (used_ > 2 * window_peak_ + kHugePage) trim(window_peak_);
  window_peak_ = 0;
  window_calls_ = 0;
}

}  // namespace tilewright::runtime
