// Fork-join cost of the pool: an empty job of a few tasks, back to back (workers are spinning) and after a pause
// (asleep).
#include <benchmark/benchmark.h>
#include <unistd.h>

#include "tilewright/vm/cpu/pool.h"

namespace tilewright::vm::cpu {
namespace {

void empty_body(void*, std::int64_t, std::int64_t) {}

void BM_ForkJoinWarm(benchmark::State& state) {
  set_num_threads(default_num_threads());  // other benchmarks of this program set one
  for (auto _ : state) parallel_for(state.range(0), 1, empty_body, nullptr);
}
BENCHMARK(BM_ForkJoinWarm)->Arg(2)->Arg(8)->Arg(64)->UseRealTime();

void BM_ForkJoinAsleep(benchmark::State& state) {
  set_num_threads(default_num_threads());
  for (auto _ : state) {
    state.PauseTiming();
    usleep(200);
    state.ResumeTiming();
    parallel_for(2, 1, empty_body, nullptr);
  }
}
BENCHMARK(BM_ForkJoinAsleep)->UseRealTime()->Iterations(500);

}  // namespace
}  // namespace tilewright::vm::cpu
