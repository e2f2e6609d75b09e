#include "tilewright/compiler/matmul_tiles.h"

#include <algorithm>

#include "tilewright/compiler/tiling.h"

namespace tilewright::compiler {
namespace {

constexpr double kSplitMicros = 12;  // a shorter product is one task
constexpr double kTaskMicros = 50;   // a descheduled worker holds up the others for no more than this
constexpr double kLongTaskMicros = 80;

std::int64_t divide_up(std::int64_t count, std::int64_t parts) {
  return (count + parts - 1) / parts;
}

// Panels per task near `wanted` such that the threads finish together: `others` tasks stand beside each column tile,
// the busiest thread has the fewest panels. Of equals the largest tile wins that leaves every thread two tasks.
std::int64_t balanced_panels(std::int64_t wanted, std::int64_t panels, std::int64_t others, std::int64_t threads,
                             double panel_micros) {
  const auto busiest = [&](std::int64_t tile) { return divide_up(divide_up(panels, tile) * others, threads) * tile; };
  std::int64_t best = wanted;
  for (std::int64_t tile = std::max<std::int64_t>(wanted / 2, 1); tile <= std::min(panels, 2 * wanted); ++tile) {
    if (tile > wanted && static_cast<double>(tile) * panel_micros > kLongTaskMicros) break;
    const bool many = divide_up(panels, tile) * others >= 2 * threads;
    if (busiest(tile) < busiest(best) || (busiest(tile) == busiest(best) && tile > best && many)) best = tile;
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
  const double panel_micros = micros / static_cast<double>(batch * row_cuts * panels);
  const std::int64_t n_tile =
      panel * balanced_panels(divide_up(panels, column_cuts), panels, batch * row_cuts, traits.threads, panel_micros);
  return {std::max<std::int64_t>(std::min(m_tile, m), 1), std::max<std::int64_t>(std::min(n_tile, n), 1)};
}

std::int64_t k_block_of(std::int64_t k) {
  return k <= 768 ? std::max<std::int64_t>(k, 1) : k >= 4096 ? 1024 : 384;
}

}  // namespace tilewright::compiler
