// The limits of this machine that a measurement is divided by: fp32 multiply-add rate and read and copy rates of each
// level of the memory. One JSON object on stdout, rates in GFLOP/s and GB/s (1e9) of all threads together.
//   g++ -std=c++20 -O3 -march=native -pthread machine_limits.cc -o machine_limits && ./machine_limits THREADS
// Each figure is the best of many short samples: a neighbour's load hides in the slow ones.
#include <algorithm>
#include <barrier>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

namespace {

#if defined(__AVX512F__)
constexpr int kVectorBytes = 64, kChains = 24;
#else
constexpr int kVectorBytes = 32, kChains = 12;  // 16 registers: accumulators and two operands
#endif
typedef float Vector __attribute__((vector_size(kVectorBytes)));
constexpr int kLanes = kVectorBytes / 4;

using Clock = std::chrono::steady_clock;

double since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

void keep(const Vector& value) {
  asm volatile("" : : "v"(value) : "memory");
}

// Independent chains of multiply-adds, enough of them to hide the latency of one.
void multiply_add(long repeats) {
  Vector chain[kChains] = {};
  const Vector factor = Vector{} + 0.999f, addend = Vector{} + 0.001f;
  for (Vector& link : chain) asm volatile("" : "+v"(link));  // else the compiler sees equal chains and keeps one
  for (long i = 0; i < repeats; ++i) {
#pragma GCC unroll 24
    for (Vector& link : chain) link = link * factor + addend;
  }
  for (const Vector& link : chain) keep(link);
}

void read_all(const Vector* from, std::size_t count) {
  Vector sum[8] = {};
  for (std::size_t i = 0; i + 8 <= count; i += 8) {
#pragma GCC unroll 8
    for (int j = 0; j < 8; ++j) sum[j] += from[i + static_cast<std::size_t>(j)];
  }
  for (const Vector& part : sum) keep(part);
}

void copy_all(Vector* to, const Vector* from, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) to[i] = from[i];
  asm volatile("" : : : "memory");
}

// Units per second when all threads do `work` at once: best of `samples`.
template <typename Work>
double best_rate(int threads, int samples, double units_per_thread, Work work) {
  std::vector<double> seconds(static_cast<std::size_t>(threads));
  std::barrier start(threads);
  double best = 0;
  for (int sample = 0; sample < samples; ++sample) {
    std::vector<std::jthread> team;
    for (int t = 0; t < threads; ++t) {
      team.emplace_back([&, t] {
        start.arrive_and_wait();
        const auto from = Clock::now();
        work(t);
        seconds[static_cast<std::size_t>(t)] = since(from);
      });
    }
    team.clear();
    best = std::max(best, threads * units_per_thread / *std::max_element(seconds.begin(), seconds.end()));
  }
  return best / 1e9;
}

struct Freer {
  void operator()(Vector* memory) const { std::free(memory); }
};
using Memory = std::unique_ptr<Vector, Freer>;

Memory allocate(std::size_t bytes) {
  Memory memory(static_cast<Vector*>(std::aligned_alloc(2 << 20, (bytes + (2 << 20) - 1) >> 21 << 21)));
  std::memset(memory.get(), 0, bytes);
  return memory;
}

void print_level(const char* name, std::size_t bytes, int threads) {
  std::vector<Memory> from, to;
  for (int t = 0; t < threads; ++t) from.push_back(allocate(bytes)), to.push_back(allocate(bytes));
  const auto passes = std::max<std::size_t>(1, (128u << 20) / bytes);
  const std::size_t count = bytes / sizeof(Vector);
  const double total = static_cast<double>(bytes * passes);
  const double read = best_rate(threads, 8, total, [&](int t) {
    for (std::size_t p = 0; p < passes; ++p) read_all(from[static_cast<std::size_t>(t)].get(), count);
  });
  const double copy = best_rate(threads, 8, 2 * total, [&](int t) {
    for (std::size_t p = 0; p < passes; ++p) {
      copy_all(to[static_cast<std::size_t>(t)].get(), from[static_cast<std::size_t>(t)].get(), count);
    }
  });
  std::printf(", \"%s_read_gbs\": %.1f, \"%s_copy_gbs\": %.1f", name, read, name, copy);
}

}  // namespace

int main(int argc, char** argv) {
  const int threads = std::max(1, argc > 1 ? std::atoi(argv[1]) : 1);
  constexpr long kRepeats = 500'000;
  const double flops = 2.0 * kLanes * kChains * kRepeats;
  std::printf("{\"threads\": %d, \"vector_bytes\": %d", threads, kVectorBytes);
  std::printf(", \"fma_gflops\": %.1f", best_rate(threads, 16, flops, [](int) { multiply_add(kRepeats); }));
  print_level("l1", 16u << 10, threads);
  print_level("l2", 256u << 10, threads);
  print_level("l3", 4u << 20, threads);
  print_level("dram", 128u << 20, threads);
  std::printf("}\n");
  return 0;
}
