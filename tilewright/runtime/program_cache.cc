#include "tilewright/runtime/program_cache.h"

#include <algorithm>

#include "tilewright/runtime/stats.h"

namespace tilewright::runtime {
namespace {

constexpr std::size_t kFirstBuckets = 16;

std::uint64_t hash_of(BoundSegment::Key key) {
  std::uint64_t hash = 0x9e3779b97f4a7c15u;
  for (std::int64_t word : key) {
    hash = (hash ^ static_cast<std::uint64_t>(word)) * 0xff51afd7ed558ccdu;
    hash ^= hash >> 32;
  }
  return hash;
}

}  // namespace

Stats& stats() {
  static Stats instance;
  return instance;
}

ProgramCache::~ProgramCache() {
  clear();
}

BoundSegment* ProgramCache::find_entry(std::uint64_t hash, BoundSegment::Key key) {
  if (buckets_.empty()) return nullptr;
  for (BoundSegment* entry = *bucket(hash); entry != nullptr; entry = entry->chain_) {
    if (entry->hash_ == hash && std::ranges::equal(entry->key(), key)) return entry;
  }
  return nullptr;
}

SegmentRef ProgramCache::find(const Key& key) {
  const std::uint64_t hash = hash_of(key);
  const std::lock_guard lock(mutex_);
  BoundSegment* entry = find_entry(hash, key);
  if (entry != nullptr && entry != newest_) {
    unlink(entry);
    make_newest(entry);
  }
  return SegmentRef(entry);
}

void ProgramCache::insert(const SegmentRef& segment) {
  const std::int64_t bytes = segment->bytes();
  const std::uint64_t hash = hash_of(segment->key());
  const std::lock_guard lock(mutex_);
  if (find_entry(hash, segment->key()) != nullptr) return;  // another thread was faster
  while (oldest_ != nullptr && bytes_ + bytes > limit_) drop_oldest();
  if (bytes > limit_) return;
  if (count_ >= buckets_.size()) grow();
  BoundSegment* entry = segment.get();
  entry->references_.fetch_add(1, std::memory_order_relaxed);
  entry->hash_ = hash;
  entry->chain_ = std::exchange(*bucket(hash), entry);
  make_newest(entry);
  ++count_;
  bytes_ += bytes;
  stats().cached_program_bytes += bytes;
}

void ProgramCache::unlink(BoundSegment* entry) {
  (entry->newer_ != nullptr ? entry->newer_->older_ : newest_) = entry->older_;
  (entry->older_ != nullptr ? entry->older_->newer_ : oldest_) = entry->newer_;
}

void ProgramCache::make_newest(BoundSegment* entry) {
  entry->newer_ = nullptr;
  entry->older_ = newest_;
  (newest_ != nullptr ? newest_->newer_ : oldest_) = entry;
  newest_ = entry;
}

void ProgramCache::drop_oldest() {
  BoundSegment* entry = oldest_;
  BoundSegment** link = bucket(entry->hash_);
  while (*link != entry) link = &(*link)->chain_;
  *link = entry->chain_;
  unlink(entry);
  --count_;
  const std::int64_t bytes = entry->bytes();
  bytes_ -= bytes;
  stats().cached_program_bytes -= bytes;
  const SegmentRef last(entry);
  entry->references_.fetch_sub(1, std::memory_order_relaxed);
}

void ProgramCache::grow() {
  buckets_.assign(std::max(2 * buckets_.size(), kFirstBuckets), nullptr);
  for (BoundSegment* entry = newest_; entry != nullptr; entry = entry->older_) {
    entry->chain_ = std::exchange(*bucket(entry->hash_), entry);
  }
}

void ProgramCache::clear() {
  const std::lock_guard lock(mutex_);
  while (oldest_ != nullptr) drop_oldest();
}

}  // namespace tilewright::runtime
