#include "tilewright/compiler/matmul_tiles.h"

#include <algorithm>
#include <array>

#include "tilewright/compiler/tiling.h"

namespace tilewright::compiler {
namespace {

constexpr double kSplitMicros = 12;  // a shorter product is one task
constexpr double kTaskMicros = 50;   // a descheduled worker holds up the others for no more than this
constexpr double kLongTaskMicros = 80;
constexpr double kRowMicros =
    0.015;                           // of a row of a task beside its sums: calls, the epilogue's first and last vectors
constexpr int kVectorsPerPanel = 3;  // or two, narrower ones: near enough for an estimate

std::int64_t divide_up(std::int64_t count, std::int64_t parts) {
  return (count + parts - 1) / parts;
}

// A product over one batch entry, cut into row tiles; the columns are still to be cut.
struct Rows {
  std::int64_t batch, m, m_tile, n, panel;
  double vector_micros;  // one row times one vector of columns
};

// When the last of `threads` is done, if each takes the next task, in the order of the tasks, as soon as it is free.
double finish_time(const Rows& rows, std::int64_t n_tile, std::int64_t threads) {
  constexpr std::int64_t kMostThreads = 16, kMostTasks = 128;
  const std::int64_t row_tiles = divide_up(rows.m, rows.m_tile), column_tiles = divide_up(rows.n, n_tile);
  const auto task_micros = [&](std::int64_t m, std::int64_t n) {
    const auto vectors = static_cast<double>(divide_up(n * kVectorsPerPanel, rows.panel));
    return static_cast<double>(m) * (vectors * rows.vector_micros + kRowMicros);
  };
  const double longest = task_micros(rows.m_tile, n_tile);
  const std::int64_t tasks = rows.batch * row_tiles * column_tiles;
  if (threads > kMostThreads || tasks > kMostTasks) {
    return longest * static_cast<double>(std::max(divide_up(tasks, threads), std::int64_t{1}));
  }
  std::array<double, kMostThreads> free_at{};
  double last = 0;
  for (std::int64_t task = 0; task < tasks; ++task) {
    const std::int64_t column = task % column_tiles * n_tile, row = task / column_tiles % row_tiles * rows.m_tile;
    double& thread = *std::min_element(free_at.begin(), free_at.begin() + threads);
    thread += task_micros(std::min(rows.m_tile, rows.m - row), std::min(n_tile, rows.n - column));
    last = std::max(last, thread);
  }
  return last;
}

// Columns per task, whole panels, near `wanted` panels: those with which the threads finish first. Of about equals the
// widest, since each row of a task costs something of its own.
std::int64_t best_columns(const Rows& rows, std::int64_t wanted, std::int64_t threads) {
  const std::int64_t panels = divide_up(rows.n, rows.panel);
  const double panel_micros = kVectorsPerPanel * rows.vector_micros * static_cast<double>(rows.m_tile);
  std::int64_t best = wanted * rows.panel;
  double best_time = finish_time(rows, best, threads);
  for (std::int64_t count = std::max<std::int64_t>(wanted / 2, 1); count <= std::min(panels, 2 * wanted); ++count) {
    if (count == wanted || (count > wanted && static_cast<double>(count) * panel_micros > kLongTaskMicros)) continue;
    const std::int64_t columns = count * rows.panel;
    const double time = finish_time(rows, columns, threads);
    if (time < best_time * (columns > best ? 1.005 : 0.995)) {
      best = columns;
      best_time = time;
    }
  }
  return best;
}

}  // namespace

MatMulTiles choose_matmul_tiles(std::int64_t batch, std::int64_t m, std::int64_t n, std::int64_t k,
                                const BackendTraits& traits) {
  const std::int64_t panel = traits.matmul_panel, rows = traits.matmul_rows;
  const std::int64_t panels = divide_up(n, panel);
  const double products = static_cast<double>(batch) * static_cast<double>(n) * static_cast<double>(k);
  const double micros = std::max(2.0 * products * static_cast<double>(m) / static_cast<double>(traits.flops_per_us),
                                 4.0 * products / static_cast<double>(traits.bytes_per_us));
  if (traits.threads <= 1 || micros < kSplitMicros) return {std::max<std::int64_t>(m, 1), std::max<std::int64_t>(n, 1)};
  const std::int64_t wanted = std::max(static_cast<std::int64_t>(micros / kTaskMicros) + 1, traits.threads * 2);
  const std::int64_t per_batch = divide_up(wanted, batch);
  // Few rows: cut columns, so that every thread streams its own part of b. Many rows: cut rows first, b is shared.
  const std::int64_t row_panels = divide_up(m, rows);
  const std::int64_t fewest = std::min(divide_up(traits.threads, batch * panels), row_panels);
  const std::int64_t max_row_cuts = std::max({row_panels / 8, fewest, std::int64_t{1}});
  const std::int64_t m_tile = round_up(divide_up(m, std::min(per_batch, max_row_cuts)), rows);
  const std::int64_t row_cuts = divide_up(m, m_tile);
  const std::int64_t column_cuts = std::clamp<std::int64_t>(divide_up(per_batch, row_cuts), 1, panels);
  const double vector_micros = micros / static_cast<double>(batch * m * panels * kVectorsPerPanel);
  const std::int64_t n_tile =
      best_columns({batch, m, m_tile, n, panel, vector_micros}, divide_up(panels, column_cuts), traits.threads);
  return {std::max<std::int64_t>(std::min(m_tile, m), 1), std::max<std::int64_t>(std::min(n_tile, n), 1)};
}

std::int64_t k_block_of(std::int64_t k) {
  return k <= 768 ? std::max<std::int64_t>(k, 1) : k >= 4096 ? 1024 : 384;
}

}  // namespace tilewright::compiler
