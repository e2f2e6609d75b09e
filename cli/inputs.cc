#include "cli/inputs.h"

#include <fmt/format.h>

#include <CLI/App.hpp>
#include <charconv>
#include <random>

#include "cli/npy.h"

namespace tilewright::cli {

namespace {

struct Named {
  std::string name, value;
};

Result<Named> split_name(const std::string& text, std::string_view form) {
  const std::size_t at = text.find('=');
  if (at == std::string::npos || at == 0)
    return fail(ErrorKind::kInvalidArgument, "'{}' is not of the form {}", text, form);
  return Named{text.substr(0, at), text.substr(at + 1)};
}

template <typename T>
Result<T> parse_number(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) {
    return fail(ErrorKind::kInvalidArgument, "'{}' is not a number", text);
  }
  return value;
}

Result<std::vector<std::int64_t>> parse_shape(std::string_view text) {
  std::vector<std::int64_t> sizes;
  while (!text.empty()) {
    const std::string_view part = text.substr(0, text.find('x'));
    TW_ASSIGN(const std::int64_t size, parse_number<std::int64_t>(part));
    if (size < 0) return fail(ErrorKind::kInvalidArgument, "a size is negative: {}", size);
    sizes.push_back(size);
    text.remove_prefix(std::min(text.size(), part.size() + 1));
  }
  return sizes;
}

Tensor random_tensor(DType dtype, std::vector<std::int64_t> sizes, std::int64_t limit, std::mt19937_64& engine) {
  Tensor out(dtype, std::move(sizes));
  visit(dtype, [&]<typename T>() {
    std::normal_distribution<float> normal;
    std::uniform_int_distribution<std::int64_t> integer(0, std::max<std::int64_t>(0, limit - 1));
    for (std::int64_t i = 0; i < out.count(); ++i) {
      if constexpr (std::is_integral_v<T>) {
        out.data_as<T>()[i] = static_cast<T>(integer(engine));
      } else {
        out.data_as<T>()[i] = static_cast<T>(normal(engine));
      }
    }
  });
  return out;
}

Result<std::vector<std::int64_t>> sizes_of(const Value& value, const Sizes& sizes) {
  std::vector<std::int64_t> out;
  for (const Dim dim : value.type.shape) {
    if (const auto constant = dim.constant()) {
      out.push_back(*constant);
      continue;
    }
    const auto found = sizes.find(to_string(dim));
    if (found == sizes.end()) {
      return fail(ErrorKind::kInvalidArgument,
                  "the size '{}' of input '{}', {}, is not known: give --size {}=.. or --input {}=..", to_string(dim),
                  value.name, to_string(value.type), to_string(dim), value.name);
    }
    out.push_back(found->second);
  }
  return out;
}

}  // namespace

void add_input_options(CLI::App& command, InputOptions& options) {
  command.add_option("--size,--dim", options.sizes, "size of a symbol, NAME=3, or drawn from NAME=1..8");
  command.add_option("--scalar", options.scalars, "value of a scalar input, NAME=0.5");
  command.add_option("--input", options.inputs, "an input, NAME=FILE.npy, or random of a shape, NAME=3x17");
  command.add_option("--integer-limit", options.integer_limit, "random integers are in [0, limit)")
      ->capture_default_str();
  command.add_option("--seed", options.seed, "seed of random data and sizes")->capture_default_str();
}

Result<SizeRanges> parse_sizes(const std::vector<std::string>& texts) {
  SizeRanges ranges;
  for (const std::string& text : texts) {
    TW_ASSIGN(const Named given, split_name(text, "NAME=3 or NAME=1..8"));
    const std::size_t dots = given.value.find("..");
    SizeRange range{};
    TW_ASSIGN(range.low, parse_number<std::int64_t>(std::string_view(given.value).substr(0, dots)));
    range.high = range.low;
    if (dots != std::string::npos) {
      TW_ASSIGN(range.high, parse_number<std::int64_t>(std::string_view(given.value).substr(dots + 2)));
    }
    if (range.low < 0 || range.high < range.low) {
      return fail(ErrorKind::kInvalidArgument, "'{}' is not a range of sizes", text);
    }
    ranges[given.name] = range;
  }
  return ranges;
}

Sizes draw_sizes(const SizeRanges& ranges, std::uint64_t seed) {
  std::mt19937_64 engine(seed);
  Sizes sizes;
  for (const auto& [name, range] : ranges) {
    sizes[name] = std::uniform_int_distribution<std::int64_t>(range.low, range.high)(engine);
  }
  return sizes;
}

Result<std::vector<std::int64_t>> input_sizes(const Value& value, const InputOptions& options, const Sizes& sizes) {
  for (const std::string& text : options.inputs) {
    TW_ASSIGN(const Named given, split_name(text, "NAME=FILE.npy or NAME=3x17"));
    if (given.name == value.name && !given.value.ends_with(".npy")) return parse_shape(given.value);
  }
  return sizes_of(value, sizes);
}

Result<Tensor> make_input(const Value& value, const InputOptions& options, const Sizes& sizes, std::uint64_t seed) {
  std::mt19937_64 engine(seed);
  for (const std::string& text : options.inputs) {
    TW_ASSIGN(const Named given, split_name(text, "NAME=FILE.npy or NAME=3x17"));
    if (given.name != value.name) continue;
    if (given.value.ends_with(".npy")) return read_npy(given.value);
    TW_ASSIGN(std::vector<std::int64_t> shape, parse_shape(given.value));
    return random_tensor(value.type.dtype, std::move(shape), options.integer_limit, engine);
  }
  TW_ASSIGN(std::vector<std::int64_t> shape, sizes_of(value, sizes));
  return random_tensor(value.type.dtype, std::move(shape), options.integer_limit, engine);
}

Result<std::vector<Tensor>> make_inputs(const Graph& graph, const std::map<std::string, Tensor>& weights,
                                        const InputOptions& options, const Sizes& sizes) {
  std::uint64_t seed = options.seed;
  std::vector<Tensor> out;
  for (const ValueId input : graph.inputs()) {
    if (const auto weight = weights.find(graph.value(input).name); weight != weights.end()) {
      out.push_back(weight->second);
      continue;
    }
    TW_ASSIGN(Tensor tensor, make_input(graph.value(input), options, sizes, seed++));
    out.push_back(std::move(tensor));
  }
  return out;
}

Result<std::vector<DimValue>> make_scalars(const Graph& graph, const InputOptions& options) {
  std::vector<DimValue> values;
  for (const Dim symbol : graph.scalar_inputs()) {
    bool found = false;
    for (const std::string& text : options.scalars) {
      TW_ASSIGN(const Named given, split_name(text, "NAME=0.5"));
      if (given.name != symbol.name()) continue;
      DimValue value{};
      if (symbol.is_float()) {
        TW_ASSIGN(value.real, parse_number<double>(given.value));
      } else {
        TW_ASSIGN(value.integer, parse_number<std::int64_t>(given.value));
      }
      values.push_back(value);
      found = true;
      break;
    }
    if (!found) {
      return fail(ErrorKind::kInvalidArgument, "the scalar '{}' is not given: --scalar {}=..", symbol.name(),
                  symbol.name());
    }
  }
  return values;
}

}  // namespace tilewright::cli
