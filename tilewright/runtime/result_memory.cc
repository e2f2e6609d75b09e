#include "tilewright/runtime/result_memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace tilewright::runtime {
namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kHugePage = 2 << 20;

std::size_t round_up(std::size_t bytes, std::size_t step) {
  return (bytes + step - 1) / step * step;
}

// Large blocks lie on 2 MB pages where the system has them.
void* new_block(std::size_t capacity) {
  if (capacity < 2 * kHugePage) return std::aligned_alloc(kPage, capacity);
  void* memory = std::aligned_alloc(kHugePage, capacity);
  if (memory != nullptr) madvise(memory, capacity, MADV_HUGEPAGE);
  return memory;
}

}  // namespace

ResultMemory& ResultMemory::of_process() {
  static auto* const memory = new ResultMemory;  // never destroyed: results may outlive the statics
  return *memory;
}

ResultMemory::~ResultMemory() {
  trim();
}

std::shared_ptr<void> ResultMemory::take(std::size_t bytes) {
  if (bytes < kPooled) {
    void* memory = std::aligned_alloc(64, round_up(bytes + 1, 64));
    return memory == nullptr ? nullptr : std::shared_ptr<void>(memory, std::free);
  }
  if (bytes > SIZE_MAX / 2) return nullptr;
  std::size_t capacity = round_up(bytes, bytes < 2 * kHugePage ? kPage : kHugePage);
  void* memory = find(bytes, capacity);
  if (memory == nullptr) memory = new_block(capacity);
  if (memory == nullptr) {
    trim();
    memory = new_block(capacity);
  }
  if (memory == nullptr) {
    const std::scoped_lock lock(mutex_);
    live_ -= capacity;
    return nullptr;
  }
  return std::shared_ptr<void>(memory, [this, capacity](void* block) { give(block, capacity); });
}

// A free block that fits; null: none, `capacity` is what to ask of the system. Either way it counts as live.
void* ResultMemory::find(std::size_t bytes, std::size_t& capacity) {
  const std::scoped_lock lock(mutex_);
  if (++requests_ % kWindow == 0) {
    last_peak_ = std::exchange(peak_, live_);
    drop_oldest(std::max(last_peak_, kAlwaysKept));
  }
  const auto found = std::ranges::lower_bound(free_, bytes, {}, &Block::capacity);
  void* memory = nullptr;
  if (found != free_.end() && found->capacity <= 2 * capacity) {
    memory = found->memory;
    capacity = found->capacity;
    kept_ -= capacity;
    free_.erase(found);
  }
  live_ += capacity;
  peak_ = std::max(peak_, live_);
  return memory;
}

void ResultMemory::give(void* memory, std::size_t capacity) {
  const std::scoped_lock lock(mutex_);
  live_ -= capacity;
  kept_ += capacity;
  const auto place = std::ranges::lower_bound(free_, capacity, {}, &Block::capacity);
  free_.insert(place, {memory, capacity, requests_});
  drop_oldest(std::max({peak_, last_peak_, kAlwaysKept}));
}

void ResultMemory::drop_oldest(std::size_t limit) {
  while (kept_ > limit) {
    const auto oldest = std::ranges::min_element(free_, {}, &Block::freed_at);
    kept_ -= oldest->capacity;
    std::free(oldest->memory);
    free_.erase(oldest);
  }
}

void ResultMemory::trim() {
  const std::scoped_lock lock(mutex_);
  drop_oldest(0);
}

std::size_t ResultMemory::kept() const {
  const std::scoped_lock lock(mutex_);
  return kept_;
}

}  // namespace tilewright::runtime
