// tilewright inspect FILE: what is inside a graph text, a stored model or a bytecode program; of a graph also what the
// passes make of it (--optimised), and the bytecode of a call with given sizes (--bytecode).
#include <cstdio>
#include <map>

#include "cli/command.h"
#include "cli/inputs.h"
#include "cli/model.h"
#include "tilewright/graph/graph.h"
#include "tilewright/isa/program.h"
#include "tilewright/runtime/model_source.h"

namespace tilewright::cli {

namespace {

Json values_json(const Graph& graph, const std::vector<ValueId>& values) {
  Json out = Json::array();
  for (const ValueId value : values) {
    out.push_back({{"name", graph.value(value).name}, {"type", to_string(graph.type(value))}});
  }
  return out;
}

Json graph_json(const Graph& graph) {
  std::map<std::string_view, int> ops;
  for (const NodeId node : graph.order()) ++ops[info(graph.node(node).op).text];
  Json scalars = Json::array();
  for (const Dim symbol : graph.scalar_inputs()) scalars.push_back(to_string(symbol));
  return {{"kind", "graph"},
          {"name", graph.name},
          {"inputs", values_json(graph, graph.inputs())},
          {"scalars", scalars},
          {"outputs", values_json(graph, graph.outputs())},
          {"nodes", graph.order().size()},
          {"ops", ops}};
}

std::string_view text_of(isa::BufferKind kind) {
  switch (kind) {
    case isa::BufferKind::kArena:
      return "arena";
    case isa::BufferKind::kInput:
      return "input";
    case isa::BufferKind::kOutput:
      return "output";
    case isa::BufferKind::kConstant:
      return "constant";
    case isa::BufferKind::kPacked:
      return "packed";
  }
  __builtin_unreachable();
}

Json program_json(const isa::Program& program) {
  Json buffers = Json::array();
  for (const isa::Buffer& buffer : program.buffers) {
    buffers.push_back({{"kind", text_of(buffer.kind)}, {"bytes", buffer.bytes}});
  }
  std::map<std::string_view, int> counts;
  for (std::size_t at = 0; at < program.words.size();) {
    const isa::Inst inst(&program.words[at]);
    ++counts[isa::find_inst(inst.opcode())->text];
    at += inst.num_words();
  }
  return {{"kind", "program"},
          {"words", program.words.size()},
          {"scratch_bytes", program.scratch_bytes},
          {"buffers", buffers},
          {"instructions", counts}};
}

struct InspectOptions {
  std::string path;
  bool optimised = false, bytecode = false;
  InputOptions inputs;
};

// Passes programs on to the machine of the process and keeps their text.
class Recorder final : public vm::Machine {
 public:
  explicit Recorder(vm::Machine& machine) : machine_(machine) {}
  const BackendTraits& traits() const override { return machine_.traits(); }
  Status run(std::span<const isa::Word> words, std::int64_t scratch_bytes,
             std::span<std::byte* const> buffers) override {
    const isa::Program program{{}, {words.begin(), words.end()}, scratch_bytes};
    launches_.push_back(isa::disassemble(program));
    return machine_.run(words, scratch_bytes, buffers);
  }
  const std::vector<std::string>& launches() const { return launches_; }

 private:
  vm::Machine& machine_;
  std::vector<std::string> launches_;
};

Status inspect_optimised(std::unique_ptr<Graph> graph, Json& report) {
  TW_ASSIGN(const std::vector<passes::PassReport> reports, passes::run_pipeline(*graph));
  Json rows = Json::array();
  for (const passes::PassReport& pass : reports) {
    rows.push_back({{"pass", pass.name}, {"micros", pass.micros}, {"changed", pass.changed}});
  }
  report["passes"] = rows;
  report["optimised"] = print(*graph);
  return {};
}

Status inspect_bytecode(const InspectOptions& inspected, Json& report) {
  TW_ASSIGN(vm::Machine* const machine, runtime::default_machine());
  Recorder recorder(*machine);
  runtime::SessionOptions options;
  options.machine = &recorder;
  TW_ASSIGN(Model model, Model::open(inspected.path, options));
  TW_ASSIGN(const SizeRanges ranges, parse_sizes(inspected.inputs.sizes));
  const Sizes sizes = draw_sizes(ranges, inspected.inputs.seed);
  TW_ASSIGN(const std::vector<Tensor> inputs, make_inputs(model.graph(), model.weights(), inspected.inputs, sizes));
  TW_ASSIGN(const std::vector<DimValue> scalars, make_scalars(model.graph(), inspected.inputs));
  TW_ASSIGN(const std::vector<Tensor> outputs, model.run(inputs, scalars));
  report["launches"] = recorder.launches();
  return {};
}

void print_graph_text(const Graph& graph, const Json& report) {
  if (report.contains("passes")) {
    for (const Json& pass : report["passes"]) {
      std::printf("# %-28s %9.1f us%s\n", pass["pass"].get<std::string>().c_str(), pass["micros"].get<double>(),
                  pass["changed"].get<bool>() ? "  changed" : "");
    }
    std::fputs(report["optimised"].get<std::string>().c_str(), stdout);
  }
  if (report.contains("launches")) {
    for (const Json& launch : report["launches"]) std::printf("# one launch\n%s", launch.get<std::string>().c_str());
  }
  if (!report.contains("passes") && !report.contains("launches")) std::fputs(print(graph).c_str(), stdout);
}

Status inspect_model(const InspectOptions& options, bool json) {
  TW_ASSIGN(const runtime::ModelContents contents, read_contents(options.path));
  Json report = graph_json(*contents.graph);
  for (const auto& [name, weight] : contents.weights) report["weights"][name] = runtime::describe_type(weight);
  for (const auto& [name, text] : contents.metadata) report["metadata"][name] = text;
  if (options.optimised) TW_TRY(inspect_optimised(contents.graph->clone(), report));
  if (options.bytecode) TW_TRY(inspect_bytecode(options, report));
  json ? print_json(report) : print_graph_text(*contents.graph, report);
  return {};
}

Status inspect(const InspectOptions& options, bool json) {
  TW_ASSIGN(const std::vector<std::uint8_t> bytes, read_file(options.path));
  const auto kind = runtime::source_kind(std::as_bytes(std::span(bytes)));
  if (kind != runtime::SourceKind::kUnknown) return inspect_model(options, json);
  auto program = isa::decode_file(bytes);
  if (!program.ok()) return std::move(program).error().in(options.path);
  json ? print_json(program_json(*program)) : (void)std::fputs(isa::disassemble(*program).c_str(), stdout);
  return {};
}

}  // namespace

void add_inspect(CLI::App& app, Outcome& outcome) {
  CLI::App& command = *app.add_subcommand("inspect", "Prints the graph or the bytecode in FILE");
  const auto options = std::make_shared<InspectOptions>();
  command.add_option("FILE", options->path, "a graph in text form, a stored model, an ONNX model, or a program file")
      ->required();
  command.add_flag("--optimised", options->optimised, "of a graph: what the passes make of it, and how long each took");
  command.add_flag("--bytecode", options->bytecode,
                   "of a graph: the bytecode of a call, with sizes from --size or --input");
  add_input_options(command, options->inputs);
  on_run(command, outcome, [options](bool json) { return inspect(*options, json); });
}

}  // namespace tilewright::cli
