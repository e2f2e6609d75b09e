// ResultMemory: memory of results, taken again once its owner has let go. A page that the process has touched costs
// nothing at its second use, while a fresh one costs a fault, about as long as computing its 4 KiB several times over.
// Invariants: what is kept free is at most the largest sum of live results of late, or kAlwaysKept; a block serves
// requests of at least half its size, so that a result holds no more than twice its bytes. Thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

namespace tilewright::runtime {

class ResultMemory {
 public:
  static constexpr std::size_t kPooled = 32 << 10;  // smaller ones are the allocator's
  static constexpr std::size_t kAlwaysKept = 8 << 20;

  ~ResultMemory();
  // 64-byte aligned, not initialised; null: the system has no more. The pool outlives what it gives.
  std::shared_ptr<void> take(std::size_t bytes);
  void trim();  // frees what is not in use
  std::size_t kept() const;

  static ResultMemory& of_process();

 private:
  static constexpr std::uint64_t kWindow = 256;  // requests
  struct Block {
    void* memory;
    std::size_t capacity;
    std::uint64_t freed_at;
  };

  void* find(std::size_t bytes, std::size_t& capacity);
  void give(void* memory, std::size_t capacity);
  void drop_oldest(std::size_t limit);

  mutable std::mutex mutex_;
  std::vector<Block> free_;  // by capacity
  std::size_t live_ = 0, kept_ = 0;
  std::size_t peak_ = 0, last_peak_ = 0;  // of live_, in this window and the one before
  std::uint64_t requests_ = 0;
};

}  // namespace tilewright::runtime
