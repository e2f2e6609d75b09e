#include "tilewright/tensor/half.h"

#include <gtest/gtest.h>

#include <cmath>

namespace tilewright {
namespace {

// The value of a binary16 from its definition.
double half_value(std::uint16_t bits) {
  const int exponent = (bits >> 10) & 31;
  const int mantissa = bits & 1023;
  const double sign = (bits & 0x8000) != 0 ? -1 : 1;
  if (exponent == 31) return mantissa != 0 ? std::nan("") : sign * INFINITY;
  return sign * (exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(1024 + mantissa, exponent - 25));
}
Half half(std::uint16_t bits) {
  Half out;
  out.bits = bits;
  return out;
}

TEST(Half, EveryValueWidensExactly) {
  for (std::uint32_t bits = 0; bits < 65536; ++bits) {
    const double expected = half_value(static_cast<std::uint16_t>(bits));
    const float widened = half(static_cast<std::uint16_t>(bits));
    if (std::isnan(expected)) {
      ASSERT_TRUE(std::isnan(widened)) << bits;
    } else {
      ASSERT_EQ(static_cast<double>(widened), expected) << bits;
      ASSERT_EQ(std::signbit(widened), (bits & 0x8000) != 0) << bits;
    }
  }
}
TEST(Half, EveryValueComesBack) {
  for (std::uint32_t bits = 0; bits < 65536; ++bits) {
    const float widened = half(static_cast<std::uint16_t>(bits));
    const std::uint16_t back = half_bits_from_float(widened);
    if (std::isnan(widened))
      ASSERT_TRUE(std::isnan(static_cast<float>(half(back)))) << bits;
    else
      ASSERT_EQ(back, bits);
  }
}
// Half way between two neighbours goes to the even one; a step of float on either side goes to the nearer one.
TEST(Half, NarrowingRoundsToNearestEven) {
  for (std::uint32_t bits = 0; bits < 0x7bff; ++bits) {
    const float low = half(static_cast<std::uint16_t>(bits)), high = half(static_cast<std::uint16_t>(bits + 1));
    const float middle = (low + high) / 2;
    ASSERT_EQ(half_bits_from_float(middle), bits + (bits & 1)) << bits;
    ASSERT_EQ(half_bits_from_float(std::nextafter(middle, low)), bits) << bits;
    ASSERT_EQ(half_bits_from_float(std::nextafter(middle, high)), bits + 1) << bits;
    ASSERT_EQ(half_bits_from_float(-middle), (bits + (bits & 1)) | 0x8000) << bits;
  }
}
TEST(Half, TooLargeIsInfinite) {
  EXPECT_EQ(half_bits_from_float(65519.996f), 0x7bff);
  EXPECT_EQ(half_bits_from_float(65520.0f), 0x7c00);
  EXPECT_EQ(half_bits_from_float(-1e30f), 0xfc00);
}
TEST(BFloat16, EveryValueComesBack) {
  for (std::uint32_t bits = 0; bits < 65536; ++bits) {
    BFloat16 value;
    value.bits = static_cast<std::uint16_t>(bits);
    const float widened = value;
    if (std::isnan(widened))
      ASSERT_TRUE(std::isnan(static_cast<float>(BFloat16(widened)))) << bits;
    else
      ASSERT_EQ(BFloat16(widened).bits, bits);
  }
}
TEST(BFloat16, NarrowingRoundsToNearestEven) {
  for (std::uint32_t bits = 0; bits < 0x7f7f; ++bits) {
    const float middle = std::bit_cast<float>((bits << 16) | 0x8000u);
    ASSERT_EQ(bfloat16_bits_from_float(middle), bits + (bits & 1)) << bits;
    ASSERT_EQ(bfloat16_bits_from_float(std::bit_cast<float>((bits << 16) | 0x7fffu)), bits);
    ASSERT_EQ(bfloat16_bits_from_float(std::bit_cast<float>((bits << 16) | 0x8001u)), bits + 1);
  }
}
TEST(BFloat16, TooLargeIsInfinite) {
  EXPECT_EQ(BFloat16(3.4e38f).bits, 0x7f80);
}

}  // namespace
}  // namespace tilewright
