// Calls of the host for operators on texts.
#pragma once

#include "tilewright/frontends/onnx/texts/texts.h"
#include "tilewright/runtime/arguments.h"

namespace tilewright::runtime {

class TextCalls final : public HostCalls {
 public:
  TextCalls(std::span<const onnx::TextOperator> operators, onnx::StringTable& texts)
      : operators_(operators), texts_(texts) {}
  Result<std::vector<Tensor>> call(std::int64_t target, std::span<const Tensor> inputs) override {
    const onnx::TextOperator& op = operators_[static_cast<std::size_t>(target)];
    auto results = op.function(op.attributes, texts_, inputs);
    if (!results.ok()) return std::move(results).error().in(op.name);
    return results;
  }

 private:
  std::span<const onnx::TextOperator> operators_;
  onnx::StringTable& texts_;
};

}  // namespace tilewright::runtime
