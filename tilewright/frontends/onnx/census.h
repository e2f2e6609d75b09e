// The operators that a model is written with, and what becomes of each: for people who look at a model.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tilewright/base/result.h"

namespace tilewright::onnx {

struct OperatorCount {
  std::string name;  // "domain.Name" or "Name"
  int count = 0;
  std::string_view runs;  // "native"; "function" (of its schema), "model function", or "missing"
};

// Of the graph, its subgraphs and the model's functions, sorted by name. `bytes` is an ONNX model.
Result<std::vector<OperatorCount>> count_operators(std::string_view bytes);

}  // namespace tilewright::onnx
