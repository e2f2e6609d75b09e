// Inputs of a graph from the command line: sizes of symbols, values of scalars, files, and seeded random data for the
// rest.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "tilewright/graph/graph.h"
#include "tilewright/tensor/dim_program.h"

namespace CLI {
class App;
}

namespace tilewright::cli {

struct InputOptions {
  std::vector<std::string> sizes;    // "B=3", of symbols; "B=1..8" where a range is allowed
  std::vector<std::string> scalars;  // "eps=1e-5"
  std::vector<std::string> inputs;   // "x=file.npy" or "x=3x17"
  std::int64_t integer_limit = 100;  // random integers are in [0, limit)
  std::uint64_t seed = 1;
};
void add_input_options(CLI::App& command, InputOptions& options);

struct SizeRange {
  std::int64_t low, high;
};
using SizeRanges = std::map<std::string, SizeRange>;
using Sizes = std::map<std::string, std::int64_t>;

Result<SizeRanges> parse_sizes(const std::vector<std::string>& texts);
// A fixed size for each range: `low` where it is one number, else drawn from the seed.
Sizes draw_sizes(const SizeRanges& ranges, std::uint64_t seed);
// The sizes that the options give to this input.
Result<std::vector<std::int64_t>> input_sizes(const Value& value, const InputOptions& options, const Sizes& sizes);
// The tensor that the options give for this input, or a random one.
Result<Tensor> make_input(const Value& value, const InputOptions& options, const Sizes& sizes, std::uint64_t seed);
// One tensor for each input of the graph: its weight, or what the options say. An input whose size is an expression or
// a symbol without a size must be given itself.
Result<std::vector<Tensor>> make_inputs(const Graph& graph, const std::map<std::string, Tensor>& weights,
                                        const InputOptions& options, const Sizes& sizes);
// One value for each scalar input of the graph.
Result<std::vector<DimValue>> make_scalars(const Graph& graph, const InputOptions& options);

}  // namespace tilewright::cli
