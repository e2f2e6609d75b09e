// Runs a stored model at sizes it has never seen, without Python and without torch.
//   run_model MODEL [B S]..      one or more pairs of batch and length; four pairs by default
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "tilewright/tilewright.h"

namespace {

using tilewright::DType;
using tilewright::Tensor;

// Symbols in the order in which the inputs name them: the first is the batch, the second the length.
std::vector<std::string> find_symbols(const tilewright::Model& model) {
  std::vector<std::string> symbols;
  for (const tilewright::TensorInfo& input : model.inputs()) {
    for (const std::string& dim : input.dims) {
      const bool is_number = dim.find_first_not_of("0123456789") == std::string::npos;
      if (!is_number && std::find(symbols.begin(), symbols.end(), dim) == symbols.end()) symbols.push_back(dim);
    }
  }
  return symbols;
}

Tensor make_input(const tilewright::TensorInfo& info, const std::map<std::string, std::int64_t>& sizes) {
  std::vector<std::int64_t> shape;
  for (const std::string& dim : info.dims) {
    const auto found = sizes.find(dim);
    shape.push_back(found != sizes.end() ? found->second : std::atoll(dim.c_str()));
  }
  Tensor tensor = Tensor::zeros(info.dtype, shape);
  for (std::int64_t i = 0; i < tensor.count(); ++i) {
    if (info.dtype == DType::kF32) tensor.data_as<float>()[i] = std::sin(static_cast<float>(i));
    if (info.dtype == DType::kI64) tensor.data_as<std::int64_t>()[i] = i % 50;
  }
  return tensor;
}

// Runs once, prints the shape of each result and the time. False on an error.
bool run_once(const tilewright::Model& model, const std::map<std::string, std::int64_t>& sizes) {
  std::map<std::string, Tensor> inputs;
  for (const tilewright::TensorInfo& info : model.inputs()) inputs[info.name] = make_input(info, sizes);
  const auto start = std::chrono::steady_clock::now();
  const auto outputs = model.run(inputs);
  const std::chrono::duration<double, std::micro> time = std::chrono::steady_clock::now() - start;
  for (const auto& [name, size] : sizes) std::printf("%s=%lld ", name.c_str(), static_cast<long long>(size));
  if (!outputs.ok()) {
    std::printf("%s\n", outputs.error().message.c_str());
    return false;
  }
  for (const auto& [name, tensor] : *outputs) {
    std::printf("%s: [", name.c_str());
    for (const std::int64_t size : tensor.sizes()) std::printf(" %lld", static_cast<long long>(size));
    std::printf(" ] ");
  }
  std::printf("%.0f us ok\n", time.count());
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fputs("usage: run_model MODEL [B S]..\n", stderr);
    return 2;
  }
  const auto model = tilewright::Model::load(argv[1]);
  if (!model.ok()) {
    std::fprintf(stderr, "%s\n", model.error().message.c_str());
    return 1;
  }
  std::vector<std::int64_t> numbers{1, 4, 3, 17, 2, 130, 7, 33};
  if (argc > 2) numbers.clear();
  for (int i = 2; i < argc; ++i) numbers.push_back(std::atoll(argv[i]));
  const std::vector<std::string> symbols = find_symbols(*model);
  bool good = true;
  for (std::size_t at = 0; at + 1 < numbers.size(); at += 2) {
    std::map<std::string, std::int64_t> sizes;
    for (std::size_t i = 0; i < symbols.size(); ++i) sizes[symbols[i]] = numbers[at + i % 2];
    good = run_once(*model, sizes) && good;
  }
  return good ? 0 : 1;
}
