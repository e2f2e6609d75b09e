// For fuzz tests of readers: how long each runs, random numbers per round, and damage to bytes. TILEWRIGHT_FUZZ_SECONDS
// is the time of each (5), TILEWRIGHT_FUZZ_SEED the number of its first round. A round depends on its number alone;
// when one ends the process, a sanitizer's report or an abort is followed by the line that repeats it.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <random>
#include <string>
#include <string_view>
#include <vector>

extern "C" void __sanitizer_set_death_callback(void (*callback)()) __attribute__((weak));

namespace tilewright::testing {

inline std::uint64_t number_of_environment(const char* name, std::uint64_t otherwise) {
  const char* given = std::getenv(name);
  return given != nullptr ? std::strtoull(given, nullptr, 10) : otherwise;
}

// for (FuzzRun run; run.next();) { .. run.random() .. }
class FuzzRun {
 public:
  // A round of more than `slowest` seconds is a failure: no damage may make a reader slow.
  explicit FuzzRun(double slowest = 10) : slowest_(slowest) {
    current() = first_;
    if (__sanitizer_set_death_callback != nullptr) __sanitizer_set_death_callback(tell);
    std::signal(SIGABRT, [](int signal) {
      tell();
      std::signal(signal, SIG_DFL);
    });
  }
  ~FuzzRun() {
    std::signal(SIGABRT, SIG_DFL);
    if (__sanitizer_set_death_callback != nullptr) __sanitizer_set_death_callback(nullptr);
  }

  bool next() {
    const double took = cpu_seconds() - began_;
    if (rounds_ > 0 && took > slowest_) ADD_FAILURE() << "a round took " << took << " s of the processor; " << hint();
    began_ = cpu_seconds();
    const auto now = Clock::now();
    if (rounds_ > 0 && (now >= end_ || ::testing::Test::HasFailure())) {
      if (::testing::Test::HasFailure()) std::fprintf(stderr, "%s\n", hint().c_str());
      return false;
    }
    current() = first_ + rounds_++;
    noted().clear();
    random_.seed(current());
    return true;
  }

  std::uint64_t random() { return random_(); }
  std::uint64_t below(std::uint64_t limit) { return random_() % limit; }
  std::mt19937_64& engine() { return random_; }
  void note(std::string input) { noted() = std::move(input); }  // printed if the round ends the process
  std::uint64_t rounds() const { return rounds_; }
  static std::string hint() { return "TILEWRIGHT_FUZZ_SEED=" + std::to_string(current()) + " begins with this round"; }

 private:
  using Clock = std::chrono::steady_clock;
  static double cpu_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }
  static std::uint64_t& current() {
    static std::uint64_t round = 0;
    return round;
  }
  static std::string& noted() {
    static std::string input;
    return input;
  }
  static void tell() { std::fprintf(stderr, "\n%s\n%s\n", noted().c_str(), hint().c_str()); }

  std::uint64_t first_ = number_of_environment("TILEWRIGHT_FUZZ_SEED", 1);
  std::uint64_t rounds_ = 0;
  double slowest_;
  double began_ = 0;
  Clock::time_point end_ = Clock::now() + std::chrono::seconds(number_of_environment("TILEWRIGHT_FUZZ_SECONDS", 5));
  std::mt19937_64 random_;
};

// Changes a few places of `bytes` (a string, or a vector of bytes): flipped bits, other bytes, pieces that are gone,
// doubled or moved, and the numbers that readers stumble over.
template <typename Bytes>
void damage(Bytes& bytes, FuzzRun& run) {
  using Byte = typename Bytes::value_type;
  static constexpr std::uint64_t kNumbers[] = {0,          1,
                                               0x7f,       0x80,
                                               0xff,       0xffff,
                                               0x7fffffff, 0x80000000,
                                               0xffffffff, std::uint64_t{1} << 40,
                                               INT64_MAX,  std::uint64_t{1} << 63,
                                               UINT64_MAX};
  for (std::uint64_t changes = 1 + run.below(4); changes > 0; --changes) {
    if (bytes.empty()) bytes.resize(1);
    const std::size_t at = run.below(bytes.size());
    const std::size_t length = std::min<std::size_t>(1 + run.below(12), bytes.size() - at);
    const auto place = [&](std::size_t i) { return bytes.begin() + static_cast<std::ptrdiff_t>(i); };
    switch (run.below(7)) {
      case 0:
        bytes[at] = static_cast<Byte>(run.random());
        break;
      case 1:
        bytes[at] = static_cast<Byte>(static_cast<unsigned>(bytes[at]) ^ 1u << run.below(8));
        break;
      case 2:
        bytes.erase(place(at), place(at + length));
        break;
      case 3:
        bytes.insert(place(at), length, static_cast<Byte>(run.below(4) == 0 ? run.random() : 0));
        break;
      case 4: {
        const std::vector<Byte> piece(place(at), place(at + length));
        const std::size_t to = run.below(bytes.size());
        bytes.insert(place(to), piece.begin(), piece.end());
        break;
      }
      case 5: {
        const std::uint64_t number = kNumbers[run.below(std::size(kNumbers))] + run.below(3) - 1;
        const std::size_t size = std::min<std::size_t>(std::size_t{1} << run.below(4), bytes.size() - at);
        std::memcpy(&bytes[at], &number, size);
        break;
      }
      default:
        if (run.below(8) == 0) bytes.resize(at);
    }
  }
}

}  // namespace tilewright::testing
