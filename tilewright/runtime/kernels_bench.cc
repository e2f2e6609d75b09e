// Kernels outside of fused areas, one call each by a warm session on the widest level: gathers, copies, convolutions,
// pools, scans and orders. Items are elements written, or multiply-adds of convolutions.
#include <benchmark/benchmark.h>

#include <random>

#include "tilewright/runtime/session.h"
#include "tilewright/vm/cpu/machine.h"

namespace tilewright::runtime {
namespace {

Tensor filled(DType dtype, std::vector<std::int64_t> sizes, int limit) {
  Tensor out(dtype, std::move(sizes));
  std::mt19937 engine(1);
  for (std::int64_t i = 0; i < out.count(); ++i) {
    if (dtype == DType::kF32) {
      out.data_as<float>()[i] = static_cast<float>(static_cast<double>(engine() & 0xffff) / 32768.0 - 1.0);
    } else {
      out.data_as<std::int64_t>()[i] = static_cast<std::int64_t>(engine() % static_cast<unsigned>(limit));
    }
  }
  return out;
}

void run(benchmark::State& state, const char* text, std::vector<std::vector<std::int64_t>> shapes, double items,
         int limit = 1) {
  auto graph = parse_graph(text);
  if (!graph.ok()) return state.SkipWithError(graph.error().message.c_str());
  std::vector<Tensor> inputs;
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    inputs.push_back(filled((*graph)->type((*graph)->inputs()[i]).dtype, shapes[i], limit));
  }
  auto machine = vm::make_cpu_machine();
  SessionOptions options;
  options.machine = machine->get();
  auto session = Session::compile(std::move(*graph), options);
  if (!session.ok()) return state.SkipWithError(session.error().message.c_str());
  for (auto _ : state) {
    auto got = (*session)->run(inputs);
    if (!got.ok()) return state.SkipWithError(got.error().message.c_str());
    benchmark::DoNotOptimize(got->front().data());
  }
  state.counters["G/s"] = benchmark::Counter(items / 1e9, benchmark::Counter::kIsIterationInvariantRate);
}

constexpr char kConv3[] =
    "x: f32[N, C, H, W]\nweight w: f32[O, C, 3, 3]\nweight b: f32[O]\ny = conv(x, w, b) stride=[1,1] low=[1,1] "
    "high=[1,1] dilation=[1,1]\nreturn y";
constexpr char kConv1[] =
    "x: f32[N, C, H, W]\nweight w: f32[O, C, 1, 1]\nweight b: f32[O]\ny = conv(x, w, b) stride=[1,1] low=[0,0] "
    "high=[0,0] dilation=[1,1]\nreturn y";

void conv(benchmark::State& state, const char* text, std::int64_t channels, std::int64_t size, std::int64_t outputs,
          std::int64_t window) {
  run(state, text, {{1, channels, size, size}, {outputs, channels, window, window}, {outputs}},
      static_cast<double>(channels * size * size * outputs * window * window));
}

void conv3_64_56(benchmark::State& state) {
  conv(state, kConv3, 64, 56, 64, 3);
}
void conv3_256_14(benchmark::State& state) {
  conv(state, kConv3, 256, 14, 256, 3);
}
void conv3_512_7(benchmark::State& state) {
  conv(state, kConv3, 512, 7, 512, 3);
}
void conv1_256_14(benchmark::State& state) {
  conv(state, kConv1, 256, 14, 1024, 1);
}
void depthwise3_256_28(benchmark::State& state) {
  run(state,
      "x: f32[N, 256, H, W]\nweight w: f32[256, 1, 3, 3]\ny = conv(x, w) stride=[1,1] low=[1,1] high=[1,1] "
      "dilation=[1,1] groups=256\nreturn y",
      {{1, 256, 28, 28}, {256, 1, 3, 3}}, 256.0 * 28 * 28 * 9);
}
void max_pool3_64_112(benchmark::State& state) {
  run(state,
      "x: f32[N, C, H, W]\ny, i = max_pool(x) window=[3,3] stride=[2,2] low=[1,1] high=[1,1] dilation=[1,1]\nreturn y, "
      "i",
      {{1, 64, 112, 112}}, 64.0 * 56 * 56);
}
void gather_rows(benchmark::State& state) {
  run(state, "weight x: f32[V, D]\ni: i64[B, S]\ny = gather(x, i) axis=0\nreturn y", {{30000, 384}, {8, 128}},
      8.0 * 128 * 384, 30000);
}
void concat_columns(benchmark::State& state) {
  run(state, "x: f32[A, B]\ny: f32[A, C]\nz = concat(x, y) axis=1\nreturn z", {{1024, 256}, {1024, 256}}, 1024.0 * 512);
}
void transpose_copy(benchmark::State& state) {
  run(state, "x: f32[A, B]\nt = transpose(x) perm=[1,0]\ny = reshape(t) shape=[A*B]\nreturn y", {{1024, 1024}},
      1024.0 * 1024);
}
void cumsum_rows(benchmark::State& state) {
  run(state, "x: f32[A, B]\ny = cumsum(x) axis=1\nreturn y", {{64, 8192}}, 64.0 * 8192);
}
void argmax_rows(benchmark::State& state) {
  run(state, "x: f32[A, B]\ny = argmax(x) axis=1\nreturn y", {{8, 32000}}, 8.0 * 32000);
}
void sort_rows(benchmark::State& state) {
  run(state, "x: f32[A, B]\ny, i = sort(x) axis=1\nreturn y, i", {{64, 4096}}, 64.0 * 4096);
}
void topk_rows(benchmark::State& state) {
  run(state, "x: f32[A, B]\ny, i = topk(x) axis=1 k=50\nreturn y, i", {{8, 32000}}, 8.0 * 32000);
}

BENCHMARK(conv3_64_56)->UseRealTime();
BENCHMARK(conv3_256_14)->UseRealTime();
BENCHMARK(conv3_512_7)->UseRealTime();
BENCHMARK(conv1_256_14)->UseRealTime();
BENCHMARK(depthwise3_256_28)->UseRealTime();
BENCHMARK(max_pool3_64_112)->UseRealTime();
BENCHMARK(gather_rows)->UseRealTime();
BENCHMARK(concat_columns)->UseRealTime();
BENCHMARK(transpose_copy)->UseRealTime();
BENCHMARK(cumsum_rows)->UseRealTime();
BENCHMARK(argmax_rows)->UseRealTime();
BENCHMARK(sort_rows)->UseRealTime();
BENCHMARK(topk_rows)->UseRealTime();

}  // namespace
}  // namespace tilewright::runtime
