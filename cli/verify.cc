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

// What an ONNX model declares of its results against what they are. Sizes that may or may not be equal are checked by
// every call.
Status check_declared(const runtime::ModelContents& model) {
  const Graph& graph = *model.graph;
  for (std::size_t i = 0; i < model.declared_outputs.size() && i < graph.outputs().size(); ++i) {
    const auto& declared = model.declared_outputs[i];
    const TensorType& type = graph.type(graph.outputs()[i]);
    if (declared.is_sequence) return {};  // the results after it are at other places of the graph
    if (!declared.shape) continue;
    if (declared.shape->size() != type.shape.size()) {
      return fail(ErrorKind::kShapeMismatch, "output '{}': declared with {} axes, the graph gives {}", declared.name,
                  declared.shape->size(), type);
    }
    for (std::size_t axis = 0; axis < type.shape.size(); ++axis) {
      if (!provably_different((*declared.shape)[axis], type.shape[axis], graph.facts)) continue;
      return fail(ErrorKind::kShapeMismatch, "output '{}', axis {}: declared {}, the graph gives {}", declared.name,
                  axis, (*declared.shape)[axis], type.shape[axis]);
    }
  }
  return {};
}

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
    TW_TRY(check_declared(model));
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
