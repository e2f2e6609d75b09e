// The cost model beside the clock: kernels of random shapes, encoded as a call would encode them, each instruction run
// alone on one thread with warm caches, its best time against what vm/cpu/cost.h predicts. One line an instruction as
// CSV on stdout (family, instruction, sizes, tasks, predicted and measured microseconds), medians of the error on
// stderr.
//   cmake --build build --target cost_model && build/cost_model [shapes of each family, 40] [seed, 1] > costs.csv
#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <random>

#include "tilewright/isa/layout.h"
#include "tilewright/runtime/session.h"
#include "tilewright/vm/cpu/cost.h"
#include "tilewright/vm/cpu/machine.h"
#include "tilewright/vm/cpu/pool.h"

using namespace tilewright;

namespace {

constexpr double kOverheadMicros = 0.05;  // of a call of the machine with one instruction
constexpr double kLeastMicros = 0.3;      // shorter ones are all overhead

double thread_micros() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e6 + static_cast<double>(now.tv_nsec) * 1e-3;
}

struct Row {
  std::string family, instruction, sizes;
  std::int64_t tasks;
  double predicted, measured;
  double error() const { return std::abs(predicted - measured) / measured; }
};

// Outer dims and inner, then the fields.
std::string sizes_of(const isa::Inst& inst) {
  const isa::Layout at = isa::layout_of(inst);
  std::string text;
  for (int d = 0; d < at.rank; ++d) text += fmt::format("{}x", at.dims()[d]);
  text += fmt::format("{}", inst.inner());
  for (int i = 0; i < at.fields; ++i) text += fmt::format(" {}", at.field(i));
  return text;
}

// Runs each instruction many times, alone.
class Measuring final : public vm::Machine {
 public:
  explicit Measuring(vm::Machine& machine) : machine_(machine) {}
  const BackendTraits& traits() const override { return machine_.traits(); }
  Status run(std::span<const isa::Word> words, std::int64_t scratch_bytes,
             std::span<std::byte* const> buffers) override {
    const int threads = vm::cpu::num_threads();
    vm::cpu::set_num_threads(1);
    for (const isa::Word* at = words.data(); at < words.data() + words.size(); at += isa::Inst(at).num_words()) {
      const isa::Inst inst(at);
      const std::span<const isa::Word> one(at, inst.num_words());
      double best = 1e30;
      int calls = 1;
      for (int sample = 0; sample < 12; ++sample) {
        const double start = thread_micros();
        for (int call = 0; call < calls; ++call) TW_TRY(machine_.run(one, scratch_bytes, buffers));
        const double micros = (thread_micros() - start) / calls;
        best = std::min(best, micros);
        calls = std::max(1, static_cast<int>(100 / std::max(micros, 0.1)));
      }
      rows.push_back({family, std::string(isa::find_inst(inst.opcode())->text), sizes_of(inst), inst.tasks(),
                      vm::cpu::predict_microseconds(inst, traits()), best - kOverheadMicros});
    }
    vm::cpu::set_num_threads(threads);
    return {};
  }

  std::string family;
  std::vector<Row> rows;

 private:
  vm::Machine& machine_;
};

struct Family {
  const char* name;
  const char* text;
  std::vector<std::vector<const char*>> shapes;  // of each input: symbols or numbers
  std::map<std::string, std::pair<int, int>> sizes;
};

