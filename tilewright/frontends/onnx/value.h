// What a name of an ONNX model stands for while the model is imported: a tensor of the graph, numbers that are known
// without running anything (a shape, an index, an axis), a constant, a sequence, or nothing (an optional without
// content). A tensor gets a place in the graph only when a node needs it there, so shape arithmetic leaves no trace.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tilewright/frontends/onnx/carriers.h"
#include "tilewright/graph/graph.h"

namespace tilewright::onnx {

class GraphScope;

inline constexpr ValueId kNoValue = UINT32_MAX;
inline constexpr std::int64_t kMaxHostElements = 4096;

// Elements in row-major order, known as expressions over the symbols of the graph. Of a bool tensor: 0 and 1.
struct HostTensor {
  DType dtype = DType::kI64;
  std::vector<std::int64_t> sizes;
  Dims elements;
};

struct OnnxValue;
using ValueRef = std::shared_ptr<const OnnxValue>;

struct OnnxValue {
  enum class Kind { kTensor, kSequence, kNone };
  Kind kind = Kind::kTensor;
  TensorType type;                   // of a tensor
  Carried carried = Carried::kNone;  // its element type, where the dtype only carries it
  ValueId id = kNoValue;             // its place in the graph of `home`, if it has one
  const GraphScope* home = nullptr;
  std::optional<Tensor> constant;
  std::string label;                        // of a constant: the name it gets in the graph
  mutable std::optional<HostTensor> known;  // read through host()
  std::vector<ValueRef> items;              // of a sequence
};

ValueRef tensor_value(const GraphScope& home, ValueId id, TensorType type, Carried carried = Carried::kNone);
ValueRef constant_value(Tensor tensor, std::string_view label, Carried carried = Carried::kNone);
ValueRef host_value(HostTensor tensor);
ValueRef sequence_value(std::vector<ValueRef> items);
ValueRef no_value();

// The elements, if they are known; null if not. Of a constant they are read at the first question.
const HostTensor* host(const OnnxValue& value);
HostTensor read_elements(const Tensor& tensor);
// The tensor of known elements that are all numbers.
std::optional<Tensor> to_tensor(const HostTensor& host);

}  // namespace tilewright::onnx
