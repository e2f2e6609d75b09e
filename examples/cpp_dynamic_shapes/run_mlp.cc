// Loads the file of save_mlp and runs it for numbers of rows that it has never seen, beside plain loops.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>

#include "tilewright/tilewright.h"

namespace {

using tilewright::Model;
using tilewright::Tensor;

Tensor rows(std::int64_t count) {
  Tensor out(tilewright::DType::kF32, {count, 64});
  for (std::int64_t i = 0; i < out.count(); ++i) out.data_as<float>()[i] = std::cos(static_cast<float>(i));
  return out;
}

// The same network in plain loops.
std::vector<float> plain(const Tensor& x, const Tensor& w, const Tensor& b, const Tensor& v) {
  const std::int64_t hidden = w.sizes()[0], width = w.sizes()[1], results = v.sizes()[0];
  std::vector<float> y;
  std::vector<float> a(static_cast<std::size_t>(hidden));
  for (std::int64_t row = 0; row < x.sizes()[0]; ++row) {
    for (std::int64_t j = 0; j < hidden; ++j) {
      float sum = b.data_as<float>()[j];
      for (std::int64_t k = 0; k < width; ++k)
        sum += x.data_as<float>()[row * width + k] * w.data_as<float>()[j * width + k];
      a[static_cast<std::size_t>(j)] = std::max(sum, 0.0f);
    }
    for (std::int64_t i = 0; i < results; ++i) {
      float sum = 0;
      for (std::int64_t j = 0; j < hidden; ++j)
        sum += a[static_cast<std::size_t>(j)] * v.data_as<float>()[i * hidden + j];
      y.push_back(sum);
    }
  }
  return y;
}

// Runs once and compares; false if something is wrong.
bool check(const Model& model, std::int64_t count) {
  const Tensor x = rows(count);
  const auto start = std::chrono::steady_clock::now();
  const auto results = model.run(Model::Named{{"x", x}});
  const std::chrono::duration<double, std::micro> time = std::chrono::steady_clock::now() - start;
  if (!results.ok()) {
    std::printf("%s\n", results.error().message.c_str());
    return false;
  }
  const Tensor& y = results->at("y");
  const std::vector<float> want = plain(x, *model.weight("w"), *model.weight("b"), *model.weight("v"));
  float worst = 0;
  for (std::size_t i = 0; i < want.size(); ++i) worst = std::max(worst, std::abs(y.data_as<float>()[i] - want[i]));
  std::printf("%5lld rows: %8.1f us, largest difference %.2g\n", static_cast<long long>(count), time.count(), worst);
  return y.sizes()[0] == count && worst < 1e-4f;
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 2) {
    std::fputs("usage: run_mlp FILE\n", stderr);
    return 2;
  }
  auto model = Model::load(std::string(arguments[1]));
  if (!model.ok()) {
    std::printf("%s\n", model.error().message.c_str());
    return 1;
  }
  for (const auto& input : model->inputs()) {
    std::printf("input %s: %zu axes, the first is %s\n", input.name.c_str(), input.dims.size(), input.dims[0].c_str());
  }
  bool good = true;
  for (const std::int64_t size : {1, 2, 3, 17, 64, 100, 1000, 0}) good = check(*model, size) && good;

  const Tensor zeros = Tensor::zeros(tilewright::DType::kF32, {96});
  const tilewright::Status replaced = model->set_weight("b", zeros);
  std::printf("another bias: %s\n", replaced.ok() ? "ok" : replaced.error().message.c_str());
  good = check(*model, 5) && replaced.ok() && good;

  const auto wrong = model->run(Model::Named{{"x", Tensor::zeros(tilewright::DType::kF32, {3, 65})}});
  std::printf("a wrong call: %s\n", wrong.ok() ? "not noticed" : wrong.error().message.c_str());
  const tilewright::StatsSnapshot stats = tilewright::stats_snapshot();
  std::printf("%lld programs, encoded in %.1f us (median), %lld weights packed\n",
              static_cast<long long>(stats.programs_encoded), static_cast<double>(stats.encode_p50_ns) / 1000,
              static_cast<long long>(stats.weights_packed));
  return good && !wrong.ok() ? 0 : 1;
}
