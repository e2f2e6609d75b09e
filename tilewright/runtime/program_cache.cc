#include "tilewright/runtime/program_cache.h"

#include <algorithm>

#include "tilewright/runtime/stats.h"

namespace tilewright::runtime {

Stats& stats() {
  static Stats instance;
  return instance;
}

std::int64_t BoundSegment::bytes() const {
  auto total = static_cast<std::int64_t>(sizeof *this + words.capacity() * sizeof(isa::Word));
  if (state) total += static_cast<std::int64_t>(state->views.capacity() * sizeof(View) + state->placed.capacity());
  return total;
}

std::shared_ptr<BoundSegment> BoundSegment::make() {
  return std::allocate_shared<BoundSegment>(std::pmr::polymorphic_allocator<BoundSegment>(program_memory()));
}

ProgramCache::~ProgramCache() {
  clear();
}

bool ProgramCache::Same::operator()(KeyView a, KeyView b) const {
  return std::ranges::equal(a, b);
}

std::size_t ProgramCache::Hash::operator()(KeyView key) const {
  std::uint64_t hash = 0x9e3779b97f4a7c15u;
  for (std::int64_t word : key) {
    hash = (hash ^ static_cast<std::uint64_t>(word)) * 0xff51afd7ed558ccdu;
    hash ^= hash >> 32;
  }
  return hash;
}

std::shared_ptr<const BoundSegment> ProgramCache::find(const Key& key) {
  const std::lock_guard lock(mutex_);
  const auto found = index_.find(key);
  if (found == index_.end()) return nullptr;
  entries_.splice(entries_.begin(), entries_, found->second);
  return found->second->segment;
}

void ProgramCache::insert(const Key& key, std::shared_ptr<const BoundSegment> segment) {
  const std::int64_t bytes = segment->bytes() + static_cast<std::int64_t>(key.size() * sizeof(std::int64_t) + 192);
  const std::lock_guard lock(mutex_);
  if (index_.contains(key)) return;  // another thread was faster
  while (!entries_.empty() && bytes_ + bytes > limit_) drop_oldest();
  if (bytes > limit_) return;
  entries_.push_front({{key.begin(), key.end(), program_memory()}, std::move(segment), bytes});
  index_[entries_.front().key] = entries_.begin();
  bytes_ += bytes;
  stats().cached_program_bytes += bytes;
}

void ProgramCache::drop_oldest() {
  const Entry& oldest = entries_.back();
  bytes_ -= oldest.bytes;
  stats().cached_program_bytes -= oldest.bytes;
  index_.erase(oldest.key);
  entries_.pop_back();
}

void ProgramCache::clear() {
  const std::lock_guard lock(mutex_);
  while (!entries_.empty()) drop_oldest();
}

}  // namespace tilewright::runtime
