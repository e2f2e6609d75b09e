// Operators on known elements: shape arithmetic of exporters runs while the model is imported and becomes expressions
// over its symbols. An operator here is an optimisation of one in operators.def that means the same; where an
// expression would not be exact (a quotient of numbers that may be negative), it steps back and the tensor is computed.
#pragma once

#include "tilewright/frontends/onnx/node.h"

namespace tilewright::onnx {

// Nothing: not an operator of the table, not all inputs are known, or no exact expression exists.
Result<std::optional<Results>> run_on_host(OnnxNode& node, std::string_view domain);

using HostResult = Result<std::optional<HostTensor>>;
inline std::optional<HostTensor> not_on_host() {
  return std::nullopt;
}

struct HostCall {
  OnnxNode& node;
  std::vector<const HostTensor*> inputs;  // null: left out

  const HostTensor& operator[](std::size_t input) const { return *inputs[input]; }
  bool has(std::size_t input) const { return input < inputs.size() && inputs[input] != nullptr; }
};

#define HOST_OP(Name, function) HostResult function(const HostCall& call);
#include "tilewright/frontends/onnx/host/host_ops.def"
#undef HOST_OP

// -1 if a size is negative; the largest number if there are more.
std::int64_t count_of(std::span<const std::int64_t> sizes);

}  // namespace tilewright::onnx
