#include "tilewright/compiler/matmul_tiles.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace tilewright::compiler {
namespace {

BackendTraits machine(std::int64_t threads) {
  return {.threads = threads, .matmul_rows = 8, .matmul_panel = 48, .flops_per_us = 250000, .bytes_per_us = 40000};
}

std::int64_t parts(std::int64_t count, std::int64_t tile) {
  return (count + tile - 1) / tile;
}

TEST(MatMulTiles, AProductOfAFewMicrosecondsIsOneTask) {
  const MatMulTiles tiles = choose_matmul_tiles(1, 16, 64, 64, machine(2));
  EXPECT_EQ(tiles.m, 16);
  EXPECT_EQ(tiles.n, 64);
}

TEST(MatMulTiles, FewRowsOverAWideMatrixAreSplitForItsBytes) {
  const MatMulTiles tiles = choose_matmul_tiles(1, 1, 1536, 384, machine(2));
  EXPECT_EQ(tiles.m, 1);
  EXPECT_EQ(parts(1536, tiles.n), 4);
}

TEST(MatMulTiles, TwoThreadsGetEqualShares) {
  // 32 panels: 11 tasks of 3 would leave one thread 18 panels and the other 14.
  const MatMulTiles tiles = choose_matmul_tiles(1, 69, 1536, 384, machine(2));
  EXPECT_EQ(tiles.m, 69);
  EXPECT_EQ(tiles.n % 48, 0);
  EXPECT_EQ(32 % (tiles.n / 48), 0);
  EXPECT_EQ(parts(1536, tiles.n) % 2, 0);
}

TEST(MatMulTiles, RowsAreCutWhereColumnsDoNotFeedAllThreads) {
  const MatMulTiles tiles = choose_matmul_tiles(1, 64, 48, 4096, machine(8));
  EXPECT_EQ(parts(64, tiles.m), 8);
}

// Elements of the thread that has the most, if each takes the next tile when it is done with one.
std::int64_t busiest(std::int64_t m, std::int64_t n, const MatMulTiles& tiles, std::size_t threads) {
  std::vector<std::int64_t> done(threads);
  for (std::int64_t row = 0; row < m; row += tiles.m) {
    for (std::int64_t column = 0; column < n; column += tiles.n) {
      *std::ranges::min_element(done) += std::min(tiles.m, m - row) * std::min(tiles.n, n - column);
    }
  }
  return std::ranges::max(done);
}

// However odd the sizes, unless tasks are single panels already.
TEST(MatMulTiles, SharesAreEvenOverManySizes) {
  for (const std::int64_t threads : {2, 4, 16}) {
    for (std::int64_t m = 8; m <= 640; m += 37) {
      for (std::int64_t n = 240; n <= 3072; n += 161) {
        const MatMulTiles tiles = choose_matmul_tiles(1, m, n, 768, machine(threads));
        const double share = static_cast<double>(m) * static_cast<double>(n) / static_cast<double>(threads);
        if (tiles.n <= 48 || tiles.m <= 8) continue;
        EXPECT_LT(busiest(m, n, tiles, static_cast<std::size_t>(threads)), share * 1.3 + 8.0 * 48.0 * 8.0)
            << m << " x " << n << ", " << threads << " threads";
      }
    }
  }
}

TEST(MatMulTiles, TilesAreWideWhereNarrowOnesAreNoMoreEven) {
  const MatMulTiles tiles = choose_matmul_tiles(1, 273, 802, 885, machine(2));
  EXPECT_GE(tiles.n, 96);
}

}  // namespace
}  // namespace tilewright::compiler
