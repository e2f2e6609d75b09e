// Philox 4x32-10: the counter-based random generator of J. Salmon, M. Moraes, R. Dror and D. Shaw, "Parallel random
// numbers: as easy as 1, 2, 3" (SC 2011). Stateless: an element depends on seed, offset and its position alone, so that
// the oracle and every VM agree, in any order and on any number of threads.
//
// The stream of 32-bit words of (seed, offset): word j is output j % 4 of the block with counter offset + j / 4 (64
// bits, in counter words 0 and 1; words 2 and 3 are 0) and key seed (low half, high half).
//
// Bits of row-major element i of a random tensor:
// - 32 bits, for i32, f32, f16, bf16: word i.
// - 64 bits, for i64, f64: words 2i (low half) and 2i + 1 (high half).
//
// Uniform numbers, exact and in [0, 1), of bits w:
// - f32 is (w >> 8) * 2^-24, f16 is (w >> 21) * 2^-11, bf16 is (w >> 24) * 2^-8, f64 is (w >> 11) * 2^-53.
//
// Normal numbers (Box and Muller 1958), by pairs of elements 2p and 2p + 1:
// - u is the uniform number of element 2p plus its smallest step, in (0, 1]; v is the uniform number of 2p + 1.
// - Element 2p is sqrt(-2 ln u) cos(2 pi v), element 2p + 1 is sqrt(-2 ln u) sin(2 pi v).
// - f16 and bf16 take the f32 numbers and round.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <numbers>

#include "tilewright/tensor/dtype.h"

namespace tilewright {

using PhiloxBlock = std::array<std::uint32_t, 4>;

constexpr PhiloxBlock philox(PhiloxBlock counter, std::array<std::uint32_t, 2> key) {
  constexpr std::uint64_t kMultiplier0 = 0xD2511F53;
  constexpr std::uint64_t kMultiplier1 = 0xCD9E8D57;
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t product0 = kMultiplier0 * counter[0];
    const std::uint64_t product1 = kMultiplier1 * counter[2];
    counter = {static_cast<std::uint32_t>(product1 >> 32) ^ counter[1] ^ key[0], static_cast<std::uint32_t>(product1),
               static_cast<std::uint32_t>(product0 >> 32) ^ counter[3] ^ key[1], static_cast<std::uint32_t>(product0)};
    key = {key[0] + 0x9E3779B9u, key[1] + 0xBB67AE85u};
  }
  return counter;
}

// Words of the stream of a seed and an offset.
struct RandomStream {
  std::uint64_t seed = 0;
  std::uint64_t offset = 0;

  constexpr PhiloxBlock block(std::uint64_t index) const {
    const std::uint64_t counter = offset + index;
    return philox({static_cast<std::uint32_t>(counter), static_cast<std::uint32_t>(counter >> 32), 0, 0},
                  {static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)});
  }
  constexpr std::uint32_t word(std::uint64_t j) const { return block(j / 4)[j % 4]; }
  constexpr std::uint32_t bits32(std::uint64_t i) const { return word(i); }
  constexpr std::uint64_t bits64(std::uint64_t i) const {
    return word(2 * i) | static_cast<std::uint64_t>(word(2 * i + 1)) << 32;
  }
};

constexpr float uniform_f32(std::uint32_t bits) {
  return static_cast<float>(bits >> 8) * 0x1p-24f;
}
constexpr float uniform_f16(std::uint32_t bits) {
  return static_cast<float>(bits >> 21) * 0x1p-11f;
}
constexpr float uniform_bf16(std::uint32_t bits) {
  return static_cast<float>(bits >> 24) * 0x1p-8f;
}
constexpr double uniform_f64(std::uint64_t bits) {
  return static_cast<double>(bits >> 11) * 0x1p-53;
}

// The normal number of an element from the uniform numbers of its pair; `odd` for the second of the two. In double; a
// VM that computes in f32 differs in the last digits.
inline double box_muller(double u, double v, bool odd) {
  const double radius = std::sqrt(-2 * std::log(u));
  const double angle = 2 * std::numbers::pi * v;
  return radius * (odd ? std::sin(angle) : std::cos(angle));
}

inline double normal_f32(const RandomStream& stream, std::uint64_t i) {
  const std::uint64_t even = i & ~std::uint64_t{1};
  return box_muller(uniform_f32(stream.bits32(even)) + 0x1p-24f, uniform_f32(stream.bits32(even + 1)), (i & 1) != 0);
}

inline double normal_f64(const RandomStream& stream, std::uint64_t i) {
  const std::uint64_t even = i & ~std::uint64_t{1};
  return box_muller(uniform_f64(stream.bits64(even)) + 0x1p-53, uniform_f64(stream.bits64(even + 1)), (i & 1) != 0);
}

// Element i of a tensor of a float dtype. f16 and bf16 are drawn on grids of their own; a normal number narrower than
// f64 is one of f32.
inline double uniform_of(DType dtype, const RandomStream& stream, std::uint64_t i) {
  switch (dtype) {
    case DType::kF64:
      return uniform_f64(stream.bits64(i));
    case DType::kF16:
      return uniform_f16(stream.bits32(i));
    case DType::kBF16:
      return uniform_bf16(stream.bits32(i));
    default:
      return uniform_f32(stream.bits32(i));
  }
}
inline double normal_of(DType dtype, const RandomStream& stream, std::uint64_t i) {
  if (dtype == DType::kF64) return normal_f64(stream, i);
  return static_cast<double>(static_cast<float>(normal_f32(stream, i)));
}

}  // namespace tilewright
