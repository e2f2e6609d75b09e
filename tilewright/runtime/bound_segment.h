// BoundSegment: a segment that was bound and encoded for the sizes in its key. One block of program memory holds it
// with its key and its words, because a call at a new shape finds nothing of it in the caches. Shared by the cache and
// the calls that run it; its content stays as it is once it is shared.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "tilewright/isa/program.h"

namespace tilewright::runtime {

struct BindState;
class SegmentRef;

class BoundSegment {
 public:
  using Key = std::span<const std::int64_t>;

  static SegmentRef make(Key key, std::span<const isa::Word> words);

  Key key() const { return {reinterpret_cast<const std::int64_t*>(this + 1), num_key_}; }
  // Of a program that was verified.
  std::span<const isa::Word> words() const {
    return {reinterpret_cast<const isa::Word*>(reinterpret_cast<const std::int64_t*>(this + 1) + num_key_), num_words_};
  }
  std::int64_t bytes() const;  // of memory

  std::int64_t scratch_bytes = 0;
  std::int64_t arena_bytes = 0;
  std::int64_t bytes_written = 0;    // to buffers, each time it runs
  int num_fused = 0, num_split = 0;  // speculations of each outcome
  std::unique_ptr<BindState> state;  // set when something after this segment reads it

 private:
  friend class SegmentRef;
  friend class ProgramCache;
  BoundSegment(Key key, std::span<const isa::Word> words);
  ~BoundSegment();
  void drop() const;  // the last reference is gone
  static std::size_t block_bytes(std::size_t num_key, std::size_t num_words);

  mutable std::atomic<std::uint32_t> references_{0};
  std::uint32_t num_key_, num_words_;
  // Of the cache that holds it, under its lock:
  std::uint64_t hash_ = 0;
  BoundSegment *chain_ = nullptr, *newer_ = nullptr, *older_ = nullptr;
};

// Holds a segment.
class SegmentRef {
 public:
  SegmentRef() = default;
  explicit SegmentRef(BoundSegment* segment) : segment_(segment) { hold(); }
  SegmentRef(const SegmentRef& other) : segment_(other.segment_) { hold(); }
  SegmentRef(SegmentRef&& other) noexcept : segment_(std::exchange(other.segment_, nullptr)) {}
  SegmentRef& operator=(SegmentRef other) noexcept {
    std::swap(segment_, other.segment_);
    return *this;
  }
  ~SegmentRef() {
    if (segment_ != nullptr && segment_->references_.fetch_sub(1, std::memory_order_acq_rel) == 1) segment_->drop();
  }

  explicit operator bool() const { return segment_ != nullptr; }
  const BoundSegment& operator*() const { return *segment_; }
  const BoundSegment* operator->() const { return segment_; }
  BoundSegment* get() const { return segment_; }  // to fill it before it is shared
  bool operator==(const SegmentRef&) const = default;

 private:
  void hold() const {
    if (segment_ != nullptr) segment_->references_.fetch_add(1, std::memory_order_relaxed);
  }
  BoundSegment* segment_ = nullptr;
};

}  // namespace tilewright::runtime
