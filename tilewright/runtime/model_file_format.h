// The fields of a model file, little endian. A u64 is 8 bytes; a string its length as u64 and its bytes.
//   "TWM1" | version u32 | checksum of the head behind these 16 bytes | bytes of the head u64 | bytes of the file u64
//   metadata: count, then key and value each               strings
//   output strides: count, then per output count and that many expressions as strings
//   tensors: count, how many of them are weights (the others are long constants of the graph, "@0" is the first of
//   those),
//            then each: name string | dtype u64 | rank u64 | sizes u64.. | offset in the file u64 | checksum u64
//   the graph as a string
//   zeros up to a multiple of 64, where the head ends
//   the tensors in order, each row-major at the next multiple of 64, zeros between them; the file ends with the last
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace tilewright::runtime::model_format {

static_assert(std::endian::native == std::endian::little, "numbers are stored as they lie in memory");

inline constexpr char kMagic[4] = {'T', 'W', 'M', '1'};
inline constexpr std::uint32_t kVersion = 1;
inline constexpr std::size_t kSumEnd = 16;     // what the head's checksum covers begins here
inline constexpr std::size_t kHeadStart = 32;  // metadata
inline constexpr std::size_t kAlignment = 64;

constexpr std::uint64_t aligned(std::uint64_t at) {
  return (at + kAlignment - 1) / kAlignment * kAlignment;
}

inline std::uint64_t read_u64(const std::byte* from) {
  std::uint64_t value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

// Each step maps the state one to one for a given word and each word one to one for a given state, so that any single
// changed word changes the sum. Four states side by side keep up with memory.
constexpr std::uint64_t mixed(std::uint64_t state, std::uint64_t word) {
  state = (state ^ word) * 0xff51afd7ed558ccdu;
  return state ^ state >> 32;
}

inline std::uint64_t checksum(std::span<const std::byte> bytes) {
  constexpr std::size_t kLanes = 4;
  std::uint64_t state[kLanes];
  for (std::size_t lane = 0; lane < kLanes; ++lane) state[lane] = (bytes.size() + lane) * 0x9e3779b97f4a7c15u;
  std::size_t at = 0;
  for (; at + 8 * kLanes <= bytes.size(); at += 8 * kLanes) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) state[lane] = mixed(state[lane], read_u64(&bytes[at + 8 * lane]));
  }
  for (; at < bytes.size(); at += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, &bytes[at], bytes.size() - at < 8 ? bytes.size() - at : 8);
    state[0] = mixed(state[0], word);
  }
  for (std::size_t lane = 1; lane < kLanes; ++lane) state[0] = mixed(state[0], state[lane]);
  return state[0];
}

}  // namespace tilewright::runtime::model_format
