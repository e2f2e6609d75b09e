// TfIdfVectorizer: how often sequences of a pool occur in a row, with gaps of up to max_skip_count elements between.
#include <algorithm>
#include <map>

#include "tilewright/frontends/onnx/texts/functions.h"

namespace tilewright::onnx {
namespace {

struct Pool {
  std::map<std::vector<std::int64_t>, std::size_t> places;  // of its sequences, in the order of the attribute
  std::int64_t columns = 0;
};

// The pool lists all sequences of one element, then those of two and so on; `ngram_counts` says where each begins.
Result<Pool> read_pool(const TextAttributes& a) {
  const auto& elements = a.integers_of("pool");
  const auto& starts = a.integers_of("ngram_counts");
  Pool out;
  for (std::size_t n = 0; n < starts.size(); ++n) {
    const std::int64_t end = n + 1 < starts.size() ? starts[n + 1] : std::ssize(elements);
    const auto length = static_cast<std::int64_t>(n + 1);
    if (starts[n] < 0 || starts[n] > end || end > std::ssize(elements) || (end - starts[n]) % length != 0) {
      return fail(ErrorKind::kInvalidArgument, "ngram_counts do not fit a pool of {}", elements.size());
    }
    for (std::int64_t at = starts[n]; at < end; at += length) {
      out.places.emplace(std::vector(elements.begin() + at, elements.begin() + at + length), out.places.size());
    }
  }
  const auto& columns = a.integers_of("ngram_indexes");
  if (columns.size() != out.places.size()) {
    return fail(ErrorKind::kInvalidArgument, "{} ngram_indexes for {} sequences", columns.size(), out.places.size());
  }
  for (const std::int64_t column : columns) {
    if (column < 0) return fail(ErrorKind::kInvalidArgument, "a negative index in ngram_indexes: {}", column);
    out.columns = std::max(out.columns, column + 1);
  }
  return out;
}

void count_row(const TextAttributes& a, const Pool& pool, std::span<const std::int64_t> row,
               std::vector<std::int64_t>& counts) {
  const std::int64_t least = a.integer("min_gram_length", 1), most = a.integer("max_gram_length", 1);
  const std::int64_t skips = a.integer("max_skip_count", 0);
  std::vector<std::int64_t> sequence;
  for (std::int64_t gap = 1; gap <= skips + 1; ++gap) {
    for (std::int64_t length = least; length <= most; ++length) {
      if (length == 1 && gap > 1) continue;  // one element has no gaps
      const std::int64_t reach = (length - 1) * gap;
      for (std::int64_t start = 0; start + reach < std::ssize(row); ++start) {
        sequence.clear();
        for (std::int64_t i = 0; i < length; ++i) sequence.push_back(row[static_cast<std::size_t>(start + i * gap)]);
        if (const auto found = pool.places.find(sequence); found != pool.places.end()) ++counts[found->second];
      }
    }
  }
}

}  // namespace

Tensors count_sequences(const TextAttributes& a, StringTable&, std::span<const Tensor> inputs) {
  TW_ASSIGN(const Pool pool, read_pool(a));
  const Tensor dense = inputs[0].contiguous();
  const std::int64_t rows = dense.sizes()[0], width = dense.sizes()[1];
  const std::string_view mode = a.text("mode", "TF");
  const auto& weights = a.reals_of("weights");
  const auto& columns = a.integers_of("ngram_indexes");
  Tensor out(DType::kF32, {rows, pool.columns});
  std::fill_n(out.data_as<float>(), out.count(), 0.0F);
  for (std::int64_t row = 0; row < rows; ++row) {
    std::vector<std::int64_t> counts(columns.size(), 0);
    count_row(a, pool, {dense.data_as<std::int64_t>() + row * width, static_cast<std::size_t>(width)}, counts);
    for (std::size_t i = 0; i < counts.size(); ++i) {
      const double weight = i < weights.size() ? weights[i] : 1.0;
      const double count = static_cast<double>(counts[i]);
      const double value = mode == "TF" ? count : mode == "IDF" ? (counts[i] > 0 ? weight : 0.0) : count * weight;
      out.data_as<float>()[row * pool.columns + columns[i]] = static_cast<float>(value);
    }
  }
  return std::vector{std::move(out)};
}

}  // namespace tilewright::onnx
