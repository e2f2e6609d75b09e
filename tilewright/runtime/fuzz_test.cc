// What damaged graphs and programs do when they run. A graph whose text was changed compiles or is refused; its calls
// end as the oracle's do: with results of the same sizes, or with an error of the caller's kind. Encoded programs of
// random graphs with changed words stay in their buffers, whatever the verifier lets through.
#include "tilewright/graph/eval/eval.h"
#include "tilewright/runtime/random_program_rows.h"
#include "tilewright/runtime/session.h"
#include "tilewright/vm/cpu/machine.h"
#include "tilewright/vm/cpu/pool.h"
#include "tilewright/vm/program_fuzz_testing.h"

namespace tilewright::runtime {
namespace {

using tilewright::testing::FuzzRun;
using Sizes = std::unordered_map<std::string, std::int64_t>;

constexpr std::int64_t kSizes[] = {0, 1, 2, 3, 5, 8, 17};

// The value of a size, or -1 where it cannot be known before the call, or has none.
std::int64_t evaluate(Dim dim, const Sizes& sizes) {
  DimProgram program;
  const DimProgram::Slot slot = program.add(dim);
  std::vector<DimValue> values(program.size());
  for (DimProgram::Slot symbol : program.symbol_slots()) {
    const auto found = sizes.find(program.dim(symbol).name());
    if (found == sizes.end()) return -1;
    values[symbol].integer = found->second;
  }
  return program.run(values).ok() ? values[slot].integer : -1;
}

// Whether every value has a size that is known and small, so that a call ends soon.
bool is_small(const Graph& graph, const Sizes& sizes) {
  for (ValueId id = 0; id < graph.num_values(); ++id) {
    double count = 1;
    for (Dim dim : graph.type(id).shape) {
      const std::int64_t size = evaluate(dim, sizes);
      if (size < 0) return false;
      count *= static_cast<double>(std::max<std::int64_t>(size, 1));
    }
    if (count > 20000) return false;
  }
  return true;
}

void collect(Dim dim, Sizes& sizes, FuzzRun& run) {
  DimProgram program;
  program.add(dim);
  for (DimProgram::Slot symbol : program.symbol_slots())
    sizes.emplace(program.dim(symbol).name(), kSizes[run.below(std::size(kSizes))]);
}

bool has_regions(const Graph& graph) {
  for (NodeId id = 0; id < graph.num_nodes(); ++id)
    if (!graph.node(id).regions.empty()) return true;
  return false;
}

// Swaps words and numbers of a text, so that much of it stays a graph.
void change_words(std::string& text, FuzzRun& run) {
  const auto word = [&](std::size_t from) {
    const auto in_word = [&](std::size_t i) {
      return i < text.size() && (std::isalnum(static_cast<unsigned char>(text[i])) != 0 || text[i] == '_');
    };
    while (from < text.size() && !in_word(from)) ++from;
    while (from > 0 && in_word(from - 1)) --from;
    std::size_t end = from;
    while (in_word(end)) ++end;
    return std::pair(from, end - from);
  };
  static constexpr std::string_view kWords[] = {"0",          "1",    "2",   "-1",  "3",    "7",  "9223372036854775807",
                                                "4294967296", "true", "f32", "i64", "bool", "f16"};
  for (std::uint64_t i = run.below(3); i > 0; --i) {
    const auto [to, length] = word(run.below(text.size()));
    const auto [from, other] = word(run.below(text.size()));
    text.replace(to, length,
                 run.below(3) == 0 ? std::string(kWords[run.below(std::size(kWords))]) : text.substr(from, other));
  }
}

TEST(GraphRunFuzz, ChangedGraphsRunAsTheOracleSays) {
  auto machine = vm::make_cpu_machine({});
  ASSERT_TRUE(machine.ok());
  std::uint64_t ran = 0;
  FuzzRun run(60);
  while (run.next()) {
    const RandomProgram program(run.below(1000), 1000);
    std::string text = print(program.graph());
    change_words(text, run);
    run.note(text);
    auto graph = parse_graph(text);
    if (!graph.ok() || has_regions(**graph)) continue;
    Sizes sizes;
    for (ValueId id : (*graph)->inputs())
      for (Dim dim : (*graph)->type(id).shape) collect(dim, sizes, run);
    std::vector<DimValue> scalars((*graph)->scalar_inputs().size());
    EvalOptions eval_options;
    for (std::size_t i = 0; i < scalars.size(); ++i) {
      const Dim dim = (*graph)->scalar_inputs()[i];
      if (dim.is_float()) {
        scalars[i].real = 0.5;
      } else {
        scalars[i].integer = static_cast<std::int64_t>(run.below(7)) - 3;
        sizes[std::string(dim.name())] = scalars[i].integer;
      }
      eval_options.scalars[std::string(dim.name())] = scalars[i];
    }
    if (!is_small(**graph, sizes)) continue;
    for (const auto& [name, size] : sizes) text += fmt::format("# {} = {}\n", name, size);
    run.note(text);
    SessionOptions options;
    options.machine = machine->get();
    options.pipeline.verify_each = true;
    auto session = Session::compile((*graph)->clone(), options);
    if (!session.ok()) {
      ASSERT_NE(session.error().kind, ErrorKind::kInternal) << session.error().message << "\n" << text;
      continue;
    }
    std::vector<Tensor> inputs;
    for (ValueId id : (*graph)->inputs()) {
      std::vector<std::int64_t> of;
      for (Dim dim : (*graph)->type(id).shape) of.push_back(evaluate(dim, sizes));
      inputs.push_back(random_tensor(run.engine(), (*graph)->type(id).dtype, of, Layout::kContiguous));
    }
    const auto got = (*session)->run(inputs, scalars);
    std::vector<Tensor> again;
    for (const Tensor& input : inputs) again.push_back(clone(input));
    passes::remove_dead_nodes(**graph);
    const auto want = eval(**graph, again, eval_options);
    if (!want.ok() && want.error().message.ends_with("has no value"))
      continue;  // 0 times it is 0: a call may do without
    ASSERT_EQ(got.ok(), want.ok()) << (got.ok() ? want.error().message : got.error().message) << "\n" << text;
    if (!got.ok()) {
      ASSERT_NE(got.error().kind, ErrorKind::kInternal) << got.error().message << "\n" << text;
      continue;
    }
    ++ran;
    for (std::size_t i = 0; i < got->size(); ++i) {
      ASSERT_EQ((*got)[i].dtype(), (*want)[i].dtype()) << text;
      ASSERT_TRUE(std::ranges::equal((*got)[i].sizes(), (*want)[i].sizes())) << text;
    }
  }
  EXPECT_GT(ran, run.rounds() / 100) << "of " << run.rounds();
}

// Programs as the compiler makes them, for random graphs and sizes.
std::vector<isa::Program> encoded(FuzzRun& run) {
  const RandomProgram program(run.below(1000), 1000);
  auto session = Session::compile(program.graph().clone());
  if (!session.ok()) return {};
  Sizes sizes;
  for (ValueId id : program.graph().inputs())
    for (Dim dim : program.graph().type(id).shape) collect(dim, sizes, run);
  std::vector<DimValue> scalars(2);
  sizes["k"] = scalars[0].integer = static_cast<std::int64_t>(run.below(7)) - 3;
  scalars[1].real = 0.5;
  if (!is_small(program.graph(), sizes)) return {};
  std::vector<std::vector<std::int64_t>> shapes;
  for (ValueId id : program.graph().inputs()) {
    shapes.emplace_back();
    for (Dim dim : program.graph().type(id).shape) shapes.back().push_back(evaluate(dim, sizes));
  }
  auto programs = (*session)->encode(shapes, scalars);
  return programs.ok() ? std::move(*programs) : std::vector<isa::Program>{};
}

TEST(EncodedProgramFuzz, WhatTheVerifierAcceptsStaysInItsBuffers) {
  const int before = vm::cpu::num_threads();
  vm::cpu::set_num_threads(1);  // tasks of a damaged program may share memory
  std::vector<std::unique_ptr<vm::Machine>> machines;
  for (std::string_view level : vm::cpu_levels()) {
    auto machine = vm::make_cpu_machine({std::string(level)});
    if (machine.ok()) machines.push_back(std::move(*machine));
  }
  machines.push_back(vm::make_reference_machine());
  std::uint64_t accepted = 0;
  FuzzRun run;
  while (run.next()) {
    for (const isa::Program& whole : encoded(run)) {
      if (whole.words.empty()) continue;
      ASSERT_EQ(isa::assemble(isa::disassemble(whole)).value().words, whole.words);
      ASSERT_EQ(isa::decode_file(isa::encode_file(whole)).value().words, whole.words);
      for (int times = 0; times < 20; ++times) {
        isa::Program program = whole;
        if (times > 0) vm::testing::damage_words(program, run);
        const Status status = isa::verify_program(program);
        ASSERT_TRUE(status.ok() || times > 0) << status.error().message;
        if (!status.ok() || !vm::testing::ends_soon(program)) continue;
        ++accepted;
        vm::testing::run_in_exact_memory(*machines[run.below(machines.size())], program, run);
      }
    }
  }
  EXPECT_GT(accepted, run.rounds() / 4);
  vm::cpu::set_num_threads(before);
}

}  // namespace
}  // namespace tilewright::runtime
