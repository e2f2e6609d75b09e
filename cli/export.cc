// tilewright export FILE: stores a graph and the values of its weights as one model file.
#include <cstdio>

#include "cli/command.h"
#include "cli/inputs.h"
#include "cli/model.h"

namespace tilewright::cli {

namespace {

struct ExportOptions {
  std::string path, output;
  bool random = false;
  InputOptions inputs;
};

bool is_given(const InputOptions& inputs, const std::string& name) {
  for (const std::string& text : inputs.inputs) {
    if (text.starts_with(name + "=")) return true;
  }
  return false;
}

Status export_model(const ExportOptions& options, bool json) {
  TW_ASSIGN(const runtime::ModelContents contents, read_contents(options.path));
  const Graph& graph = *contents.graph;
  TW_ASSIGN(const SizeRanges ranges, parse_sizes(options.inputs.sizes));
  const Sizes sizes = draw_sizes(ranges, options.inputs.seed);
  std::map<std::string, Tensor> weights = contents.weights;
  for (std::size_t i = 0; i < graph.inputs().size(); ++i) {
    const Value& value = graph.value(graph.inputs()[i]);
    const bool given = is_given(options.inputs, value.name);
    if (!given && (graph.role(i) != InputRole::kWeight || weights.contains(value.name))) continue;
    if (!given && !options.random) {
      return fail(ErrorKind::kInvalidArgument, "weight '{}', {}, has no value: give --input {}=FILE.npy, or --random",
                  value.name, to_string(value.type), value.name);
    }
    TW_ASSIGN(weights[value.name], make_input(value, options.inputs, sizes, options.inputs.seed + i));
  }
  const runtime::ModelExtras extras{contents.output_strides, contents.metadata};
  TW_TRY(runtime::save_model(graph, weights, extras, options.output));
  if (json) {
    print_json({{"file", options.output}, {"weights", weights.size()}});
  } else {
    std::printf("%s: %zu nodes, %zu weights\n", options.output.c_str(), graph.order().size(), weights.size());
  }
  return {};
}

}  // namespace

void add_export(CLI::App& app, Outcome& outcome) {
  CLI::App& command = *app.add_subcommand("export", "Stores a graph and its weights as one model file");
  const auto options = std::make_shared<ExportOptions>();
  command.add_option("FILE", options->path, "a graph in text form, or a stored model whose weights are to be replaced")
      ->required();
  command.add_option("--output", options->output, "the model file to write")->required();
  command.add_flag("--random", options->random, "weights that are not given are random");
  add_input_options(command, options->inputs);
  on_run(command, outcome, [options](bool json) { return export_model(*options, json); });
}

}  // namespace tilewright::cli
