// Composites: the ONNX operator that is defined in the same way, if the opset has it and the numbers are known where it
// wants attributes; else the definition by primitives.
#include <cmath>

#include "tilewright/frontends/onnx/export/node.h"

namespace tilewright::onnx {
namespace {

std::optional<double> real(const ExportNode& n, std::string_view attr) {
  return n.attrs().dim(attr).real_constant();
}

// A parameter of ones (or zeros) where the node has none and the size is known.
std::optional<Out> parameter(ExportNode& n, std::size_t input, const Shape& shape, double missing) {
  if (n.num_inputs() > input) return n.input(input);
  Ints sizes;
  for (const Dim dim : shape) {
    const auto number = n.known(dim);
    if (!number || *number > 65536) return std::nullopt;
    sizes.push_back(*number);
  }
  Tensor filled(DType::kF32, sizes);
  for (std::int64_t i = 0; i < filled.count(); ++i) filled.data_as<float>()[i] = static_cast<float>(missing);
  return n.cast(n.frame().model().constant(filled, missing == 0 ? "zeros" : "ones"), n.dtype(0));
}

Shape last_dims(const ExportNode& n) {
  const Shape& shape = n.shape(0);
  return {shape.end() - static_cast<std::ptrdiff_t>(n.integer("num_axes")), shape.end()};
}

}  // namespace

Outs export_softmax(ExportNode& n) {
  return {n.make(n.op() == Op::kSoftmax ? "Softmax" : "LogSoftmax", {n.input(0)}, {{"axis", n.integer("axis")}})};
}

Outs export_layer_norm(ExportNode& n) {
  const auto eps = real(n, "eps");
  if (n.opset() < 17 || !eps) return n.definition();
  const auto weight = parameter(n, 1, last_dims(n), 1);
  if (!weight) return n.definition();
  const Out bias = n.num_inputs() > 2 ? n.input(2) : Out{};
  return {
      n.make("LayerNormalization", {n.input(0), *weight, bias}, {{"axis", -n.integer("num_axes")}, {"epsilon", *eps}})};
}

Outs export_rms_norm(ExportNode& n) {
  const auto eps = real(n, "eps");
  if (n.opset() < 23 || !eps) return n.definition();
  const auto weight = parameter(n, 1, last_dims(n), 1);
  if (!weight) return n.definition();
  return {n.make("RMSNormalization", {n.input(0), *weight}, {{"axis", -n.integer("num_axes")}, {"epsilon", *eps}})};
}

Outs export_group_norm(ExportNode& n) {
  const auto eps = real(n, "eps");
  if (n.opset() < 21 || !eps) return n.definition();
  const auto weight = parameter(n, 1, {n.shape(0)[1]}, 1), bias = parameter(n, 2, {n.shape(0)[1]}, 0);
  if (!weight || !bias) return n.definition();
  return {n.make("GroupNormalization", {n.input(0), *weight, *bias},
                 {{"num_groups", n.integer("groups")}, {"epsilon", *eps}})};
}

Outs export_batch_norm(ExportNode& n) {
  const auto eps = real(n, "eps");
  if (!eps) return n.definition();
  const Outs inputs{n.input(0), n.input(1), n.input(2), n.input(3), n.input(4)};
  return n.make_all("BatchNormalization", inputs, {{"epsilon", *eps}}, {n.dtype(0)});
}

Outs export_gelu(ExportNode& n) {
  if (n.opset() < 20) return n.definition();
  const bool tanh = n.attrs().flag("tanh");
  return {n.make("Gelu", {n.input(0)}, {{"approximate", std::string_view(tanh ? "tanh" : "none")}})};
}

Outs export_silu(ExportNode& n) {
  if (n.opset() >= 24) return {n.make("Swish", {n.input(0)})};
  return {n.mul(n.input(0), n.make("Sigmoid", {n.input(0)}))};
}

Outs export_leaky_relu(ExportNode& n) {
  const auto slope = real(n, "slope");
  if (!slope) return n.definition();
  return {n.make("LeakyRelu", {n.input(0)}, {{"alpha", *slope}})};
}

// Elu: alpha (e^x - 1); Selu: scale (alpha e^x - alpha); Celu: alpha (e^(x / alpha) - 1), of x <= 0.
Outs export_elu(ExportNode& n) {
  const auto alpha = real(n, "alpha"), scale = real(n, "scale"), inner = real(n, "input_scale");
  if (!alpha || !scale || !inner) return n.definition();
  const Out x = n.input(0);
  if (*inner == 1 && *scale == 1) return {n.make("Elu", {x}, {{"alpha", *alpha}})};
  if (*inner == 1) return {n.make("Selu", {x}, {{"alpha", *alpha}, {"gamma", *scale}})};
  if (*scale == 1 && std::fabs(*inner * *alpha - 1) < 1e-12) return {n.make("Celu", {x}, {{"alpha", *alpha}})};
  return n.definition();
}

// Above the usual threshold of 20 the logarithm is x to the last bit of an f32.
Outs export_softplus(ExportNode& n) {
  const bool usual = real(n, "beta") == 1.0 && real(n, "threshold").value_or(0) >= 20;
  if (!usual || n.dtype(0) == DType::kF64) return n.definition();
  return {n.make("Softplus", {n.input(0)})};
}

Outs export_hard_sigmoid(ExportNode& n) {
  return {n.make("HardSigmoid", {n.input(0)}, {{"alpha", 1.0 / 6}, {"beta", 0.5}})};
}

Outs export_hard_swish(ExportNode& n) {
  if (n.opset() < 14) return n.definition();
  return {n.make("HardSwish", {n.input(0)})};
}

Outs export_mish(ExportNode& n) {
  if (n.opset() < 18) return n.definition();
  return {n.make("Mish", {n.input(0)})};
}

}  // namespace tilewright::onnx
