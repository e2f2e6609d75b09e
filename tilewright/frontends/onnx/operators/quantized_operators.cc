// com.microsoft operators on bytes that are another operator between a dequantisation and a quantisation.
#include "tilewright/frontends/onnx/operators/quantization.h"

namespace tilewright::onnx {
namespace {

// channels_last: the operator sees the channels in front of the spatial axes.
Maybe move_channels(OnnxNode& n, const Maybe& value, bool to_front) {
  TW_ASSIGN(const ValueId x, Maybe(value));
  const auto rank = std::ssize(n.type_of(x).shape);
  if (rank < 3) return x;
  Ints perm{0};
  if (to_front) perm.push_back(rank - 1);
  for (std::int64_t axis = to_front ? 1 : 2; axis < (to_front ? rank - 1 : rank); ++axis) perm.push_back(axis);
  if (!to_front) perm.push_back(1);
  return n.transpose(x, std::move(perm));
}

// The first result of an operator of ONNX for x.
Maybe one_of(OnnxNode& n, std::string_view op_type, std::int64_t version, const Maybe& x) {
  TW_ASSIGN(const Results results, n.delegate(op_type, version, {x}));
  return n.local(results.front());
}

DType dtype_of(OnnxNode& n, std::size_t input) {
  const auto type = n.type(input);
  return type.ok() ? type->dtype : DType::kU8;
}

}  // namespace

// a a_scale a_zero b b_scale b_zero c_scale c_zero
Maybe import_qlinear_binary(OnnxNode& n) {
  const Op op = n.op_type() == "QLinearAdd" ? Op::kAdd : Op::kMul;
  return quantized(n, n.op(op, {dequantized(n, 0, 1, 2), dequantized(n, 3, 4, 5)}), 6, 7, dtype_of(n, 0));
}

// x x_scale x_zero y_scale y_zero, of an elementwise operator or a softmax
Maybe import_qlinear_unary(OnnxNode& n) {
  const Maybe x = dequantized(n, 0, 1, 2);
  Maybe y = x;
  if (n.op_type() == "QLinearSigmoid") {
    y = n.op(Op::kSigmoid, {x});
  } else if (n.op_type() == "QLinearLeakyRelu") {
    y = one_of(n, "LeakyRelu", 16, x);
  } else {
    y = one_of(n, "Softmax", n.integer("opset", 13), x);
  }
  return quantized(n, y, 3, 4, dtype_of(n, 0));
}

Maybe import_qlinear_pool(OnnxNode& n) {
  const bool last = n.integer("channels_last", 0) != 0;
  const Maybe x = dequantized(n, 0, 1, 2);
  Maybe y = one_of(n, n.op_type() == "QLinearAveragePool" ? "AveragePool" : "GlobalAveragePool", 11,
                   last ? move_channels(n, x, true) : x);
  if (last) y = move_channels(n, y, false);
  return quantized(n, y, 3, 4, dtype_of(n, 0));
}

Maybe import_qlinear_reduce_mean(OnnxNode& n) {
  return quantized(n, one_of(n, "ReduceMean", 13, dequantized(n, 0, 1, 2)), 3, 4, dtype_of(n, 0));
}

// y_scale y_zero, then x x_scale x_zero of each part
Maybe import_qlinear_concat(OnnxNode& n) {
  std::vector<ValueId> parts;
  for (std::size_t i = 2; i + 2 < n.num_inputs(); i += 3) {
    TW_ASSIGN(const ValueId part, quantized(n, dequantized(n, i, i + 1, i + 2), 0, 1, DType::kU8));
    parts.push_back(part);
  }
  if (parts.empty()) return fail(ErrorKind::kInvalidArgument, "nothing to join");
  TW_ASSIGN(const std::int64_t axis, n.axis(n.integer("axis", 0), n.type_of(parts[0]).shape.size()));
  return n.op(Op::kConcat, parts, {{"axis", axis}});
}

// condition x x_scale x_zero y y_scale y_zero z_scale z_zero
Maybe import_qlinear_where(OnnxNode& n) {
  return n.op(Op::kSelect, {n.input(0), quantized(n, dequantized(n, 1, 2, 3), 7, 8, dtype_of(n, 1)),
                            quantized(n, dequantized(n, 4, 5, 6), 7, 8, dtype_of(n, 1))});
}

}  // namespace tilewright::onnx
