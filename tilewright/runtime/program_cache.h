// ProgramCache: bound segments by what they depend on, least recently used out first, bounded in bytes. Correctness
// never depends on it. Thread-safe; entries stay alive while a call uses them.
#pragma once

#include <list>
#include <memory>
#include <mutex>
#include <span>
#include <unordered_map>

#include "tilewright/runtime/binder.h"
#include "tilewright/runtime/program_memory.h"

namespace tilewright::runtime {

struct BoundSegment {
  std::pmr::vector<isa::Word> words{program_memory()};  // of a program that was verified
  std::int64_t scratch_bytes = 0;
  std::int64_t arena_bytes = 0;
  std::int64_t bytes_written = 0;    // to buffers, each time it runs
  int num_fused = 0, num_split = 0;  // speculations of each outcome
  std::unique_ptr<BindState> state;  // set when something after this segment reads it
  std::int64_t bytes() const;

  static std::shared_ptr<BoundSegment> make();
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
  using KeyView = std::span<const std::int64_t>;
  struct Entry {
    std::pmr::vector<std::int64_t> key;
    std::shared_ptr<const BoundSegment> segment;
    std::int64_t bytes;
  };
  struct Hash {
    std::size_t operator()(KeyView key) const;
  };
  struct Same {
    bool operator()(KeyView a, KeyView b) const;
  };
  void drop_oldest();

  std::mutex mutex_;
  std::pmr::list<Entry> entries_{program_memory()};  // most recent first
  // Keys are those of the entries.
  std::pmr::unordered_map<KeyView, std::pmr::list<Entry>::iterator, Hash, Same> index_{program_memory()};
  std::int64_t bytes_ = 0;
  std::int64_t limit_;
};

}  // namespace tilewright::runtime
