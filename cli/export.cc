// tilewright export FILE: writes a model with the values of its weights as one file, an ONNX model or a stored model of
// our own.
#include <cstdio>

#include "cli/command.h"
#include "cli/inputs.h"
#include "cli/model.h"
#include "tilewright/runtime/export_onnx.h"

namespace tilewright::cli {

namespace {

struct ExportOptions {
  std::string path, output;
  bool random = false, as_read = false;
  runtime::OnnxExportOptions onnx;
  InputOptions inputs;
};

bool is_given(const InputOptions& inputs, const std::string& name) {
  for (const std::string& text : inputs.inputs) {
    if (text.starts_with(name + "=")) return true;
  }
  return false;
}

// The weights of the file, and those that are given or drawn. An ONNX model may leave weights as inputs.
Result<std::map<std::string, Tensor>> find_weights(const ExportOptions& options, const runtime::ModelContents& contents,
                                                   bool all) {
  const Graph& graph = *contents.graph;
  TW_ASSIGN(const SizeRanges ranges, parse_sizes(options.inputs.sizes));
  const Sizes sizes = draw_sizes(ranges, options.inputs.seed);
  std::map<std::string, Tensor> weights = contents.weights;
  for (std::size_t i = 0; i < graph.inputs().size(); ++i) {
    const Value& value = graph.value(graph.inputs()[i]);
    const bool given = is_given(options.inputs, value.name);
    if (!given && (graph.role(i) != InputRole::kWeight || weights.contains(value.name))) continue;
    if (!given && !options.random) {
      if (!all) continue;
      return fail(ErrorKind::kInvalidArgument, "weight '{}', {}, has no value: give --input {}=FILE.npy, or --random",
                  value.name, to_string(value.type), value.name);
    }
    TW_ASSIGN(weights[value.name], make_input(value, options.inputs, sizes, options.inputs.seed + i));
  }
  return weights;
}

Status export_onnx(const ExportOptions& options, runtime::ModelContents contents, bool json) {
  TW_ASSIGN(contents.weights, find_weights(options, contents, false));
  runtime::OnnxExportOptions onnx = options.onnx;
  onnx.simplify = !options.as_read;
  TW_ASSIGN(const runtime::OnnxExportReport report, runtime::save_onnx(contents, options.output, onnx));
  if (json) {
    Json operators = Json::object();
    for (const auto& [name, count] : report.operators) operators[name] = count;
    print_json({{"file", options.output},
                {"opset", onnx.onnx.opset},
                {"bytes", report.bytes},
                {"has_external_file", report.has_external_file},
                {"operators", operators},
                {"notes", report.notes}});
    return {};
  }
  int nodes = 0;
  for (const auto& [name, count] : report.operators) nodes += count;
  std::printf("%s: opset %d, %d nodes, %lld bytes\n", options.output.c_str(), onnx.onnx.opset, nodes,
              static_cast<long long>(report.bytes));
  for (const std::string& note : report.notes) std::printf("note: %s\n", note.c_str());
  return {};
}

Status export_stored(const ExportOptions& options, const runtime::ModelContents& contents, bool json) {
  TW_ASSIGN(const auto weights, find_weights(options, contents, true));
  if (contents.reader != nullptr) {  // no one graph is the model: it is stored as ONNX
    std::map<std::string, Tensor> replaced;
    for (const auto& [name, value] : weights) {
      if (is_given(options.inputs, name)) replaced.emplace(name, value);
    }
    TW_TRY(contents.reader->set_weights(replaced));
    TW_TRY(contents.reader->write(options.output));
    if (json) print_json({{"file", options.output}, {"weights", contents.weights.size()}});
    if (!json) std::printf("%s: an ONNX model, as its structure depends on calls\n", options.output.c_str());
    return {};
  }
  const runtime::ModelExtras extras{contents.output_strides, contents.metadata};
  TW_TRY(runtime::save_model(*contents.graph, weights, extras, options.output));
  if (json) {
    print_json({{"file", options.output}, {"weights", weights.size()}});
  } else {
    std::printf("%s: %zu nodes, %zu weights\n", options.output.c_str(), contents.graph->order().size(), weights.size());
  }
  return {};
}

Status export_model(const ExportOptions& options, bool json) {
  TW_ASSIGN(runtime::ModelContents contents, read_contents(options.path));
  if (options.output.ends_with(".onnx")) return export_onnx(options, std::move(contents), json);
  return export_stored(options, contents, json);
}

}  // namespace

void add_export(CLI::App& app, Outcome& outcome) {
  CLI::App& command = *app.add_subcommand("export", "Writes a model as an ONNX file, or as a stored model");
  const auto options = std::make_shared<ExportOptions>();
  command.add_option("FILE", options->path, "a graph in text form, a stored model, or an ONNX model")->required();
  command.add_option("-o,--output", options->output, "the file to write: an ONNX model if it ends in .onnx")
      ->required();
  command
      .add_option("--opset", options->onnx.onnx.opset,
                  fmt::format("of the ONNX model: {} to {}", onnx::kOldestExportOpset, onnx::newest_export_opset()))
      ->capture_default_str();
  command.add_flag("--standard-only", options->onnx.onnx.standard_only, "no operators of com.microsoft");
  command.add_flag("--as-read", options->as_read, "the operators of the graph as it is, not simplified");
  command
      .add_option("--external-from", options->onnx.onnx.external_from,
                  "bytes of constants from which they lie in a file beside the model")
      ->capture_default_str();
  command.add_flag("--random", options->random,
                   "weights that are not given are random (an ONNX model has them as inputs otherwise)");
  add_input_options(command, options->inputs);
  on_run(command, outcome, [options](bool json) { return export_model(*options, json); });
}

}  // namespace tilewright::cli
