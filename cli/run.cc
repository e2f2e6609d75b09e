// tilewright run FILE: runs a model once on given or random inputs, prints a summary of each result, stores results.
#include <fmt/format.h>

#include <cmath>
#include <cstdio>

#include "cli/command.h"
#include "cli/inputs.h"
#include "cli/model.h"
#include "cli/npy.h"

namespace tilewright::cli {

namespace {

struct RunOptions {
  std::string path, output;
  InputOptions inputs;
};

struct Summary {
  double low = INFINITY, high = -INFINITY, sum = 0;
  std::int64_t not_finite = 0;
};

Summary summarise(const Tensor& tensor) {
  Summary out;
  const Tensor dense = tensor.contiguous();
  visit(dense.dtype(), [&]<typename T>() {
    for (std::int64_t i = 0; i < dense.count(); ++i) {
      const auto value = static_cast<double>(dense.data_as<T>()[i]);
      if (!std::isfinite(value)) {
        ++out.not_finite;
        continue;
      }
      out.low = std::min(out.low, value);
      out.high = std::max(out.high, value);
      out.sum += value;
    }
  });
  return out;
}

std::string shape_text(const Tensor& tensor) {
  return fmt::format("{}[{}]", tensor.dtype(), fmt::join(tensor.sizes(), ", "));
}

std::vector<std::string> texts_of(const Model& model, const Tensor& numbers) {
  const Tensor dense = numbers.contiguous();
  std::vector<std::string> out;
  for (std::int64_t i = 0; i < dense.count(); ++i) {
    const std::string* text = model.text_of(dense.data_as<std::int64_t>()[i]);
    out.push_back(text == nullptr ? "" : *text);
  }
  return out;
}

Status run(const RunOptions& options, bool json) {
  TW_ASSIGN(Model model, Model::open(options.path));
  const Graph& graph = model.graph();
  TW_ASSIGN(const SizeRanges ranges, parse_sizes(options.inputs.sizes));
  const Sizes sizes = draw_sizes(ranges, options.inputs.seed);
  TW_ASSIGN(const std::vector<Tensor> inputs, make_inputs(graph, model.weights(), options.inputs, sizes));
  TW_ASSIGN(const std::vector<DimValue> scalars, make_scalars(graph, options.inputs));
  TW_ASSIGN(const std::vector<Tensor> outputs, model.run(inputs, scalars));
  Json report = Json::array();
  const std::vector<std::string> names = model.output_names();
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const std::string& name = names[i];
    const auto found = model.metadata().find(std::string(onnx::kOutputElement) + name);
    const std::string element = found == model.metadata().end() ? "" : found->second;
    if (element == "string") {
      const std::vector<std::string> texts = texts_of(model, outputs[i]);
      report.push_back({{"name", name}, {"sizes", outputs[i].sizes()}, {"texts", texts}});
      if (!json)
        std::printf("%s: string[%s]  %s\n", name.c_str(),
                    fmt::format("{}", fmt::join(outputs[i].sizes(), ", ")).c_str(),
                    fmt::format("'{}'", fmt::join(texts, "', '")).c_str());
      continue;
    }
    if (!options.output.empty()) {
      TW_TRY(write_npy(fmt::format("{}/{}.npy", options.output, name), outputs[i], element));
    }
    const Summary s = summarise(outputs[i]);
    const std::int64_t finite = outputs[i].count() - s.not_finite;
    const double mean = finite > 0 ? s.sum / static_cast<double>(finite) : NAN;
    report.push_back({{"name", name},
                      {"type", shape_text(outputs[i])},
                      {"min", s.low},
                      {"max", s.high},
                      {"mean", mean},
                      {"not_finite", s.not_finite}});
    if (!json) {
      std::printf("%s: %s  min %.6g  max %.6g  mean %.6g  not finite %lld\n", name.c_str(),
                  shape_text(outputs[i]).c_str(), s.low, s.high, mean, static_cast<long long>(s.not_finite));
    }
  }
  if (json) print_json({{"outputs", report}});
  return {};
}

}  // namespace

void add_run(CLI::App& app, Outcome& outcome) {
  CLI::App& command = *app.add_subcommand("run", "Runs a model once");
  const auto options = std::make_shared<RunOptions>();
  command.add_option("FILE", options->path, "a graph in text form, a stored model, or an ONNX model")->required();
  command.add_option("--output", options->output, "folder that gets each result as NAME.npy");
  add_input_options(command, options->inputs);
  on_run(command, outcome, [options](bool json) { return run(*options, json); });
}

}  // namespace tilewright::cli
