// tilewright verify FILE: whether a graph, a stored model or a program file is well formed; exit code 0, or that of the
// first error.
#include <cstdio>

#include "cli/command.h"
#include "cli/model.h"
#include "tilewright/graph/graph.h"
#include "tilewright/isa/program.h"
#include "tilewright/runtime/model_source.h"

namespace tilewright::cli {

namespace {

Result<std::string> verify_bytes(const std::vector<std::uint8_t>& bytes, const std::string& path) {
  if (runtime::is_model_file(std::as_bytes(std::span(bytes)))) {
    TW_ASSIGN(const runtime::ModelContents model, runtime::decode_model(std::as_bytes(std::span(bytes))));
    TW_TRY(verify(*model.graph));
    return fmt::format("a model of {} nodes and {} weights", model.graph->order().size(), model.weights.size());
  }
  if (runtime::source_kind(std::as_bytes(std::span(bytes))) == runtime::SourceKind::kOnnx) {
    TW_ASSIGN(const runtime::ModelContents model, read_contents(path));
    TW_TRY(verify(*model.graph));
    if (!model.question.empty()) return fmt::format("an ONNX model whose structure depends on {}", model.question);
    return fmt::format("an ONNX model of {} nodes and {} weights", model.graph->order().size(), model.weights.size());
  }
  if (is_text(bytes)) {
    TW_ASSIGN(const std::unique_ptr<Graph> graph,
              parse_graph({reinterpret_cast<const char*>(bytes.data()), bytes.size()}));
    TW_TRY(verify(*graph));
    return fmt::format("a graph of {} nodes", graph->order().size());
  }
  TW_ASSIGN(const isa::Program program, isa::decode_file(bytes));
  TW_TRY(isa::verify_program(program));
  return fmt::format("a program of {} words over {} buffers", program.words.size(), program.buffers.size());
}

Status verify_file(const std::string& path, bool json) {
  TW_ASSIGN(const std::vector<std::uint8_t> bytes, read_file(path));
  auto text = verify_bytes(bytes, path);
  if (!text.ok()) return std::move(text).error().in(path);
  if (json) {
    print_json({{"file", path}, {"well_formed", true}, {"content", *text}});
  } else {
    std::printf("%s: well formed: %s\n", path.c_str(), text->c_str());
  }
  return {};
}

}  // namespace

void add_verify(CLI::App& app, Outcome& outcome) {
  CLI::App& command = *app.add_subcommand("verify", "Checks that FILE is well formed");
  const auto path = std::make_shared<std::string>();
  command.add_option("FILE", *path, "a graph in text form, a stored model, an ONNX model, or a program file")
      ->required();
  on_run(command, outcome, [path](bool json) { return verify_file(*path, json); });
}

}  // namespace tilewright::cli
