#include "tilewright/runtime/arena.h"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>

namespace tilewright::runtime {
namespace {
constexpr std::int64_t kWanted = std::int64_t{1} << 38;  // 256 GiB of address space
constexpr std::int64_t kLeast = std::int64_t{1} << 30;
constexpr std::int64_t kHugePage = 2 << 20;
std::atomic<std::int64_t> total{0};
}  // namespace

std::int64_t Arena::total_resident() {
  return total.load(std::memory_order_relaxed);
}

void Arena::set_used(std::int64_t bytes) {
  total.fetch_add(bytes - used_, std::memory_order_relaxed);
  used_ = bytes;
}

Arena::Arena() {
  for (std::int64_t size = kWanted; size >= kLeast; size /= 4) {
    void* memory = mmap(nullptr, static_cast<std::size_t>(size), PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) continue;
    base_ = static_cast<std::byte*>(memory);
    capacity_ = size;
    madvise(base_, static_cast<std::size_t>(size), MADV_DONTFORK);
    return;
  }
}

Arena::~Arena() {
  set_used(0);
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
