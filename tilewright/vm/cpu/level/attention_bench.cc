// Attention of f32, 12 heads, one thread, q, k and v interleaved as one projection gives them; share of the
// multiply-add peak that the two products of each head take. Least thread CPU time over calls.
#include <benchmark/benchmark.h>

#include "tilewright/vm/cpu/level/matmul_peak.h"
#include "tilewright/vm/cpu/level/matmul_testing.h"
#include "tilewright/vm/cpu/pool.h"

namespace tilewright::vm {
namespace {

using testing::Stream;

void run_attention(benchmark::State& state, std::string_view level) {
  const std::int64_t length = state.range(0), depth = state.range(1), heads = 12;
  cpu::set_num_threads(1);
  auto machine = std::move(make_cpu_machine({.isa = std::string(level)})).value();
  std::vector<float> qkv(static_cast<std::size_t>(3 * length * heads * depth)), out(qkv.size() / 3);
  for (std::size_t i = 0; i < qkv.size(); ++i) qkv[i] = static_cast<float>(i % 13) * 0.05f - 0.3f;
  const std::int64_t row = 3 * heads * depth * 4;
  const auto part = [&](std::int64_t number) {
    return Stream{.buffer = 0, .offset = number * heads * depth * 4, .strides = {length * row, depth * 4, row}};
  };
  const double scale = 0.125;
  std::int64_t scale_bits;
  std::memcpy(&scale_bits, &scale, sizeof scale_bits);
  const auto words =
      testing::encode(isa::AttentionFields{heads, length, depth, 0, 0, scale_bits, 1 << 20, length <= 512 ? length : 384},
                      {1, heads, length}, depth,
                      {part(0), part(1), part(2), {.buffer = 1, .strides = {row * length / 3, depth * 4, row / 3}}});
  std::byte* buffers[] = {reinterpret_cast<std::byte*>(qkv.data()), reinterpret_cast<std::byte*>(out.data())};
  double least = 1e9;
  const double peak_before = testing::peak_flops(level);
  for (auto _ : state) {
    const double start = testing::thread_seconds();
    benchmark::DoNotOptimize(machine->run(words, 0, buffers).ok());
    least = std::min(least, testing::thread_seconds() - start);
  }
  const double peak = std::max(peak_before, testing::peak_flops(level));
  const auto scores = static_cast<double>(heads * length * length);
  state.counters["ns_per_score"] = least * 1e9 / scores;
  state.counters["percent_of_peak"] = peak == 0 ? 0 : 4e2 * scores * static_cast<double>(depth) / least / peak;
}

const int registered = [] {
  for (const std::string_view level : cpu_levels()) {
    const std::string name = fmt::format("Attention/{}", level);
    auto* bench =
        benchmark::RegisterBenchmark(name.c_str(), [=](benchmark::State& state) { run_attention(state, level); });
    bench->MinTime(0.05)->ArgNames({"length", "depth"});
    for (const std::int64_t depth : {32, 64, 128}) {
      for (const std::int64_t length : {10, 69, 128, 159, 512, 2048}) bench->Args({length, depth});
    }
  }
  return 0;
}();

}  // namespace
}  // namespace tilewright::vm
