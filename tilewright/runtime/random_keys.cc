#include "tilewright/runtime/random_keys.h"

#include <sys/random.h>

#include <chrono>

namespace tilewright::runtime {
namespace {

// The output function of SplitMix64 (Steele, Lea, Flood 2014): neighbours become unrelated.
std::uint64_t mixed(std::uint64_t state) {
  state += 0x9e3779b97f4a7c15u;
  state = (state ^ state >> 30) * 0xbf58476d1ce4e5b9u;
  state = (state ^ state >> 27) * 0x94d049bb133111ebu;
  return state ^ state >> 31;
}

}  // namespace

RandomKeys::RandomKeys() : base_(0) {
  if (::getrandom(&base_, sizeof base_, GRND_NONBLOCK) != static_cast<ssize_t>(sizeof base_)) {
    base_ = static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
  }
}

std::array<std::int64_t, 2> RandomKeys::key(std::uint64_t call, std::string_view seed, std::uint64_t node) const {
  std::uint64_t start = base_ + mixed(node);
  if (!seed.empty()) {
    start = 0;
    for (const char digit : seed) start = start * 10 + static_cast<std::uint64_t>(digit - '0');
  }
  return {static_cast<std::int64_t>(mixed(mixed(start) + call)), 0};
}

}  // namespace tilewright::runtime
