// Matmul of f32 with packed and run-time b, one thread, as a share of the multiply-add peak measured beside it (columns
// count up to whole vectors) and, for few rows, as bytes of b per second. `hot` is one b; `cold` walks over 200 MB of
// them. Times are the least over calls of thread CPU time: the machine may be shared.
#include <benchmark/benchmark.h>
#include <sys/mman.h>

#include "tilewright/vm/cpu/level/matmul_peak.h"
#include "tilewright/vm/cpu/level/matmul_testing.h"
#include "tilewright/vm/cpu/pool.h"

namespace tilewright::vm {
namespace {

using testing::Stream;

constexpr std::size_t kColdBytes = std::size_t{200} << 20;

float* weights() {
  static float* const memory = [] {
    void* mapped = mmap(nullptr, kColdBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    madvise(mapped, kColdBytes, MADV_HUGEPAGE);
    auto* floats = static_cast<float*>(mapped);
    for (std::size_t i = 0; i < kColdBytes / 4; ++i) floats[i] = 1.0f;
    return floats;
  }();
  return memory;
}

void run_matmul(benchmark::State& state, std::string_view level, bool packed, bool cold) {
  const std::int64_t m = state.range(0), n = state.range(1), k = state.range(2);
  cpu::set_num_threads(1);
  auto machine = std::move(make_cpu_machine({.isa = std::string(level)})).value();
  const std::int64_t panel = packed ? machine->traits().matmul_panel : 0, vector = machine->traits().vector_floats;
  const std::int64_t columns = isa::tiles_of(n, vector) * vector;
  const std::int64_t stored = panel == 0 ? n : isa::tiles_of(n, panel) * panel;
  std::vector<float> a(static_cast<std::size_t>(m * k), 1.0f), c(static_cast<std::size_t>(m * n));
  const auto words = testing::encode(
      isa::MatMulFields{k, 1 << 20, isa::tiles_of(n, 48) * 48, k <= 768 ? k : 384, panel}, {m}, n,
      {{.buffer = 0, .strides = {k * 4}}, {.buffer = 1, .strides = {n * 4}}, {.buffer = 2, .strides = {n * 4}}});
  const std::size_t step = static_cast<std::size_t>(stored * k + 1023) / 1024 * 1024;
  std::size_t at = 0;
  double least = 1e9;
  const double peak_before = testing::peak_flops(level);
  for (auto _ : state) {
    std::byte* buffers[] = {reinterpret_cast<std::byte*>(a.data()), reinterpret_cast<std::byte*>(weights() + at),
                            reinterpret_cast<std::byte*>(c.data())};
    const double start = testing::thread_seconds();
    benchmark::DoNotOptimize(machine->run(words, 0, buffers).ok());
    least = std::min(least, testing::thread_seconds() - start);
    if (cold) at = at + 2 * step > kColdBytes / 4 ? 0 : at + step;
  }
  const double peak = std::max(peak_before, testing::peak_flops(level));
  state.counters["us"] = least * 1e6;
  state.counters["percent_of_peak"] = peak == 0 ? 0 : 2e2 * static_cast<double>(m * columns * k) / least / peak;
  state.counters["gigabytes_per_second"] = static_cast<double>(stored * k * 4) / least * 1e-9;
}

const int registered = [] {
  for (const std::string_view level : cpu_levels()) {
    for (const bool packed : {true, false}) {
      for (const bool cold : {false, true}) {
        const std::string name =
            fmt::format("MatMul/{}/{}/{}", level, packed ? "packed" : "in_place", cold ? "cold" : "hot");
        auto* bench = benchmark::RegisterBenchmark(
            name.c_str(), [=](benchmark::State& state) { run_matmul(state, level, packed, cold); });
        bench->MinTime(0.05)->ArgNames({"m", "n", "k"});
        for (const std::int64_t m : {1, 4, 8, 32, 63, 128, 512}) {
          for (const std::int64_t n : {64, 384, 768, 1024}) bench->Args({m, n, n});
          bench->Args({m, 843, 508});
        }
      }
    }
  }
  return 0;
}();

}  // namespace
}  // namespace tilewright::vm
