// Time of the optimiser for an encoder as an exporter writes it: the argument is its number of layers, 12 are BERT.
#include <benchmark/benchmark.h>

#include "tilewright/passes/pass.h"
#include "tilewright/passes/transformer_graph.h"

namespace tilewright::passes {
namespace {

void optimise(benchmark::State& state) {
  const auto graph = TransformerGraph::make(static_cast<int>(state.range(0)));
  for (auto _ : state) {
    state.PauseTiming();
    auto copy = graph->clone();
    state.ResumeTiming();
    benchmark::DoNotOptimize(run_pipeline(*copy));
  }
  state.counters["nodes"] = static_cast<double>(graph->num_nodes());
}
BENCHMARK(optimise)->Arg(1)->Arg(6)->Arg(12)->Arg(48);

}  // namespace
}  // namespace tilewright::passes
