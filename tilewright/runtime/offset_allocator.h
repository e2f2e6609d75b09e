// Places blocks in an address range that is only numbers: best fit among the holes, else at the end. Used at bind time
// to lay out the arena; the same requests give the same offsets. Nothing is allocated once the hole list is warm.
#pragma once

#include <cstdint>
#include <vector>

namespace tilewright::runtime {

class OffsetAllocator {
 public:
  static constexpr std::int64_t kAlignment = 64;

  void reset();
  std::int64_t allocate(std::int64_t bytes);
  void release(std::int64_t offset, std::int64_t bytes);
  std::int64_t end() const { return high_water_; }  // bytes that all placements so far need

 private:
  struct Hole {
    std::int64_t offset, bytes;
  };
  static std::int64_t rounded(std::int64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

  std::vector<Hole> holes_;  // sorted by offset, never adjacent
  std::int64_t top_ = 0;
  std::int64_t high_water_ = 0;
};

}  // namespace tilewright::runtime
