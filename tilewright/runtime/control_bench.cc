// What control flow costs beyond what its regions do: a trip of a loop and the decision of a branch, thread CPU time.
// "programs" runs the bytecode of the same regions by itself; the difference per trip is the runtime's part.
#include <benchmark/benchmark.h>

#include "tilewright/runtime/session.h"
#include "tilewright/vm/cpu/machine.h"

namespace tilewright::runtime {
namespace {

constexpr std::string_view kWhile = R"(
    n: i64[]
    x: f32[S]
    i, y = while(n, x) {
      i: i64[]
      v: f32[S]
      z = scalar() dtype=i64 value=0
      go = gt(i, z)
      return go
    } {
      i: i64[]
      v: f32[S]
      one = scalar() dtype=i64 value=1
      j = sub(i, one)
      w = neg(v)
      return j, w
    }
    return y)";
constexpr std::string_view kCondition = "i: i64[] z = scalar() dtype=i64 value=0 go = gt(i, z) return go";
constexpr std::string_view kBody =
    "i: i64[] v: f32[S] one = scalar() dtype=i64 value=1 j = sub(i, one) w = neg(v) return j, w";
constexpr std::string_view kScan = R"(
    n: i64[]
    x: f32[S]
    item(n) symbol=t
    y, all = scan(x) carried=1 trips=t {
      i: i64[]
      v: f32[S]
      w = neg(v)
      return w, w
    }
    return y)";
constexpr std::string_view kIf = R"(
    c: bool[]
    x: f32[S]
    y = if(c) {
      capture a = x
      n = neg(a)
      return n
    } {
      capture a = x
      n = abs(a)
      return n
    }
    return y)";
constexpr std::string_view kNoIf = "c: bool[] x: f32[S] y = neg(x) return y";

std::unique_ptr<Session> compile(std::string_view text) {
  auto graph = parse_graph(text);
  TW_CHECK(graph.ok(), "the text of a benchmark parses");
  auto session = Session::compile(std::move(*graph));
  TW_CHECK(session.ok(), "the text of a benchmark compiles");
  return std::move(*session);
}

class FixedSink final : public OutputSink {
 public:
  Result<std::byte*> allocate(std::size_t output, DType, std::span<const std::int64_t>,
                              std::span<const std::int64_t>) override {
    return memory_[output % 4].data();
  }

 private:
  std::vector<std::array<std::byte, 1 << 16>> memory_ = std::vector<std::array<std::byte, 1 << 16>>(4);
};

void run(benchmark::State& state, std::string_view text, const Tensor& first, std::int64_t per_run) {
  auto session = compile(text);
  const Tensor x = Tensor::zeros(DType::kF32, {16});
  const std::array<TensorArg, 2> inputs{TensorArg::of(first), TensorArg::of(x)};
  FixedSink sink;
  for (auto _ : state) TW_CHECK(session->run(inputs, {}, sink).ok(), "runs");
  state.SetItemsProcessed(state.iterations() * per_run);
  state.counters["each"] = benchmark::Counter(static_cast<double>(state.iterations() * per_run),
                                              benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

void while_trip(benchmark::State& state) {
  run(state, kWhile, Tensor::scalar<std::int64_t>(10000), 10000);
}
void scan_trip(benchmark::State& state) {
  run(state, kScan, Tensor::scalar<std::int64_t>(256), 256);
}
void if_decision(benchmark::State& state) {
  run(state, kIf, Tensor::zeros(DType::kBool, {}), 1);
}
void without_decision(benchmark::State& state) {
  run(state, kNoIf, Tensor::zeros(DType::kBool, {}), 1);
}

void while_programs(benchmark::State& state) {
  auto machine = default_machine();
  TW_CHECK(machine.ok(), "there is a machine");
  const auto condition = compile(kCondition)->encode(std::vector<std::vector<std::int64_t>>{{}});
  const auto body = compile(kBody)->encode(std::vector<std::vector<std::int64_t>>{{}, {16}});
  TW_CHECK(condition.ok() && body.ok(), "they encode");
  std::vector<std::byte> memory(1 << 16);
  const auto buffers_of = [&](const isa::Program& program) {
    std::vector<std::byte*> buffers;
    for (std::size_t i = 0; i < program.buffers.size(); ++i) buffers.push_back(memory.data() + 4096 * i);
    return buffers;
  };
  const auto first = buffers_of((*condition)[0]), second = buffers_of((*body)[0]);
  for (auto _ : state) {
    TW_CHECK((*machine)->run((*condition)[0].words, (*condition)[0].scratch_bytes, first).ok(), "runs");
    TW_CHECK((*machine)->run((*body)[0].words, (*body)[0].scratch_bytes, second).ok(), "runs");
  }
  state.counters["each"] = benchmark::Counter(static_cast<double>(state.iterations()),
                                              benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

// Which form of a speculative kernel runs: what binding a call adds for it, with as many sizes as one may compare.
void speculation_choice(benchmark::State& state) {
  Speculation speculation;
  std::vector<DimValue> dims(16);
  for (Slot i = 0; i < 8; ++i) {
    speculation.equal.emplace_back(2 * i, 2 * i + 1);
    dims[2 * i].integer = dims[2 * i + 1].integer = i;
  }
  for (auto _ : state) {
    benchmark::DoNotOptimize(dims.data());
    benchmark::DoNotOptimize(choose(speculation, dims));
  }
  state.counters["each"] = benchmark::Counter(static_cast<double>(state.iterations()),
                                              benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

BENCHMARK(speculation_choice);
BENCHMARK(while_trip);
BENCHMARK(while_programs);
BENCHMARK(scan_trip);
BENCHMARK(if_decision);
BENCHMARK(without_decision);

}  // namespace
}  // namespace tilewright::runtime
