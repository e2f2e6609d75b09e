// tilewright inspect FILE: what is inside a graph text, a stored model or a bytecode program; of a graph also what the
// passes make of it (--optimised), and the bytecode of a call with given sizes (--bytecode).
#include <cstdio>
#include <map>

#include "cli/command.h"
#include "cli/inputs.h"
#include "cli/model.h"
#include "tilewright/frontends/onnx/census.h"
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

// Operators of an ONNX file with how often they occur and what becomes of them.
Status add_operators(const std::vector<std::uint8_t>& bytes, Json& report) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  TW_ASSIGN(const std::vector<onnx::OperatorCount> rows, onnx::count_operators(text));
  for (const onnx::OperatorCount& row : rows) {
    report["operators"].push_back({{"name", row.name}, {"count", row.count}, {"runs", row.runs}});
  }
  return {};
}

Json declared_json(const std::vector<onnx::Declared>& values) {
  Json out = Json::array();
  for (const onnx::Declared& value : values) {
    std::string type = value.dtype ? fmt::format("{}", *value.dtype) : "?";
    if (value.dtype && value.shape) type = to_string(TensorType{*value.dtype, *value.shape});
    if (value.is_sequence) type = "sequence of " + type;
    if (value.is_optional) type = "optional " + type;
    out.push_back({{"name", value.name}, {"type", type}});
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
  bool optimised = false, bytecode = false, graph = false;
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

Result<std::int64_t> checked_bytes(const std::vector<std::int64_t>& sizes, DType dtype) {
  std::int64_t bytes = byte_size(dtype);
  for (const std::int64_t size : sizes) {
    if (__builtin_mul_overflow(bytes, size, &bytes))
      return fail(ErrorKind::kInvalidArgument, "the sizes are too large");
  }
  return bytes;
}

// Bytes that a call of these sizes needs. The arena is that of the programs that can be encoded before a call: of a
// model with steps on the host (loops, branches, late sizes), those before the first of them.
Status inspect_memory(const InspectOptions& inspected, Json& report) {
  TW_ASSIGN(Model model, Model::open(inspected.path));
  TW_ASSIGN(const SizeRanges ranges, parse_sizes(inspected.inputs.sizes));
  const Sizes sizes = draw_sizes(ranges, inspected.inputs.seed);
  const Graph& graph = model.graph();
  TW_ASSIGN(const std::vector<DimValue> scalars, make_scalars(graph, inspected.inputs));
  std::vector<std::vector<std::int64_t>> shapes;
  std::int64_t weights = 0, inputs = 0;
  for (const ValueId input : graph.inputs()) {
    const Value& value = graph.value(input);
    const auto weight = model.weights().find(value.name);
    if (weight != model.weights().end()) {
      shapes.emplace_back(weight->second.sizes().begin(), weight->second.sizes().end());
      weights += weight->second.bytes();
      continue;
    }
    TW_ASSIGN(std::vector<std::int64_t> shape, input_sizes(value, inspected.inputs, sizes));
    TW_ASSIGN(const std::int64_t bytes, checked_bytes(shape, value.type.dtype));
    inputs += bytes;
    shapes.push_back(std::move(shape));
  }
  std::map<std::string_view, std::int64_t> bytes{{"weights", weights}, {"inputs", inputs}};
  TW_ASSIGN(const std::vector<isa::Program> programs, model.encode(shapes, scalars));
  for (const isa::Program& program : programs) {
    std::int64_t arena = 0;
    for (const isa::Buffer& buffer : program.buffers) {
      if (buffer.kind == isa::BufferKind::kArena) arena += buffer.bytes;
      if (buffer.kind == isa::BufferKind::kOutput) bytes["outputs"] += buffer.bytes;
      if (buffer.kind == isa::BufferKind::kPacked) bytes["packed weights"] += buffer.bytes;
    }
    bytes["arena"] = std::max(bytes["arena"], arena);
    bytes["scratch of a thread"] = std::max<std::int64_t>(bytes["scratch of a thread"], program.scratch_bytes);
  }
  report["memory"] = bytes;
  return {};
}

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

void print_summary(const Json& report) {
  for (const char* side : {"inputs", "outputs"}) {
    for (const Json& value : report[side]) {
      std::printf("%-8s %s: %s\n", side, value["name"].get<std::string>().c_str(),
                  value["type"].get<std::string>().c_str());
    }
  }
  if (report.contains("question")) {
    std::printf("the structure depends on %s\n", report["question"].get<std::string>().c_str());
  }
  const Json operators = report.contains("operators") ? report["operators"] : Json::array();
  for (const Json& row : operators) {
    std::printf("%7d  %-40s %s\n", row["count"].get<int>(), row["name"].get<std::string>().c_str(),
                row["runs"].get<std::string>().c_str());
  }
  const Json memory = report.contains("memory") ? report["memory"] : Json::object();
  for (auto row = memory.begin(); row != memory.end(); ++row) {
    std::printf("%14lld bytes  %s\n", static_cast<long long>(row.value().get<std::int64_t>()), row.key().c_str());
  }
}

void print_graph_text(const Graph& graph, const Json& report, bool with_graph) {
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
  if (report.contains("passes") || report.contains("launches")) return;
  const bool has_summary = report.contains("operators") || report.contains("memory");
  if (has_summary) print_summary(report);
  if (!has_summary || with_graph) std::fputs(print(graph).c_str(), stdout);
}

Status inspect_model(const InspectOptions& options, bool json) {
  TW_ASSIGN(const runtime::ModelContents contents, read_contents(options.path));
  Json report = graph_json(*contents.graph);
  if (!contents.declared_inputs.empty()) report["inputs"] = declared_json(contents.declared_inputs);
  if (!contents.question.empty()) {
    report["question"] = contents.question;
    report["outputs"] = declared_json(contents.declared_outputs);
  }
  TW_ASSIGN(const std::vector<std::uint8_t> bytes, read_file(options.path));
  if (runtime::source_kind(std::as_bytes(std::span(bytes))) == runtime::SourceKind::kOnnx) {
    TW_TRY(add_operators(bytes, report));
  }
  if (!options.inputs.sizes.empty() && !options.bytecode) TW_TRY(inspect_memory(options, report));
  for (const auto& [name, weight] : contents.weights) report["weights"][name] = runtime::describe_type(weight);
  for (const auto& [name, text] : contents.metadata) report["metadata"][name] = text;
  if (options.optimised) TW_TRY(inspect_optimised(contents.graph->clone(), report));
  if (options.bytecode) TW_TRY(inspect_bytecode(options, report));
  json ? print_json(report) : print_graph_text(*contents.graph, report, options.graph);
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
  command.add_flag("--graph", options->graph, "of an ONNX model, or with sizes: the graph too, in text form");
  command.add_flag("--bytecode", options->bytecode,
                   "of a graph: the bytecode of a call, with sizes from --size or --input");
  add_input_options(command, options->inputs);
  on_run(command, outcome, [options](bool json) { return inspect(*options, json); });
}

}  // namespace tilewright::cli
