// ProgramCache: bound segments by what they depend on, least recently used out first, bounded in bytes. Correctness
// never depends on it. Thread-safe; entries stay alive while a call uses them.
#pragma once

#include <list>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "tilewright/runtime/binder.h"

namespace tilewright::runtime {

struct BoundSegment {
  isa::Program program;
  std::int64_t arena_bytes = 0;
  std::int64_t bytes_written = 0;    // to buffers, each time it runs
  std::unique_ptr<BindState> state;  // set when something after this segment reads it
  std::int64_t bytes() const;
};

class ProgramCache {
 public:
  explicit ProgramCache(std::int64_t limit_bytes) : limit_(limit_bytes) {}
  ~ProgramCache();

  using Key = std::vector<std::int64_t>;
  std::shared_ptr<const BoundSegment> find(const Key& key);
  void insert(const Key& key, std::shared_ptr<const BoundSegment> segment);
  void clear();

 private:
  struct Entry {
    Key key;
    std::shared_ptr<const BoundSegment> segment;
    std::int64_t bytes;
  };
  struct Hash {
    std::size_t operator()(const Key& key) const;
  };
  void drop_oldest();

  std::mutex mutex_;
  std::list<Entry> entries_;  // most recent first
  std::unordered_map<Key, std::list<Entry>::iterator, Hash> index_;
  std::int64_t bytes_ = 0;
  std::int64_t limit_;
};

}  // namespace tilewright::runtime
