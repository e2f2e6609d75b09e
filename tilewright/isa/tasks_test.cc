#include "tilewright/isa/tasks.h"

#include <gtest/gtest.h>

#include <vector>

namespace tilewright::isa {
namespace {

TEST(Tasks, TheInnerTileVariesFastestThenTheRowTile) {
  const std::int64_t dims[] = {2, 3};
  const Tiling tiling = row_tiling(dims, 2, 2, 10, 4, false);
  const Task task = decode_task(tiling, 1 * 6 + 1 * 3 + 2);
  EXPECT_EQ(task.index[0], 1);
  EXPECT_EQ(task.row_begin, 2);
  EXPECT_EQ(task.row_end, 3);
  EXPECT_EQ(task.inner_begin, 8);
  EXPECT_EQ(task.inner_end, 10);
}

TEST(Tasks, CoverEveryElementOnce) {
  for (const std::int64_t row_tile : {1, 2, 5, 9}) {
    for (const std::int64_t inner_tile : {1, 3, 7, 20}) {
      const std::int64_t dims[] = {2, 3, 5};
      const Tiling tiling = row_tiling(dims, 3, row_tile, 7, inner_tile, false);
      std::vector<int> seen(2 * 3 * 5 * 7);
      std::int64_t tasks = 0;
      ASSERT_TRUE(count_tasks(tiling, tasks));
      for (std::int64_t number = 0; number < tasks; ++number) {
        const Task task = decode_task(tiling, number);
        for (std::int64_t row = task.row_begin; row < task.row_end; ++row) {
          for (std::int64_t p = task.inner_begin; p < task.inner_end; ++p) {
            ++seen[static_cast<std::size_t>(((task.index[0] * 3 + task.index[1]) * 5 + row) * 7 + p)];
          }
        }
      }
      EXPECT_EQ(seen, std::vector<int>(seen.size(), 1)) << row_tile << " " << inner_tile;
    }
  }
}

TEST(Tasks, AnEmptyInnerDimLeavesRowsTheirTasksAndMapNone) {
  const std::int64_t dims[] = {4};
  std::int64_t tasks = -1;
  ASSERT_TRUE(count_tasks(row_tiling(dims, 1, 2, 0, 1, true), tasks));
  EXPECT_EQ(tasks, 2);
  ASSERT_TRUE(count_tasks(row_tiling(dims, 1, 2, 0, 1, false), tasks));
  EXPECT_EQ(tasks, 0);
}

TEST(Tasks, ACountBeyond64BitsIsNoCount) {
  const std::int64_t dims[] = {std::int64_t{1} << 40, std::int64_t{1} << 40};
  std::int64_t tasks = 0;
  EXPECT_FALSE(count_tasks(row_tiling(dims, 2, 1, 1, 1, false), tasks));
}

}  // namespace
}  // namespace tilewright::isa
