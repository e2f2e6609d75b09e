#include "tilewright/tensor/philox.h"

#include <gtest/gtest.h>

namespace tilewright {
namespace {

// Known answers published with the generator (Random123, philox4x32, 10 rounds).
TEST(Philox, KnownAnswers) {
  static_assert(philox({0, 0, 0, 0}, {0, 0}) == PhiloxBlock{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  static_assert(philox({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff}) ==
                PhiloxBlock{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
  EXPECT_EQ(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (PhiloxBlock{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Philox, OffsetMovesByBlocksOfFourWords) {
  const RandomStream first{42, 0};
  const RandomStream second{42, 1};
  for (std::uint64_t j = 0; j < 8; ++j) EXPECT_EQ(second.word(j), first.word(j + 4));
}

TEST(Philox, OffsetCarriesIntoTheSecondWord) {
  const RandomStream stream{7, 0xffffffff};
  EXPECT_EQ(stream.word(4), philox({0, 1, 0, 0}, {7, 0})[0]);
}

TEST(Philox, UniformStaysBelowOne) {
  EXPECT_EQ(uniform_f32(0xffffffff), 1 - 0x1p-24f);
  EXPECT_EQ(uniform_f64(0xffffffffffffffff), 1 - 0x1p-53);
  EXPECT_EQ(uniform_f16(0xffffffff), 1 - 0x1p-11f);
  EXPECT_EQ(uniform_bf16(0xffffffff), 1 - 0x1p-8f);
  EXPECT_EQ(uniform_f32(0), 0);
}

TEST(Philox, NormalsHaveMeanZeroAndVarianceOne) {
  const RandomStream stream{123, 0};
  double sum = 0;
  double squares = 0;
  constexpr int kCount = 20000;
  for (std::uint64_t i = 0; i < kCount; ++i) {
    const double x = normal_f32(stream, i);
    sum += x;
    squares += x * x;
  }
  EXPECT_NEAR(sum / kCount, 0, 0.03);
  EXPECT_NEAR(squares / kCount, 1, 0.04);
}

TEST(Philox, PairOfNormalsSharesItsRadius) {
  const RandomStream stream{5, 9};
  const double u = uniform_f64(stream.bits64(2)) + 0x1p-53;
  const double a = normal_f64(stream, 2);
  const double b = normal_f64(stream, 3);
  EXPECT_NEAR(a * a + b * b, -2 * std::log(u), 1e-13);
}

}  // namespace
}  // namespace tilewright
