// ProgramCache: bound segments by what they depend on, least recently used out first, bounded in bytes. Correctness
// never depends on it. Thread-safe; entries stay alive while a call uses them. The entries are the links of its table
// and of its list: a look-up at a new shape touches one bucket, an insertion the newest entry and the oldest.
#pragma once

#include <mutex>
#include <vector>

#include "tilewright/runtime/bound_segment.h"

namespace tilewright::runtime {

class ProgramCache {
 public:
  explicit ProgramCache(std::int64_t limit_bytes) : limit_(limit_bytes) {}
  ~ProgramCache();

  using Key = std::vector<std::int64_t>;
  SegmentRef find(const Key& key);
  void insert(const SegmentRef& segment);
  void clear();

 private:
  BoundSegment** bucket(std::uint64_t hash) { return &buckets_[hash & (buckets_.size() - 1)]; }
  BoundSegment* find_entry(std::uint64_t hash, BoundSegment::Key key);
  void unlink(BoundSegment* entry);
  void make_newest(BoundSegment* entry);
  void drop_oldest();
  void grow();

  std::mutex mutex_;
  std::vector<BoundSegment*> buckets_;  // a power of two, or none yet
  std::size_t count_ = 0;
  BoundSegment *newest_ = nullptr, *oldest_ = nullptr;
  std::int64_t bytes_ = 0;
  std::int64_t limit_;
};

}  // namespace tilewright::runtime
