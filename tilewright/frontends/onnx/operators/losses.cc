// Losses of classification: the negative log of the probability given to the target class.
#include "tilewright/frontends/onnx/operators.h"

namespace tilewright::onnx {
namespace {

// -weight[target] * x[n, target, ..], 0 where the target is ignored; then as it is, summed, or averaged by weight.
Maybe negative_log_likelihood(OnnxNode& n, const Maybe& x, const Maybe& given_target) {
  TW_ASSIGN(const ValueId scores, Maybe(x));
  const TensorType type = n.type_of(scores);
  if (type.shape.size() < 2) return fail(ErrorKind::kShapeMismatch, "the input must be [N, C, ..]: {}", type);
  Maybe target = n.cast(given_target, DType::kI64);
  Maybe weight = n.number(type.dtype, Dim::real(1.0));
  Maybe kept = n.constant_tensor(Tensor::scalar(true));
  if (n.has_attribute("ignore_index")) {
    kept = n.op(Op::kNe, {target, n.number(DType::kI64, Dim(n.integer("ignore_index", 0)))});
    target = n.op(Op::kSelect, {kept, target, n.number(DType::kI64, Dim(0))});
  }
  if (n.has(2)) weight = n.op(Op::kGather, {n.input(2), target}, {{"axis", std::int64_t{0}}});
  weight = n.op(Op::kSelect, {kept, weight, n.number(type.dtype, Dim::real(0.0))});
  TW_ASSIGN(const ValueId places, Maybe(target));
  const Shape shape = n.type_of(places).shape;
  const Maybe picked =
      n.reshape(n.op(Op::kGatherElements, {scores, n.unsqueeze(target, {1})}, {{"axis", std::int64_t{1}}}), shape);
  weight = n.expand(weight, shape);
  // A score of an ignored target may be infinite: it is left out, not multiplied by 0.
  const Maybe product = n.op(Op::kNeg, {n.op(Op::kMul, {picked, weight})});
  const Maybe loss = n.op(Op::kSelect, {kept, product, n.number(type.dtype, Dim::real(0.0))});
  const std::string_view reduction = n.text("reduction", "mean");
  if (reduction == "none") return loss;
  Ints axes;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) axes.push_back(static_cast<std::int64_t>(axis));
  const Maybe sum = n.reduce(Op::kReduceSum, loss, axes, false);
  return reduction == "sum" ? sum : n.op(Op::kDiv, {sum, n.reduce(Op::kReduceSum, weight, axes, false)});
}

}  // namespace

Maybe import_negative_log_likelihood(OnnxNode& n) {
  return negative_log_likelihood(n, n.input(0), n.input(1));
}

Result<Results> import_softmax_cross_entropy(OnnxNode& n) {
  const Maybe log_probabilities = n.op(Op::kLogSoftmax, {n.input(0)}, {{"axis", std::int64_t{1}}});
  return n.results({negative_log_likelihood(n, log_probabilities, n.input(1)), log_probabilities});
}

}  // namespace tilewright::onnx
