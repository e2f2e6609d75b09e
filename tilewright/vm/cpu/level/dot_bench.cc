// Dot of packed bytes and bf16 beside the f32 matmul of the same shape, one thread: `speedup` is time of f32 / time,
// interleaved; `percent_of_peak` counts against the f32 multiply-add peak (above 100 is the point). `hot` is one b;
// `cold` walks over 200 MB of them, where gigabytes_per_second is that of b. Times are the least of thread CPU time.
#include <benchmark/benchmark.h>
#include <sys/mman.h>

#include "tilewright/isa/panels.h"
#include "tilewright/vm/cpu/level/matmul_peak.h"
#include "tilewright/vm/cpu/level/matmul_testing.h"
#include "tilewright/vm/cpu/pool.h"

namespace tilewright::vm {
namespace {

using testing::Stream;

constexpr std::int64_t kColdBytes = std::int64_t{200} << 20;

std::byte* weights() {
  static std::byte* const memory = [] {
    void* mapped = mmap(nullptr, kColdBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    madvise(mapped, kColdBytes, MADV_HUGEPAGE);
    std::memset(mapped, 0, kColdBytes);  // 0 is a number of every dtype
    return static_cast<std::byte*>(mapped);
  }();
  return memory;
}

struct Shape {
  std::int64_t m, n, k;
};

std::vector<isa::Word> encode_product(const Shape& s, DType dtype, std::int64_t panel) {
  const std::int64_t size = byte_size(dtype), n_tile = isa::tiles_of(s.n, panel) * panel;
  const Stream a{
      .dtype = dtype == DType::kI8 ? DType::kU8 : dtype, .buffer = 0, .inner_stride = size, .strides = {s.k * size}};
  const Stream b{.dtype = dtype, .buffer = 1, .inner_stride = size, .strides = {0}};
  const Stream c{.dtype = dtype == DType::kI8 ? DType::kI32 : DType::kF32, .buffer = 2, .strides = {s.n * 4}};
  const std::int64_t words = isa::tiles_of(s.k, isa::group_of(dtype));
  const std::int64_t k_block = (words <= 768 ? words : words >= 4096 ? 1024 : 384) * isa::group_of(dtype);
  if (dtype == DType::kF32) {
    return testing::encode(isa::MatMulFields{s.k, 1 << 20, n_tile, k_block, panel}, {s.m}, s.n, {a, b, c});
  }
  const auto zero = [](DType of) {
    return Stream{.space = isa::Space::kLiteral, .dtype = of, .inner_stride = 0, .strides = {0}};
  };
  return testing::encode(isa::DotFields{s.k, 1 << 20, n_tile, k_block, panel}, {s.m}, s.n,
                         {a, b, c, zero(a.dtype), zero(dtype)});
}

// One product over weights that move on by their own size; the least time of a run.
struct Timed {
  std::vector<isa::Word> words;
  std::int64_t bytes, at = 0;
  double least = 1e9;

  void run(Machine& machine, std::byte* a, std::byte* c, bool cold) {
    std::byte* buffers[] = {a, weights() + at, c};
    const double start = testing::thread_seconds();
    benchmark::DoNotOptimize(machine.run(words, 0, buffers).ok());
    least = std::min(least, testing::thread_seconds() - start);
    const std::int64_t step = (bytes + 4095) / 4096 * 4096;
    if (cold) at = at + 2 * step > kColdBytes ? 0 : at + step;
  }
};

void run_dot(benchmark::State& state, std::string_view level, DType dtype, bool cold) {
  const Shape s{state.range(0), state.range(1), state.range(2)};
  cpu::set_num_threads(1);
  auto machine = std::move(make_cpu_machine({.isa = std::string(level)})).value();
  const std::int64_t panel = machine->traits().matmul_panel;
  std::vector<std::byte> a(static_cast<std::size_t>(s.m * s.k * 4)), c(static_cast<std::size_t>(s.m * s.n * 4));
  const auto timed = [&](DType of) {
    Timed out{encode_product(s, of, panel), 0};
    isa::count_panel_bytes(of, s.k, s.n, panel, out.bytes);
    return out;
  };
  Timed narrow = timed(dtype), wide = timed(DType::kF32);
  for (auto _ : state) {
    narrow.run(*machine, a.data(), c.data(), cold);
    wide.run(*machine, a.data(), c.data(), cold);
  }
  const double peak = testing::peak_flops(level);
  const auto products = static_cast<double>(s.m * s.n * s.k);
  state.counters["us"] = narrow.least * 1e6;
  state.counters["speedup"] = wide.least / narrow.least;
  state.counters["percent_of_peak"] = peak == 0 ? 0 : 2e2 * products / narrow.least / peak;
  state.counters["gigabytes_per_second"] = static_cast<double>(narrow.bytes) / narrow.least * 1e-9;
}

// A 4-bit weight with a scale for every 32 elements, beside the f32 matmul; cold, bytes are those of q and scales.
void run_block_dot(benchmark::State& state, std::string_view level, bool cold) {
  const Shape s{state.range(0), state.range(1), state.range(2)};
  constexpr std::int64_t kBlock = 32;
  cpu::set_num_threads(1);
  auto machine = std::move(make_cpu_machine({.isa = std::string(level)})).value();
  const std::int64_t panel = machine->traits().matmul_panel, columns = isa::tiles_of(s.n, panel) * panel;
  std::vector<std::byte> a(static_cast<std::size_t>(s.m * s.k * 4)), c(static_cast<std::size_t>(s.m * s.n * 4));
  const std::int64_t q_bytes = columns * s.k / 2, scale_bytes = columns * (s.k / kBlock) * 4;
  const Stream panels{.buffer = 1, .inner_stride = 4, .strides = {0}};
  Stream scales = panels;
  scales.offset = q_bytes;
  const Stream zeros{.space = isa::Space::kLiteral, .offset = 0x41000000, .inner_stride = 0, .strides = {0}};
  Timed narrow{testing::encode(
                   isa::BlockDotFields{s.k, 1 << 20, columns, kBlock, panel}, {s.m}, s.n,
                   {{.buffer = 0, .strides = {s.k * 4}}, panels, {.buffer = 2, .strides = {s.n * 4}}, scales, zeros}),
               q_bytes + scale_bytes};
  Timed wide{encode_product(s, DType::kF32, panel), columns * s.k * 4};
  for (auto _ : state) {
    narrow.run(*machine, a.data(), c.data(), cold);
    wide.run(*machine, a.data(), c.data(), cold);
  }
  const double peak = testing::peak_flops(level);
  state.counters["us"] = narrow.least * 1e6;
  state.counters["speedup"] = wide.least / narrow.least;
  state.counters["percent_of_peak"] = peak == 0 ? 0 : 2e2 * static_cast<double>(s.m * s.n * s.k) / narrow.least / peak;
  state.counters["gigabytes_per_second"] = static_cast<double>(narrow.bytes) / narrow.least * 1e-9;
}

const int registered = [] {
  for (const std::string_view level : cpu_levels()) {
    for (const bool cold : {false, true}) {
      const std::string name = fmt::format("BlockDot/{}/{}", level, cold ? "cold" : "hot");
      auto* bench = benchmark::RegisterBenchmark(name.c_str(),
                                                 [=](benchmark::State& state) { run_block_dot(state, level, cold); });
      bench->MinTime(0.05)->ArgNames({"m", "n", "k"});
      for (const std::int64_t m : {1, 4, 32, 128}) bench->Args({m, 4096, 4096});
    }
  }
  std::vector<std::string_view> levels(cpu_levels().begin(), cpu_levels().end());
  if (make_cpu_machine({"avx2_vnni"}).ok()) levels.push_back("avx2_vnni");
  for (const std::string_view level : levels) {
    for (const DType dtype : {DType::kI8, DType::kBF16}) {
      for (const bool cold : {false, true}) {
        const std::string name = fmt::format("Dot/{}/{}/{}", level, to_string(dtype), cold ? "cold" : "hot");
        auto* bench = benchmark::RegisterBenchmark(
            name.c_str(), [=](benchmark::State& state) { run_dot(state, level, dtype, cold); });
        bench->MinTime(0.05)->ArgNames({"m", "n", "k"});
        for (const std::int64_t m : {1, 4, 8, 32, 128, 512}) bench->Args({m, 768, 768});
        bench->Args({32, 3072, 768})->Args({32, 768, 3072})->Args({1, 4096, 4096});
      }
    }
  }
  return 0;
}();

}  // namespace
}  // namespace tilewright::vm
