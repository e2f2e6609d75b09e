// com.microsoft.DynamicQuantizeLSTM: x and the hidden state are quantised at each product, weights stay bytes.
#include "tilewright/frontends/onnx/operators/quantization.h"
#include "tilewright/frontends/onnx/operators/recurrent.h"

namespace tilewright::onnx {
namespace {

// Inputs: x w r b lengths h c p, then scale and zero point of w and of r.
constexpr std::size_t kWeights = 1, kScales = 8;

// W or R of a direction: bytes [inputs, gates], scale and zero point of one element or [gates].
struct QuantizedWeight {
  ValueRef bytes, scale, zero;
};

// Number `at` of the first axis. Of a constant it is a constant, which is packed once.
Result<ValueRef> part_of(OnnxNode& n, std::size_t input, std::size_t at) {
  if (const Tensor* constant = n.constant(input); constant != nullptr && constant->rank() > 0) {
    const Tensor whole = constant->contiguous();
    const std::vector<std::int64_t> sizes(whole.sizes().begin() + 1, whole.sizes().end());
    const std::vector<std::int64_t> strides(whole.strides().begin() + 1, whole.strides().end());
    if (static_cast<std::int64_t>(at) >= whole.sizes()[0]) {
      return fail(ErrorKind::kShapeMismatch, "input {} has {} directions", input, whole.sizes()[0]);
    }
    const std::int64_t offset = static_cast<std::int64_t>(at) * whole.strides()[0] * byte_size(whole.dtype());
    // The owner of what is viewed: of memory that the file maps, or of the copy.
    auto owner = std::make_shared<Tensor>(whole);
    return constant_value(Tensor(whole.dtype(), sizes, strides, static_cast<std::byte*>(whole.data()) + offset, owner),
                          fmt::format("{}.{}", n.proto().input[input], at));
  }
  TW_ASSIGN(const TensorType type, n.type(input));
  if (type.shape.empty()) return fail(ErrorKind::kShapeMismatch, "input {} is a scalar", input);
  const auto index = static_cast<std::int64_t>(at);
  return n.result(
      n.reshape(n.slice(n.input(input), 0, index, index + 1), Shape(type.shape.begin() + 1, type.shape.end())));
}

Result<QuantizedWeight> read_weight(OnnxNode& n, Weight which, std::size_t direction) {
  const std::size_t number = which == Weight::kInput ? 0 : 1;
  QuantizedWeight out;
  TW_ASSIGN(out.bytes, part_of(n, kWeights + number, direction));
  TW_ASSIGN(out.scale, part_of(n, kScales + 2 * number, direction));
  TW_ASSIGN(out.zero, part_of(n, kScales + 2 * number + 1, direction));
  return out;
}

// x [.., inputs] quantised as a whole, times the bytes, in floats.
Maybe dynamic_product(OnnxNode& n, const Maybe& x, const QuantizedWeight& weight) {
  TW_ASSIGN(const DynamicallyQuantized a, quantize_dynamically(n, x));
  const Maybe sum = n.op(Op::kIntegerMatMul, {a.y, n.local(weight.bytes), a.zero, n.local(weight.zero)});
  return n.op(Op::kMul, {n.cast(sum, DType::kF32), n.op(Op::kMul, {a.scale, n.local(weight.scale)})});
}

}  // namespace

Result<Results> import_dynamic_quantize_lstm(OnnxNode& n) {
  std::vector<std::vector<QuantizedWeight>> weights(2);
  const std::size_t directions = n.text("direction", "forward") == "bidirectional" ? 2 : 1;
  for (const Weight which : {Weight::kInput, Weight::kRecurrence}) {
    for (std::size_t direction = 0; direction < directions; ++direction) {
      TW_ASSIGN(QuantizedWeight weight, read_weight(n, which, direction));
      weights[which == Weight::kInput ? 0 : 1].push_back(std::move(weight));
    }
  }
  Cell cell = lstm_cell();
  cell.product = [&weights](OnnxNode& inner, const Maybe& x, Weight which, std::size_t direction) {
    return dynamic_product(inner, x, weights[which == Weight::kInput ? 0 : 1][direction]);
  };
  return import_recurrent(n, cell);
}

}  // namespace tilewright::onnx
