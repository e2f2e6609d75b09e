// What it costs to bind, tile and encode one kernel at sizes that were never seen: thread CPU time of whole calls on a
// machine that runs nothing, 10,000 random shapes each. `cold`: so many KiB of other data pass through the caches
// between two calls, as they do when kernels run: 1 MiB takes the place of what the core's own caches held, 64 MiB (500
// shapes) of everything. Counters in microseconds: p50, p99 and max.
#include <benchmark/benchmark.h>
#include <time.h>

#include <algorithm>
#include <random>

#include "tilewright/runtime/session.h"
#include "tilewright/vm/cpu/machine.h"

namespace tilewright::runtime {
namespace {

constexpr std::int64_t kCold = 1 << 10, kIcy = 64 << 10;  // KiB

class IdleMachine final : public vm::Machine {
 public:
  explicit IdleMachine(const BackendTraits& traits) : traits_(traits) { traits_.threads = 2; }
  const BackendTraits& traits() const override { return traits_; }
  Status run(std::span<const isa::Word>, std::int64_t, std::span<std::byte* const>) override { return {}; }

 private:
  BackendTraits traits_;
};

// Addresses that nothing reads.
class NoSink final : public OutputSink {
 public:
  Result<std::byte*> allocate(std::size_t, DType, std::span<const std::int64_t>,
                              std::span<const std::int64_t>) override {
    return reinterpret_cast<std::byte*>(4096);
  }
};

double thread_micros() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e6 + static_cast<double>(now.tv_nsec) / 1e3;
}

// The symbols of the graph are drawn anew for each call: upper-case names from 1 to `most`.
struct Case {
  const char* text;
  std::int64_t most = 512;
};

class Calls {
 public:
  Calls(const Graph& graph, std::int64_t most) : graph_(graph), most_(most), args_(graph.inputs().size()) {}

  std::span<const TensorArg> draw() {
    drawn_.clear();
    for (std::size_t i = 0; i < args_.size(); ++i) {
      const TensorType& type = graph_.type(graph_.inputs()[i]);
      TensorArg& arg = args_[i];
      arg.dtype = type.dtype;
      arg.rank = static_cast<int>(type.shape.size());
      arg.data = reinterpret_cast<std::byte*>(4096);
      for (std::size_t axis = 0; axis < type.shape.size(); ++axis) arg.sizes[axis] = size(type.shape[axis]);
      std::int64_t stride = 1;
      for (std::size_t axis = type.shape.size(); axis-- > 0;) {
        arg.strides[axis] = stride;
        stride *= arg.sizes[axis];
      }
    }
    return args_;
  }

 private:
  std::int64_t size(Dim dim) {
    if (dim.constant()) return *dim.constant();
    for (const auto& [symbol, value] : drawn_) {
      if (symbol == dim) return value;
    }
    drawn_.push_back({dim, std::uniform_int_distribution<std::int64_t>(1, most_)(engine_)});
    return drawn_.back().second;
  }

