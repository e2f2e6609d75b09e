// verify_program runs at every bind. A small instruction should cost about 0.3 us and allocate nothing.
#include <benchmark/benchmark.h>

#include <string>

#include "tilewright/isa/program.h"

namespace tilewright::isa {
namespace {

// `copies` maps of 3 streams and 5 strip instructions.
Program maps(int copies) {
  std::string text = "program scratch=1024\nbuffer 0 input 4800\nbuffer 1 output 4800\n";
  for (int i = 0; i < copies; ++i) {
    text += R"(map tasks=8 inner=300 dims=[2,2] row_tile=1 inner_tile=256
  s0 = buffer 0 f32 inner=4 strides=[2400,1200]
  s1 = buffer 1 f32 inner=4 strides=[2400,1200]
  s2 = literal f32 bits=0x40000000
  phase strip
    load_f32.f32.unit s0
    mul.f32.one s2
    gelu.f32
    store_f32.f32.unit s1
    end.f32
)";
  }
  return *assemble(text);
}

void verify(benchmark::State& state) {
  const Program program = maps(static_cast<int>(state.range(0)));
  for (auto _ : state) {
    const Status status = verify_program(program);
    if (!status) state.SkipWithError(status.error().message.c_str());
    benchmark::DoNotOptimize(status.ok());
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(verify)->Arg(1)->Arg(100);

}  // namespace
}  // namespace tilewright::isa
