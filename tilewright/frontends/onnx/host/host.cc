#include "tilewright/frontends/onnx/host/host.h"

namespace tilewright::onnx {
namespace {

using HostFunction = HostResult (*)(const HostCall&);

const std::unordered_map<std::string_view, HostFunction>& table() {
  static const std::unordered_map<std::string_view, HostFunction> rows = {
#define HOST_OP(Name, function) {#Name, function},
#include "tilewright/frontends/onnx/host/host_ops.def"
#undef HOST_OP
  };
  return rows;
}

}  // namespace

std::int64_t count_of(std::span<const std::int64_t> sizes) {
  std::int64_t count = 1;
  for (const std::int64_t size : sizes) {
    if (size < 0) return -1;
    if (size == 0) return 0;
  }
  for (const std::int64_t size : sizes) {
    if (__builtin_mul_overflow(count, size, &count)) return INT64_MAX;
  }
  return count;
}

Result<std::optional<Results>> run_on_host(OnnxNode& node, std::string_view domain) {
  if (!domain.empty() || node.num_outputs() != 1) return std::optional<Results>();
  const auto found = table().find(node.op_type());
  if (found == table().end()) return std::optional<Results>();
  HostCall call{node, {}};
  for (std::size_t i = 0; i < node.num_inputs(); ++i) {
    const HostTensor* known = node.known(i);
    if (known == nullptr && node.inputs()[i] != nullptr) return std::optional<Results>();
    if (known != nullptr && node.inputs()[i]->carried != Carried::kNone) return std::optional<Results>();
    call.inputs.push_back(known);
  }
  if (call.inputs.empty() || call.inputs[0] == nullptr) return std::optional<Results>();
  TW_ASSIGN(std::optional<HostTensor> result, found->second(call));
  if (!result) return std::optional<Results>();
  return std::optional(Results{host_value(std::move(*result))});
}

}  // namespace tilewright::onnx
