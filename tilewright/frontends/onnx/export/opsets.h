// Which opsets there are, from the installed `onnx` package (tools/onnx_schema.py writes the tables).
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace tilewright::onnx {

struct OperatorAge {
  std::string_view name;
  int since;  // the opset in which the standard operator appeared
};
std::span<const OperatorAge> operator_ages();  // sorted by name

std::span<const std::int64_t> ir_versions();  // by opset: the first IR version with that opset

}  // namespace tilewright::onnx
