// Arena: the memory of one call context. Address space is reserved once and touched as needed, so growing never moves
// what is already there. trim() gives the pages beyond a size back. Not thread-safe: one context, one arena.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tilewright::runtime {

class Arena {
 public:
  Arena();
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  std::byte* base() const { return base_; }
  std::int64_t capacity() const { return capacity_; }  // address space, not memory
  std::int64_t resident() const { return used_; }      // high water since the last trim
  bool ensure(std::int64_t bytes);                     // false: more than the address space holds
  void trim(std::int64_t keep);
  // Ends a call that used `bytes`: every kWindow calls, what none of them used goes back to the system.
  void end_call(std::int64_t bytes);
  static std::int64_t total_resident();  // of all arenas of the process

 private:
  static constexpr int kWindow = 256;
  void set_used(std::int64_t bytes);

  std::byte* base_ = nullptr;
  std::int64_t capacity_ = 0;
  std::int64_t used_ = 0;
  std::int64_t window_peak_ = 0;
  int window_calls_ = 0;
};

}  // namespace tilewright::runtime
