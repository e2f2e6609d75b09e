// What a call of a model may bring and take beside its tensors: how many tensors each input and result is (sequences,
// optionals), and the texts that numbers of string tensors stand for.
#pragma once

#include <span>
#include <vector>

#include "tilewright/frontends/onnx/load.h"

namespace tilewright::runtime {

struct CallExtras {
  std::span<const onnx::Form> inputs;  // by declared input; empty: each is one tensor
  std::vector<onnx::Form> outputs;     // set by the call
  onnx::StringTable* texts = nullptr;  // null: a table of the call itself
};

}  // namespace tilewright::runtime