  const Graph& graph_;
  std::int64_t most_;
  std::mt19937_64 engine_{1};
  std::vector<TensorArg> args_;
  std::vector<std::pair<Dim, std::int64_t>> drawn_;
};

void report(benchmark::State& state, std::vector<double>& times) {
  std::sort(times.begin(), times.end());
  const auto at = [&](double part) {
    return times[static_cast<std::size_t>(part * static_cast<double>(times.size()))];
  };
  state.counters["p50"] = at(0.5);
  state.counters["p99"] = at(0.99);
  state.counters["max"] = times.back();
}

void encode(benchmark::State& state, const Case& example) {
  constexpr int kWarm = 200;
  const int shapes = state.range(0) == kIcy ? 500 : 10'000;
  auto graph = parse_graph(example.text);
  if (!graph.ok()) return state.SkipWithError(graph.error().message.c_str());
  IdleMachine machine((*vm::make_cpu_machine())->traits());
  SessionOptions options;
  options.machine = &machine;
  auto session = Session::compile(std::move(*graph), options);
  if (!session.ok()) return state.SkipWithError(session.error().message.c_str());
  Calls calls((*session)->source(), example.most);
  NoSink sink;
  std::vector<char> other(static_cast<std::size_t>(state.range(0)) << 10);
  std::vector<double> times;
  for (auto _ : state) {
    times.clear();
    for (int i = -kWarm; i < shapes; ++i) {
      const auto args = calls.draw();
      for (std::size_t line = 0; line < other.size(); line += 64) ++other[line];
      benchmark::ClobberMemory();
      const double start = thread_micros();
      const Status status = (*session)->run(args, {}, sink);
      const double spent = thread_micros() - start;
      if (!status.ok()) return state.SkipWithError(status.error().message.c_str());
      if (i >= 0) times.push_back(spent);
    }
  }
  report(state, times);
}

#define CASE(name, ...)                \
  void name(benchmark::State& state) { \
    encode(state, Case{__VA_ARGS__});  \
  }                                    \
  BENCHMARK(name)->ArgName("cold")->Arg(0)->Arg(kCold)->Arg(kIcy)->Iterations(1)->Unit(benchmark::kMillisecond);

CASE(add, "x: f32[A, B]\ny: f32[A, B]\nz = add(x, y)\nreturn z")
CASE(matmul, "x: f32[M, K]\ny: f32[K, N]\nz = matmul(x, y)\nreturn z", 2048)
CASE(addmm_gelu, "x: f32[M, K]\nw: f32[K, N]\nb: f32[N]\np = matmul(x, w)\ns = add(p, b)\nz = gelu(s)\nreturn z", 2048)
CASE(layer_norm_residual,
     "x: f32[A, B, C]\nr: f32[A, B, C]\ng: f32[C]\nb: f32[C]\ns = add(x, r)\nz = layer_norm(s, g, b) num_axes=1 "
     "eps=1e-5\nreturn z")
CASE(softmax, "x: f32[A, B, C]\nz = softmax(x) axis=2\nreturn z")
CASE(masked_softmax, "x: f32[A, H, B, C]\nm: f32[A, 1, 1, C]\ns = add(x, m)\nz = softmax(s) axis=3\nreturn z", 64)
CASE(gelu_chain,
     "x: f32[A, B]\ny: f32[B]\na = add(x, y)\nb = gelu(a)\nc = mul(b, x)\nd = tanh(c)\ne = add(d, a)\nf = sigmoid(e)\n"
     "z = mul(f, b)\nreturn z")
CASE(variance,
     "x: f32[A, B]\nm = reduce_mean(x) axes=[1] keepdim=true\nd = sub(x, m)\ns = mul(d, d)\n"
     "z = reduce_mean(s) axes=[1] keepdim=false\nreturn z")
CASE(reduce_columns, "x: f32[A, B, C]\nz = reduce_sum(x) axes=[1] keepdim=false\nreturn z")
CASE(reduce_all, "x: f32[A, B]\nz = reduce_sum(x) axes=[0,1] keepdim=false\nreturn z", 2048)
CASE(gather, "x: f32[V, D]\ni: i64[A, B]\nz = gather(x, i) axis=0\nreturn z")
CASE(concat, "x: f32[A, B]\ny: f32[A, C]\nw: f32[A, D]\nz = concat(x, y, w) axis=1\nreturn z")
CASE(transpose_copy, "x: f32[A, B, C]\nt = transpose(x) perm=[2,0,1]\nz = reshape(t) shape=[A*B*C]\nreturn z")
CASE(attention,
     "q: f32[A, H, S, 64]\nk: f32[A, H, T, 64]\nv: f32[A, H, T, 64]\nm: f32[A, 1, 1, T]\nz = attention(q, k, v, m) "
     "scale=0.125 causal=false\nreturn z",
     256)
CASE(conv,
     "x: f32[N, C, H, W]\nw: f32[O, C, 3, 3]\nb: f32[O]\ny = conv(x, w, b) stride=[1,1] low=[1,1] high=[1,1] "
     "dilation=[1,1]\nz = relu(y)\nreturn z",
     128)
CASE(
    max_pool,
    "x: f32[N, C, H, W]\ny, i = max_pool(x) window=[3,3] stride=[2,2] low=[1,1] high=[1,1] dilation=[1,1]\nreturn y, i",
    128)
CASE(cumsum, "x: f32[A, B]\ny = cumsum(x) axis=1\nreturn y")
CASE(topk, "x: f32[A, B]\ny, i = topk(x) axis=1 k=1\nreturn y, i")

}  // namespace
}  // namespace tilewright::runtime
