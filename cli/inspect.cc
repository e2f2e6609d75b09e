// tilewright inspect FILE: what is inside a graph text file or a bytecode program file.
#include <cstdio>
#include <map>

#include "cli/command.h"
#include "tilewright/graph/graph.h"
#include "tilewright/isa/program.h"

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

Status inspect(const std::string& path, bool json) {
  TW_ASSIGN(const std::vector<std::uint8_t> bytes, read_file(path));
  if (is_text(bytes)) {
    auto graph = parse_graph({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
    if (!graph.ok()) return std::move(graph).error().in(path);
    json ? print_json(graph_json(**graph)) : (void)std::fputs(print(**graph).c_str(), stdout);
    return {};
  }
  auto program = isa::decode_file(bytes);
  if (!program.ok()) return std::move(program).error().in(path);
  json ? print_json(program_json(*program)) : (void)std::fputs(isa::disassemble(*program).c_str(), stdout);
  return {};
}

}  // namespace

void add_inspect(CLI::App& app, Outcome& outcome) {
  CLI::App& command = *app.add_subcommand("inspect", "Prints the graph or the bytecode in FILE");
  const auto path = std::make_shared<std::string>();
  command.add_option("FILE", *path, "a graph in text form, or a program file")->required();
  on_run(command, outcome, [path](bool json) { return inspect(*path, json); });
}

}  // namespace tilewright::cli
