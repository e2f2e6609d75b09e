// Random programs on every machine against graph/eval: one session per machine over many shapes and layouts, with the
// program cache on and off. TILEWRIGHT_FUZZ_SEED picks the first seed, TILEWRIGHT_FUZZ_PROGRAMS how many programs run.
#include <cstdlib>
#include <set>

#include "tilewright/graph/eval/eval.h"
#include "tilewright/runtime/random_program_rows.h"
#include "tilewright/runtime/session.h"
#include "tilewright/vm/cpu/machine.h"
#include "tilewright/vm/cpu/pool.h"

namespace tilewright::runtime {
namespace {

std::vector<std::unique_ptr<vm::Machine>>& machines() {
  static std::vector<std::unique_ptr<vm::Machine>> all = [] {
    std::vector<std::unique_ptr<vm::Machine>> made;
    made.push_back(vm::make_reference_machine());
    for (std::string_view level : vm::cpu_levels()) {
      auto machine = vm::make_cpu_machine({std::string(level)});
      if (machine.ok()) made.push_back(std::move(machine).value());
    }
    return made;
  }();
  return all;
}

std::uint64_t number_from_environment(const char* name, std::uint64_t otherwise) {
  const char* given = std::getenv(name);
  return given != nullptr ? std::strtoull(given, nullptr, 10) : otherwise;
}

struct Binding {
  std::unordered_map<std::string, std::int64_t> sizes;
  std::vector<DimValue> scalars;
  EvalOptions options;
  std::vector<Tensor> inputs;
};

std::int64_t evaluate(Dim dim, const Binding& binding) {
  DimProgram program;
  const DimProgram::Slot slot = program.add(dim);
  std::vector<DimValue> values(program.size());
  for (DimProgram::Slot symbol : program.symbol_slots())
    values[symbol].integer = binding.sizes.at(program.dim(symbol).name());
  return program.run(values).ok() ? values[slot].integer : 1;  // sizes that do not broadcast: the call is an error
}

// The largest number of elements of any value, as far as sizes fit.
std::int64_t largest(const Graph& graph, const Binding& binding) {
  std::int64_t most = 0;
  std::set<std::string> known;
  for (ValueId id = 0; id < graph.num_values(); ++id) {
    std::int64_t count = 1;
    for (Dim dim : graph.type(id).shape) {
      DimProgram program;
      const DimProgram::Slot slot = program.add(dim);
      std::vector<DimValue> values(program.size());
      for (DimProgram::Slot symbol : program.symbol_slots())
        values[symbol].integer = binding.sizes.at(program.dim(symbol).name());
      count *= program.run(values).ok() ? std::max<std::int64_t>(values[slot].integer, 1) : 1;
    }
    most = std::max(most, count);
  }
  return most;
}

Binding random_binding(Random& random, const RandomProgram& program, std::int64_t most_elements) {
  static constexpr std::int64_t kSizes[] = {0, 1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 33, 63, 64, 65, 127, 1000};
  Binding out;
  const Graph& graph = program.graph();
  std::int64_t limit = std::size(kSizes);
  const std::int64_t manner = below(random, 3);  // all equal, each 1 or the common size, each its own
  do {
    const std::int64_t common = kSizes[below(random, limit)];
    for (const char* name : {"a", "b", "c"}) {
      out.sizes[name] = manner == 0 || (manner == 1 && below(random, 2) == 0) ? common
                        : manner == 1                                         ? 1
                                                                              : kSizes[below(random, limit)];
    }
    limit = std::max<std::int64_t>(limit - 1, 2);
    out.sizes["k"] = below(random, 7) - 3;
  } while (largest(graph, out) > most_elements && limit > 2);
  out.scalars.resize(2);
  out.scalars[0].integer = out.sizes["k"];
  out.scalars[1].real = static_cast<double>(below(random, 17) - 8) / 8;
  out.options.scalars = {{"k", out.scalars[0]}, {"f", out.scalars[1]}};
  for (std::size_t i = 0; i < graph.inputs().size(); ++i) {
    const TensorType& type = graph.type(graph.inputs()[i]);
    std::vector<std::int64_t> sizes;
    for (Dim dim : type.shape) sizes.push_back(evaluate(dim, out));
    out.inputs.push_back(random_tensor(random, type.dtype, sizes, random_layout(random, program.is_assigned(i))));
  }
  return out;
}

std::vector<Tensor> clones(const std::vector<Tensor>& tensors) {
  std::vector<Tensor> out;
  for (const Tensor& tensor : tensors) out.push_back(clone(tensor));
  return out;
}

std::string describe(const Binding& binding) {
  std::string text = fmt::format("a={} b={} c={} k={} f={}", binding.sizes.at("a"), binding.sizes.at("b"),
                                 binding.sizes.at("c"), binding.scalars[0].integer, binding.scalars[1].real);
  for (const Tensor& input : binding.inputs) {
    text += "; sizes";
    for (std::int64_t size : input.sizes()) text += fmt::format(" {}", size);
    text += " strides";
    for (std::int64_t stride : input.strides()) text += fmt::format(" {}", stride);
  }
  return text;
}

// The outputs, and then the inputs that were assigned; or the error.
std::string compare(const RandomProgram& program, const Binding& binding, const Result<std::vector<Tensor>>& want,
                    const std::vector<Tensor>& want_inputs, Session& session) {
  const std::vector<Tensor> inputs = clones(binding.inputs);
  const auto got = session.run(inputs, binding.scalars);
  if (!want.ok()) {
    if (got.ok()) return fmt::format("no error, but the oracle says: {}", want.error().message);
    return got.error().kind == ErrorKind::kInternal ? got.error().message : "";
  }
  if (!got.ok()) return "error: " + got.error().message;
  for (std::size_t i = 0; i < want->size(); ++i) {
    const std::string text = difference((*got)[i], (*want)[i], 4 * program.bounds(program.graph().outputs()[i]).error);
    if (!text.empty()) return fmt::format("output {}: {}", i, text);
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const double error = program.is_assigned(i) ? program.assigned_bounds(i).error : 0;
    const std::string text = difference(inputs[i], want_inputs[i], 4 * error);
    if (!text.empty()) return fmt::format("input {} afterwards: {}", i, text);
  }
  return "";
}

// False: some op has no kernel yet.
bool check_program(std::uint64_t seed, int& failures) {
  static constexpr std::int64_t kMost[] = {64, 1000, 20000};
  Random random(seed * 7919 + 1);
  const std::int64_t most = kMost[below(random, 3)];
  const RandomProgram program(seed, most);
  std::vector<std::unique_ptr<Session>> sessions;
  for (std::size_t i = 0; i < machines().size() * 2; ++i) {
    if (i % 2 == 1 && i / 2 != seed % machines().size()) continue;  // one machine also without a cache
    SessionOptions options;
    options.machine = machines()[i / 2].get();
    options.pipeline.verify_each = i == 0;
    if (i % 2 == 1) options.runner.cache_bytes = 0;
    auto session = Session::compile(program.graph().clone(), options);
    if (!session.ok() && session.error().kind == ErrorKind::kUnsupported) return false;
    EXPECT_TRUE(session.ok()) << "seed " << seed << ": " << session.error().message << "\n" << print(program.graph());
    if (!session.ok()) return ++failures, true;
    sessions.push_back(std::move(*session));
  }
  const auto live = program.graph().clone();  // the oracle computes what nobody reads, and its errors with it
  passes::remove_dead_nodes(*live);
  std::vector<Binding> bindings;
  for (int call = 0; call < 4; ++call) {
    // The last call repeats sizes and strides of an earlier one: the cached program runs on other data.
    if (call < 3) bindings.push_back(random_binding(random, program, most));
    Binding binding = bindings[static_cast<std::size_t>(call < 3 ? call : below(random, 3))];
    std::vector<Tensor> want_inputs = clones(binding.inputs);
    const auto want = eval(*live, want_inputs, binding.options);
    for (std::size_t s = 0; s < sessions.size(); ++s) {
      const std::string text = compare(program, binding, want, want_inputs, *sessions[s]);
      EXPECT_EQ(text, "") << "seed " << seed << ", session " << s << ", call " << call << ", " << describe(binding)
                          << "\n"
                          << print(program.graph());
      if (!text.empty()) return ++failures, true;
    }
  }
  return true;
}

TEST(Property, RandomProgramsEqualTheOracle) {
  const std::uint64_t first = number_from_environment("TILEWRIGHT_FUZZ_SEED", 1);
  const std::uint64_t programs = number_from_environment("TILEWRIGHT_FUZZ_PROGRAMS", 3000);
  std::uint64_t skipped = 0;
  int failures = 0;
  for (std::uint64_t seed = first; seed < first + programs && failures < 5; ++seed) {
    if (!check_program(seed, failures)) ++skipped;
  }
  RecordProperty("programs_without_kernels", static_cast<int>(skipped));
  EXPECT_LT(skipped * 4, programs + 4) << "most programs have no kernels";
}

std::vector<std::vector<std::int64_t>> sizes_of(const std::vector<Tensor>& inputs) {
  std::vector<std::vector<std::int64_t>> out;
  for (const Tensor& input : inputs) out.emplace_back(input.sizes().begin(), input.sizes().end());
  return out;
}

TEST(Property, AProgramOfAWarmSessionEqualsAFreshOne) {
  for (std::uint64_t seed = 1; seed < 60; ++seed) {
    Random random(seed);
    const RandomProgram program(seed, 1000);
    auto warm = Session::compile(program.graph().clone());
    if (!warm.ok()) continue;
    for (int call = 0; call < 4; ++call) {
      const Binding binding = random_binding(random, program, 1000);
      const auto one = (*warm)->encode(sizes_of(binding.inputs), binding.scalars);
      auto fresh = Session::compile(program.graph().clone());
      const auto other = (*fresh)->encode(sizes_of(binding.inputs), binding.scalars);
      ASSERT_EQ(one.ok(), other.ok());
      if (!one.ok()) continue;
      ASSERT_EQ(one->size(), other->size());
      for (std::size_t i = 0; i < one->size(); ++i)
        ASSERT_EQ((*one)[i].words, (*other)[i].words) << "seed " << seed << ", call " << call;
    }
  }
}

constexpr std::string_view kRowGraph = R"(
    x: f32[B, 173]
    weight w: f32[173, 65]
    g: f32[173]
    n = layer_norm(x, g) num_axes=1 eps=0.01
    p = softmax(n) axis=1
    m = matmul(p, w)
    e = gelu(m)
    s = reduce_sum(x) axes=[1]
    return e, p, s
  )";

bool same_bytes(const Tensor& a, const Tensor& b) {
  return a.bytes() == b.bytes() &&
         (a.bytes() == 0 || std::memcmp(a.data(), b.data(), static_cast<std::size_t>(a.bytes())) == 0);
}

Tensor rows(const Tensor& x, std::int64_t first, std::int64_t count) {
  std::vector<std::int64_t> sizes(x.sizes().begin(), x.sizes().end());
  sizes[0] = count;
  return Tensor(x.dtype(), sizes, {x.strides().begin(), x.strides().end()},
                x.data_as<std::byte>() + first * x.strides()[0] * byte_size(x.dtype()), x.owner());
}

TEST(Property, ARowDoesNotDependOnItsBatch) {
  Random random(3);
  for (const auto& machine : machines()) {
    auto graph = parse_graph(kRowGraph);
    SessionOptions options;
    options.machine = machine.get();
    auto session = Session::compile(std::move(*graph), options);
    ASSERT_TRUE(session.ok()) << session.error().message;
    const Tensor x = random_tensor(random, DType::kF32, {37, 173}, Layout::kContiguous),
                 w = random_tensor(random, DType::kF32, {173, 65}, Layout::kContiguous),
                 g = random_tensor(random, DType::kF32, {173}, Layout::kContiguous);
    const auto all = (*session)->run(std::vector<Tensor>{x, w, g});
    ASSERT_TRUE(all.ok()) << all.error().message;
    for (std::int64_t count : {1, 2, 5, 8, 36}) {
      const auto some = (*session)->run(std::vector<Tensor>{rows(x, 1, count), w, g});
      ASSERT_TRUE(some.ok());
      for (std::size_t i = 0; i < all->size(); ++i) {
        EXPECT_TRUE(same_bytes((*some)[i], rows((*all)[i], 1, count)))
            << machine->traits().name << ", output " << i << ", " << count << " rows";
      }
    }
  }
}

TEST(Property, ResultsDoNotDependOnTheNumberOfThreads) {
  Random random(4);
  const Tensor x = random_tensor(random, DType::kF32, {700, 173}, Layout::kContiguous),
               w = random_tensor(random, DType::kF32, {173, 65}, Layout::kContiguous),
               g = random_tensor(random, DType::kF32, {173}, Layout::kContiguous);
  const int before = vm::cpu::num_threads();
  for (std::string_view level : vm::cpu_levels()) {
    std::vector<std::vector<Tensor>> results;
    for (int threads : {1, 2, 5}) {
      vm::cpu::set_num_threads(threads);
      auto machine = vm::make_cpu_machine({std::string(level)});
      ASSERT_TRUE(machine.ok());
      SessionOptions options;
      options.machine = machine->get();
      auto session = Session::compile(std::move(parse_graph(kRowGraph)).value(), options);
      ASSERT_TRUE(session.ok()) << session.error().message;
      auto result = (*session)->run(std::vector<Tensor>{x, w, g});
      ASSERT_TRUE(result.ok());
      results.push_back(std::move(*result));
    }
    for (std::size_t i = 0; i < results[0].size(); ++i) {
      EXPECT_TRUE(same_bytes(results[0][i], results[1][i]) && same_bytes(results[0][i], results[2][i]))
          << level << ", output " << i;
    }
  }
  vm::cpu::set_num_threads(before);
}

}  // namespace
}  // namespace tilewright::runtime
