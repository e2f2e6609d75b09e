// Keys of random numbers: every call of a model gets a number, and every node that draws a key made of that number and
// its seed. Without a seed, keys differ from process to process. The graphs of one model share a RandomKeys, so that a
// graph that answers a question draws what the whole model draws.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string_view>

namespace tilewright::runtime {

class RandomKeys {
 public:
  RandomKeys();
  std::uint64_t next_call() { return calls_.fetch_add(1, std::memory_order_relaxed); }
  // `seed` in decimal digits; empty: `node` tells this node from others.
  std::array<std::int64_t, 2> key(std::uint64_t call, std::string_view seed, std::uint64_t node) const;

 private:
  std::uint64_t base_;
  std::atomic<std::uint64_t> calls_{0};
};

}  // namespace tilewright::runtime
