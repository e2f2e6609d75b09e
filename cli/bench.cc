// tilewright bench FILE: times a model over random sizes: the first call at each new shape, and warm calls.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>

#include "cli/command.h"
#include "cli/inputs.h"
#include "cli/model.h"

namespace tilewright::cli {

namespace {

using Clock = std::chrono::steady_clock;

struct BenchOptions {
  std::string path;
  InputOptions inputs;
  int shapes = 10;
  double seconds = 0.2;
};

struct Times {
  double first_us, low_us, median_us;
  std::size_t calls;
};

double micros(Clock::time_point from, Clock::time_point to) {
  return std::chrono::duration<double, std::micro>(to - from).count();
}

Result<Times> time_shape(Model& model, std::span<const Tensor> inputs, std::span<const DimValue> scalars,
                         double seconds) {
  std::vector<double> times;
  const auto start = Clock::now();
  auto end = start;
  do {
    const auto from = Clock::now();
    auto outputs = model.run(inputs, scalars);
    end = Clock::now();
    if (!outputs.ok()) return std::move(outputs).error();
    times.push_back(micros(from, end));
  } while (times.size() < 4 || micros(start, end) < seconds * 1e6);
  const double first = times.front();
  times.erase(times.begin());
  std::sort(times.begin(), times.end());
  return Times{first, times[times.size() / 10], times[times.size() / 2], times.size()};
}

std::string sizes_text(const Sizes& sizes) {
  std::string out;
  for (const auto& [name, size] : sizes) out += fmt::format("{}{}={}", out.empty() ? "" : " ", name, size);
  return out.empty() ? "fixed" : out;
}

Status bench(const BenchOptions& options, bool json) {
  const auto start = Clock::now();
  TW_ASSIGN(Model model, Model::open(options.path));
  const double open_us = micros(start, Clock::now());
  TW_ASSIGN(const SizeRanges ranges, parse_sizes(options.inputs.sizes));
  TW_ASSIGN(const std::vector<DimValue> scalars, make_scalars(model.graph(), options.inputs));
  Json rows = Json::array();
  if (!json)
    std::printf("compiled in %.0f us\n%-24s %12s %12s %12s %8s\n", open_us, "sizes", "first us", "low us", "median us",
                "calls");
  for (int i = 0; i < options.shapes; ++i) {
    if (isatty(STDERR_FILENO)) std::fprintf(stderr, "\rshape %d of %d ", i + 1, options.shapes);
    const Sizes sizes = draw_sizes(ranges, options.inputs.seed + static_cast<std::uint64_t>(i));
    TW_ASSIGN(const std::vector<Tensor> inputs, make_inputs(model.graph(), model.weights(), options.inputs, sizes));
    TW_ASSIGN(const Times times, time_shape(model, inputs, scalars, options.seconds));
    if (isatty(STDERR_FILENO)) std::fprintf(stderr, "\r\033[K");
    rows.push_back({{"sizes", sizes},
                    {"first_us", times.first_us},
                    {"low_us", times.low_us},
                    {"median_us", times.median_us},
                    {"calls", times.calls}});
    if (!json) {
      std::printf("%-24s %12.1f %12.1f %12.1f %8zu\n", sizes_text(sizes).c_str(), times.first_us, times.low_us,
                  times.median_us, times.calls);
    }
  }
  if (json) print_json({{"compile_us", open_us}, {"shapes", rows}});
  return {};
}

}  // namespace

void add_bench(CLI::App& app, Outcome& outcome) {
  CLI::App& command = *app.add_subcommand("bench", "Times a model over random sizes");
  const auto options = std::make_shared<BenchOptions>();
  command.add_option("FILE", options->path, "a graph in text form, or a stored model")->required();
  command.add_option("--shapes", options->shapes, "how many shapes are drawn from the ranges of --size")
      ->capture_default_str();
  command.add_option("--seconds", options->seconds, "time spent on each shape")->capture_default_str();
  add_input_options(command, options->inputs);
  on_run(command, outcome, [options](bool json) { return bench(*options, json); });
}

}  // namespace tilewright::cli
