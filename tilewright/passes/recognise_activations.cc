// gelu in its erf and tanh forms, silu, sigmoid.
#include <cmath>

#include "tilewright/passes/recognise.h"

namespace tilewright::passes {
namespace {

constexpr double kCubic = 0.044715;

// x, if `value` is sqrt(2 / pi) * (x + 0.044715 * x**3), or the same with x factored out.
bool is_tanh_argument(const Around& around, ValueId value, ValueId x) {
  const DType dtype = around.dtype(value);
  const Product outer = product_of(around, value);
  if (!outer.is(std::sqrt(2 / M_PI), dtype)) return false;
  if (outer.factors.size() == 1) {
    const Node* sum = around.made(outer.factors[0], Op::kAdd);
    const auto cube = sum == nullptr ? std::nullopt : around.other_than(*sum, x);
    if (!cube) return false;
    const Product inner = product_of(around, *cube);
    return inner.is(kCubic, dtype) && inner.factors == std::vector<ValueId>{x, x, x};
  }
  if (outer.factors.size() != 2) return false;
  for (std::size_t i = 0; i < 2; ++i) {
    if (outer.factors[i] != x) continue;
    const Node* sum = around.made(outer.factors[1 - i], Op::kAdd);
    const auto square = sum == nullptr ? std::nullopt : around.other_than(*sum, 1.0);
    if (!square) continue;
    const Product inner = product_of(around, *square);
    if (inner.is(kCubic, dtype) && inner.factors == std::vector<ValueId>{x, x}) return true;
  }
  return false;
}

// x, if `value` is 1 + e**-x.
std::optional<ValueId> one_plus_exp(const Around& around, ValueId value) {
  const Node* sum = around.made(value, Op::kAdd);
  const auto exp_value = sum == nullptr ? std::nullopt : around.other_than(*sum, 1.0);
  const Node* exp = exp_value ? around.made(*exp_value, Op::kExp) : nullptr;
  const Node* neg = exp == nullptr ? nullptr : around.made(exp->inputs[0], Op::kNeg);
  return neg == nullptr ? std::nullopt : std::optional(neg->inputs[0]);
}

bool same_type(const Around& around, ValueId a, ValueId b) {
  return around.dtype(a) == around.dtype(b) && same_shape(around.shape(a), around.shape(b), around.graph.facts);
}

}  // namespace

// x * (1 + erf(x / sqrt(2))) / 2, multiplied in any order
std::optional<Composite> recognise_gelu(const Around& around, const Node& node) {
  if (node.op != Op::kMul && node.op != Op::kDiv) return std::nullopt;
  const DType dtype = around.dtype(node.outputs[0]);
  const Product outer = product_of(around, node.outputs[0]);
  if (outer.factors.size() != 2 || !outer.is(0.5, dtype)) return std::nullopt;
  for (std::size_t i = 0; i < 2; ++i) {
    const ValueId x = outer.factors[i];
    const Node* sum = around.made(outer.factors[1 - i], Op::kAdd);
    const auto inner = sum == nullptr ? std::nullopt : around.other_than(*sum, 1.0);
    if (!inner || around.uses(*inner) != 1 || !same_type(around, x, node.outputs[0])) continue;
    if (const Node* erf = around.made(*inner, Op::kErf)) {
      const Product scaled = product_of(around, erf->inputs[0]);
      if (scaled.factors == std::vector<ValueId>{x} && scaled.is(M_SQRT1_2, dtype))
        return Composite{Op::kGelu, {x}, {}};
    }
    if (const Node* tanh = around.made(*inner, Op::kTanh)) {
      if (is_tanh_argument(around, tanh->inputs[0], x)) return Composite{Op::kGelu, {x}, {{"tanh", true}}};
    }
  }
  return std::nullopt;
}

// x * sigmoid(x), x / (1 + e**-x)
std::optional<Composite> recognise_silu(const Around& around, const Node& node) {
  if (node.op == Op::kDiv) {
    const auto x = one_plus_exp(around, node.inputs[1]);
    return x && *x == node.inputs[0] ? std::optional(Composite{Op::kSilu, {*x}, {}}) : std::nullopt;
  }
  if (node.op != Op::kMul) return std::nullopt;
  for (std::size_t i = 0; i < 2; ++i) {
    const Node* sigmoid = around.made(node.inputs[i], Op::kSigmoid);
    if (sigmoid != nullptr && sigmoid->inputs[0] == node.inputs[1 - i])
      return Composite{Op::kSilu, {node.inputs[1 - i]}, {}};
  }
  return std::nullopt;
}

// 1 / (1 + e**-x)
std::optional<Composite> recognise_sigmoid(const Around& around, const Node& node) {
  const bool inverts = node.op == Op::kReciprocal || (node.op == Op::kDiv && around.is(node.inputs[0], 1.0));
  if (!inverts) return std::nullopt;
  const auto x = one_plus_exp(around, node.inputs.back());
  if (!x || !same_type(around, *x, node.outputs[0])) return std::nullopt;
  return Composite{Op::kSigmoid, {*x}, {}};
}

}  // namespace tilewright::passes