const Family kFamilies[] = {
    {"matmul",
     "a: f32[M, K]\nb: f32[K, N]\nc = matmul(a, b)\nreturn c",
     {{"M", "K"}, {"K", "N"}},
     {{"M", {1, 512}}, {"K", {16, 1024}}, {"N", {16, 1024}}}},
    {"addmm+gelu",
     "a: f32[M, K]\nb: f32[K, N]\nd: f32[N]\nc = matmul(a, b)\ne = add(c, d)\ng = gelu(e)\nreturn g",
     {{"M", "K"}, {"K", "N"}, {"N"}},
     {{"M", {1, 512}}, {"K", {16, 512}}, {"N", {16, 1024}}}},
    {"batched matmul",
     "a: f32[B, M, K]\nb: f32[B, K, N]\nc = matmul(a, b)\nreturn c",
     {{"B", "M", "K"}, {"B", "K", "N"}},
     {{"B", {2, 16}}, {"M", {1, 96}}, {"K", {8, 128}}, {"N", {8, 128}}}},
    {"add",
     "a: f32[M, N]\nb: f32[N]\nc = add(a, b)\nreturn c",
     {{"M", "N"}, {"N"}},
     {{"M", {1, 256}}, {"N", {16, 1024}}}},
    {"chain",
     "a: f32[M, N]\nb: f32[M, N]\nc = mul(a, b)\nd = add(c, a)\ne = tanh(d)\nf = sub(e, b)\ng = exp(f)\nreturn g",
     {{"M", "N"}, {"M", "N"}},
     {{"M", {1, 256}}, {"N", {16, 1024}}}},
    {"short rows",
     "a: f32[M, N]\nb: f32[M, 1]\nc = mul(a, b)\nreturn c",
     {{"M", "N"}, {"M", "1"}},
     {{"M", {16, 4096}}, {"N", {2, 96}}}},
    {"softmax", "a: f32[M, N]\nc = softmax(a) axis=1\nreturn c", {{"M", "N"}}, {{"M", {1, 512}}, {"N", {8, 2048}}}},
    {"layer norm",
     "a: f32[M, N]\nr: f32[M, N]\nw: f32[N]\nb: f32[N]\ns = add(a, r)\nc = layer_norm(s, w, b) num_axes=1 "
     "eps=0.00001\nreturn c",
     {{"M", "N"}, {"M", "N"}, {"N"}, {"N"}},
     {{"M", {1, 512}}, {"N", {16, 2048}}}},
    {"row sum",
     "a: f32[M, N]\nb = exp(a)\nc = reduce_sum(b) axes=[1] keepdim=false\nreturn c",
     {{"M", "N"}},
     {{"M", {1, 512}}, {"N", {16, 2048}}}},
    {"column sum",
     "a: f32[M, N]\nc = reduce_sum(a) axes=[0] keepdim=false\nreturn c",
     {{"M", "N"}},
     {{"M", {2, 1024}}, {"N", {16, 1024}}}},
    {"transpose",
     "a: f32[M, N]\nt = transpose(a) perm=[1,0]\nc = add(t, t)\nreturn c",
     {{"M", "N"}},
     {{"M", {8, 512}}, {"N", {8, 512}}}},
    {"attention",
     "q: f32[B, 8, S, 64]\nk: f32[B, 8, T, 64]\nv: f32[B, 8, T, 64]\nc = attention(q, k, v) scale=0.125\nreturn c",
     {{"B", "8", "S", "64"}, {"B", "8", "T", "64"}, {"B", "8", "T", "64"}},
     {{"B", {1, 3}}, {"S", {1, 200}}, {"T", {8, 256}}}},
    {"conv",
     "x: f32[1, C, H, W]\nw: f32[O, C, 3, 3]\ny = conv(x, w) stride=[1,1] low=[1,1] high=[1,1] dilation=[1,1]\nreturn "
     "y",
     {{"1", "C", "H", "W"}, {"O", "C", "3", "3"}},
     {{"C", {3, 64}}, {"H", {7, 56}}, {"W", {7, 56}}, {"O", {8, 64}}}},
    {"max pool",
     "x: f32[1, C, H, W]\ny, i = max_pool(x) window=[3,3] stride=[2,2] low=[1,1] high=[1,1] dilation=[1,1]\nreturn y",
     {{"1", "C", "H", "W"}},
     {{"C", {8, 64}}, {"H", {14, 112}}, {"W", {14, 112}}}},
};

Tensor filled(DType dtype, const std::vector<std::int64_t>& sizes) {
  Tensor out(dtype, sizes);
  for (std::int64_t i = 0; i < out.count(); ++i)
    out.data_as<float>()[i] = static_cast<float>(i * 7919 % 1000) / 500 - 1;
  return out;
}

void measure(const Family& family, int shapes, std::mt19937& random, Measuring& machine) {
  auto graph = parse_graph(family.text);
  TW_CHECK(graph.ok(), "the text of a family parses");
  runtime::SessionOptions options;
  options.machine = &machine;
  auto session = runtime::Session::compile(std::move(*graph), options);
  TW_CHECK(session.ok(), "a family compiles");
  machine.family = family.name;
  for (int i = 0; i < shapes; ++i) {
    std::map<std::string, std::int64_t> drawn;
    for (const auto& [name, range] : family.sizes) {  // small sizes are as likely as large ones
      const double low = std::log(range.first), high = std::log(range.second);
      drawn[name] = std::lround(std::exp(std::uniform_real_distribution<double>(low, high)(random)));
    }
    std::vector<Tensor> inputs;
    for (const auto& shape : family.shapes) {
      std::vector<std::int64_t> sizes;
      for (const char* size : shape) sizes.push_back(drawn.contains(size) ? drawn[size] : std::atoi(size));
      inputs.push_back(filled(DType::kF32, sizes));
    }
    const auto got = (*session)->run(inputs);
    TW_CHECK(got.ok(), "a family runs");
  }
}

double quantile(std::vector<double> values, double part) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  return values[static_cast<std::size_t>(part * static_cast<double>(values.size() - 1))];
}

void summarise(const std::vector<Row>& rows) {
  std::map<std::string, std::vector<double>> errors, ratios;
  for (const Row& row : rows) {
    if (row.measured < kLeastMicros) continue;
    for (const std::string& key : {row.family + ": " + row.instruction, std::string("~ all")}) {
      errors[key].push_back(row.error());
      ratios[key].push_back(row.predicted / row.measured);
    }
  }
  for (const auto& [key, list] : errors) {
    fmt::print(
        stderr,
        "{:<28} {:5} instructions, error median {:5.1f} %, 0.9-quantile {:5.1f} %, predicted / measured {:.2f}\n", key,
        list.size(), 100 * quantile(list, 0.5), 100 * quantile(list, 0.9), quantile(ratios[key], 0.5));
  }
}

}  // namespace

int main(int argc, char** argv) {
  const int shapes = argc > 1 ? std::atoi(argv[1]) : 40;
  std::mt19937 random(argc > 2 ? static_cast<unsigned>(std::atoi(argv[2])) : 1);
  auto cpu = vm::make_cpu_machine();
  if (!cpu.ok()) {
    fmt::print(stderr, "{}\n", cpu.error().message);
    return 1;
  }
  Measuring machine(**cpu);
  for (const Family& family : kFamilies) measure(family, shapes, random, machine);
  fmt::print("family,instruction,sizes and fields,tasks,predicted,measured\n");
  for (const Row& row : machine.rows) {
    fmt::print("{},{},{},{},{:.3f},{:.3f}\n", row.family, row.instruction, row.sizes, row.tasks, row.predicted,
               row.measured);
  }
  summarise(machine.rows);
}
