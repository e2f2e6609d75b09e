// The predictions of the cost model: what they must follow whatever its constants are. How close they come to the clock
// is measured by bench/models/cost_model.cc.
#include "tilewright/vm/cpu/cost.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "tilewright/vm/cpu/level/matmul_testing.h"

namespace tilewright::vm::cpu {
namespace {

using isa::Lane;
using isa::StripOp;

constexpr BackendTraits kTraits{.l2_bytes = 1 << 20,
                                .strip_elements = 128,
                                .vector_floats = 16,
                                .matmul_rows = 8,
                                .flops_per_us = 250000,
                                .bytes_per_us = 40000};

double product(std::int64_t m, std::int64_t k, std::int64_t n) {
  const isa::MatMulFields fields{k, std::max<std::int64_t>(m, 1), std::max<std::int64_t>(n, 1), k, 0};
  const auto words = testing::encode(
      fields, {m}, n,
      {{.buffer = 0, .strides = {4 * k}}, {.buffer = 1, .strides = {4 * n}}, {.buffer = 2, .strides = {4 * n}}});
  return predict_microseconds(isa::Inst(words.data()), kTraits);
}

double map(std::int64_t rows, std::int64_t inner, StripOp op, std::int64_t inner_stride = 4) {
  const int form = inner_stride == 4 ? isa::kUnit : isa::kStrided;
  const auto words = testing::encode(
      isa::MapFields{std::max<std::int64_t>(rows, 1), inner}, {rows}, inner,
      {{.buffer = 0, .inner_stride = inner_stride, .strides = {4 * inner}}, {.buffer = 1, .strides = {4 * inner}}},
      {isa::strip_word(StripOp::kLoadF32, Lane::kF32, form, 0), isa::strip_word(op, Lane::kF32),
       isa::strip_word(StripOp::kStoreF32, Lane::kF32, isa::kUnit, 1), isa::strip_word(StripOp::kEnd, Lane::kF32)});
  return predict_microseconds(isa::Inst(words.data()), kTraits);
}

TEST(Cost, ALargeProductTakesItsArithmetic) {
  const double micros = product(512, 768, 768);
  EXPECT_NEAR(micros, 2.0 * 512 * 768 * 768 / 250000, 0.1 * micros);
}

TEST(Cost, AProductOfOneRowTakesTheWayOfItsOperand) {
  EXPECT_GT(product(1, 1024, 1024), 4.0 * 1024 * 1024 / 50000);
  EXPECT_LT(product(1, 64, 64), 1);
}

TEST(Cost, FunctionsTakeMoreThanArithmeticAndGathersMoreThanStrips) {
  EXPECT_GT(map(64, 512, StripOp::kExp), 1.5 * map(64, 512, StripOp::kNeg));
  EXPECT_GT(map(64, 512, StripOp::kLgamma), 10 * map(64, 512, StripOp::kExp));
  EXPECT_GT(map(64, 512, StripOp::kNeg, 8), 2 * map(64, 512, StripOp::kNeg));
}

TEST(Cost, ManyShortRowsTakeMoreThanAFewLongOnes) {
  EXPECT_GT(map(4096, 4, StripOp::kNeg), 5 * map(4, 4096, StripOp::kNeg));
}

TEST(Cost, MoreIsNeverCheaper) {
  for (std::int64_t size = 1; size < 2000; size = size * 3 / 2 + 1) {
    EXPECT_LE(product(size, 64, 64), product(size * 2, 64, 64));
    EXPECT_LE(product(64, size, 64), product(64, size * 2, 64));
    EXPECT_LE(product(64, 64, size), product(64, 64, size * 2));
    EXPECT_LE(map(16, size, StripOp::kExp), map(16, size * 2, StripOp::kExp));
  }
}

TEST(Cost, IsFiniteAtAnySize) {
  EXPECT_TRUE(std::isfinite(product(std::int64_t{1} << 40, std::int64_t{1} << 40, std::int64_t{1} << 40)));
  EXPECT_TRUE(std::isfinite(product(0, 0, 0)));
  EXPECT_TRUE(std::isfinite(map(0, 1, StripOp::kNeg)));
}

}  // namespace
}  // namespace tilewright::vm::cpu
