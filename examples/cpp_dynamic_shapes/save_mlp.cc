// Writes a model file: relu(x w^T + b) v^T for any number of rows, with weights from a fixed formula.
#include <cmath>
#include <cstdio>

#include "tilewright/runtime/model_file.h"

namespace {

using tilewright::Tensor;

Tensor weight(std::vector<std::int64_t> sizes, float scale) {
  Tensor out(tilewright::DType::kF32, std::move(sizes));
  for (std::int64_t i = 0; i < out.count(); ++i)
    out.data_as<float>()[i] = scale * std::sin(static_cast<float>(3 * i + 1));
  return out;
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 2) {
    std::fputs("usage: save_mlp FILE\n", stderr);
    return 2;
  }
  const auto graph = tilewright::parse_graph(R"(
    graph mlp
    x: f32[B, 64]
    weight w: f32[96, 64]
    weight b: f32[96]
    weight v: f32[10, 96]
    wt = transpose(w) perm=[1,0]
    h = matmul(x, wt)
    hb = add(h, b)
    a = relu(hb)
    vt = transpose(v) perm=[1,0]
    y = matmul(a, vt)
    return y
  )");
  if (!graph.ok()) {
    std::fprintf(stderr, "%s\n", graph.error().message.c_str());
    return 1;
  }
  const tilewright::Status saved = tilewright::runtime::save_model(
      **graph, {{"w", weight({96, 64}, 0.2f)}, {"b", weight({96}, 0.1f)}, {"v", weight({10, 96}, 0.2f)}},
      {.metadata = {{"description", "a small network"}}}, arguments[1]);
  if (!saved.ok()) {
    std::fprintf(stderr, "%s\n", saved.error().message.c_str());
    return 1;
  }
  return 0;
}
