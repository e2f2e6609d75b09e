// softmax and log_softmax over the last axis, shifted by the maximum. Without the shift it is another function for
// large x.
#include "tilewright/passes/recognise.h"

namespace tilewright::passes {
namespace {

// x, if `value` is x - max(x).
std::optional<ValueId> shifted(const Around& around, ValueId value) {
  const Node* sub = around.made(value, Op::kSub);
  if (sub == nullptr) return std::nullopt;
  const auto x = reduced_over_last(around, sub->inputs[1], Op::kReduceMax);
  return x && *x == sub->inputs[0] ? x : std::nullopt;
}

Composite over_last(const Around& around, Op op, ValueId x) {
  return {op, {x}, {{"axis", static_cast<std::int64_t>(around.shape(x).size()) - 1}}};
}

std::optional<Composite> quotient(const Around& around, ValueId exponentials, ValueId sum) {
  const auto summed = reduced_over_last(around, sum, Op::kReduceSum);
  const Node* exp = around.made(exponentials, Op::kExp);
  if (!summed || *summed != exponentials || exp == nullptr || around.uses(exponentials) != 2) return std::nullopt;
  const auto x = shifted(around, exp->inputs[0]);
  return x ? std::optional(over_last(around, Op::kSoftmax, *x)) : std::nullopt;
}

}  // namespace

std::optional<Composite> recognise_softmax(const Around& around, const Node& node) {
  if (around.dtype(node.outputs[0]) != DType::kF32) return std::nullopt;
  if (node.op == Op::kDiv) return quotient(around, node.inputs[0], node.inputs[1]);
  if (node.op == Op::kMul) {
    for (std::size_t i = 0; i < 2; ++i) {
      const Node* inverse = around.made(node.inputs[i], Op::kReciprocal);
      if (inverse == nullptr) continue;
      if (auto found = quotient(around, node.inputs[1 - i], inverse->inputs[0])) return found;
    }
    return std::nullopt;
  }
  // (x - max) - log(sum(exp(x - max)))
  if (node.op != Op::kSub) return std::nullopt;
  const auto x = shifted(around, node.inputs[0]);
  const Node* log = around.made(node.inputs[1], Op::kLog);
  const auto exponentials = log == nullptr ? std::nullopt : reduced_over_last(around, log->inputs[0], Op::kReduceSum);
  const Node* exp = exponentials ? around.made(*exponentials, Op::kExp) : nullptr;
  if (!x || exp == nullptr || exp->inputs[0] != node.inputs[0] || around.uses(*exponentials) != 1) return std::nullopt;
  return over_last(around, Op::kLogSoftmax, *x);
}

}  // namespace tilewright::passes
