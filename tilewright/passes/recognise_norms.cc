// layer_norm and rms_norm over the last axis, and their weights and biases.
#include "tilewright/passes/recognise.h"

namespace tilewright::passes {
namespace {

// x, if `value` is x - mean(x).
std::optional<ValueId> centered(const Around& around, ValueId value) {
  const Node* sub = around.made(value, Op::kSub);
  if (sub == nullptr) return std::nullopt;
  const auto x = mean_over_last(around, sub->inputs[1]);
  return x && *x == sub->inputs[0] ? x : std::nullopt;
}

// d, if `value` is mean(d * d) or mean(d ** 2).
std::optional<ValueId> mean_square(const Around& around, ValueId value) {
  const auto squares = mean_over_last(around, value);
  if (!squares) return std::nullopt;
  if (const Node* mul = around.made(*squares, Op::kMul)) {
    return mul->inputs[0] == mul->inputs[1] ? std::optional(mul->inputs[0]) : std::nullopt;
  }
  const Node* pow = around.made(*squares, Op::kPow);
  return pow != nullptr && around.is(pow->inputs[1], 2.0) ? std::optional(pow->inputs[0]) : std::nullopt;
}

struct Deviation {
  ValueId variance;
  Dim eps;
};

// sqrt(variance + eps), eps a host scalar
std::optional<Deviation> under_root(const Around& around, ValueId value) {
  const Node* sum = around.made(value, Op::kAdd);
  if (sum == nullptr) return std::nullopt;
  for (std::size_t i = 0; i < 2; ++i) {
    const auto eps = host_scalar(around.graph, sum->inputs[i]);
    const ValueId variance = sum->inputs[1 - i];
    if (eps && same_shape(around.shape(variance), around.shape(value), around.graph.facts))
      return Deviation{variance, *eps};
  }
  return std::nullopt;
}

std::optional<Deviation> root(const Around& around, ValueId value) {
  if (const Node* sqrt = around.made(value, Op::kSqrt)) return under_root(around, sqrt->inputs[0]);
  const Node* pow = around.made(value, Op::kPow);
  return pow != nullptr && around.is(pow->inputs[1], 0.5) ? under_root(around, pow->inputs[0]) : std::nullopt;
}

std::optional<Deviation> inverse_root(const Around& around, ValueId value) {
  if (const Node* rsqrt = around.made(value, Op::kRsqrt)) return under_root(around, rsqrt->inputs[0]);
  if (const Node* inverse = around.made(value, Op::kReciprocal)) return root(around, inverse->inputs[0]);
  if (const Node* div = around.made(value, Op::kDiv)) {
    return around.is(div->inputs[0], 1.0) ? root(around, div->inputs[1]) : std::nullopt;
  }
  const Node* pow = around.made(value, Op::kPow);
  return pow != nullptr && around.is(pow->inputs[1], -0.5) ? under_root(around, pow->inputs[0]) : std::nullopt;
}

// d / deviation is a norm of x, if d is x - mean(x) with its own variance, or x with its own mean square.
std::optional<Composite> normalised(const Around& around, ValueId d, const std::optional<Deviation>& deviation) {
  if (!deviation || around.uses(deviation->variance) != 1) return std::nullopt;
  const Attrs attrs{{"num_axes", 1}, {"eps", deviation->eps}};
  const auto squared = mean_square(around, deviation->variance);
  if (const auto x = centered(around, d)) {
    if (squared && (*squared == d || centered(around, *squared) == x)) return Composite{Op::kLayerNorm, {*x}, attrs};
    const auto spread = reduced_over_last(around, deviation->variance, Op::kVariance);
    if (!spread || *spread != *x) return std::nullopt;
    ValueId value = deviation->variance;
    while (around.made(value, Op::kVariance) == nullptr)
      value = around.graph.node(around.graph.value(value).producer).inputs[0];
    if (around.made(value, Op::kVariance)->attrs.dim("correction") != Dim(0)) return std::nullopt;
    return Composite{Op::kLayerNorm, {*x}, attrs};
  }
  return squared && *squared == d ? std::optional(Composite{Op::kRmsNorm, {d}, attrs}) : std::nullopt;
}

}  // namespace

std::optional<Composite> recognise_norm(const Around& around, const Node& node) {
  if (around.dtype(node.outputs[0]) != DType::kF32) return std::nullopt;
  if (node.op == Op::kDiv) return normalised(around, node.inputs[0], root(around, node.inputs[1]));
  if (node.op != Op::kMul) return std::nullopt;
  for (std::size_t i = 0; i < 2; ++i) {
    if (auto found = normalised(around, node.inputs[1 - i], inverse_root(around, node.inputs[i]))) return found;
  }
  return std::nullopt;
}

std::optional<Composite> recognise_norm_parameter(const Around& around, const Node& node) {
  if (node.op != Op::kMul && node.op != Op::kAdd) return std::nullopt;
  const std::size_t present = node.op == Op::kMul ? 1 : 2;
  for (std::size_t i = 0; i < 2; ++i) {
    const ValueId value = node.inputs[i], parameter = node.inputs[1 - i];
    const Node* norm = around.made(value, Op::kLayerNorm);
    if (norm == nullptr && node.op == Op::kMul) norm = around.made(value, Op::kRmsNorm);
    if (norm == nullptr || norm->inputs.size() != present || around.uses(value) != 1) continue;
    if (norm->attrs.integer("num_axes") != 1 || around.dtype(parameter) != around.dtype(value)) continue;
    if (!same_shape(around.shape(parameter), {around.shape(value).back()}, around.graph.facts)) continue;
    Composite found{norm->op, norm->inputs, norm->attrs};
    found.inputs.push_back(parameter);
    return found;
  }
  return std::nullopt;
}

}  // namespace tilewright::passes
