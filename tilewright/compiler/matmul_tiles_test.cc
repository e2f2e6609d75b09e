#include "tilewright/compiler/matmul_tiles.h"

#include <gtest/gtest.h>

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

// No thread has more than a third above its share, however odd the sizes, unless tasks are single panels already.
TEST(MatMulTiles, SharesAreEvenOverManySizes) {
  for (const std::int64_t threads : {2, 4, 16}) {
    for (std::int64_t m = 8; m <= 640; m += 37) {
      for (std::int64_t n = 240; n <= 3072; n += 161) {
        const MatMulTiles tiles = choose_matmul_tiles(1, m, n, 768, machine(threads));
        const std::int64_t tasks = parts(m, tiles.m) * parts(n, tiles.n);
        const double share = static_cast<double>(m) * static_cast<double>(n) / static_cast<double>(threads);
        const double busiest = static_cast<double>(parts(tasks, threads) * tiles.m * tiles.n);
        if (tiles.n <= 48 || tiles.m <= 8) continue;
        EXPECT_LT(busiest, share * 1.34 + 8.0 * 48.0 * 8.0) << m << " x " << n << ", " << threads << " threads";
      }
    }
  }
}

}  // namespace
}  // namespace tilewright::compiler
