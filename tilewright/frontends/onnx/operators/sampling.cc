#include "tilewright/frontends/onnx/operators/sampling.h"

namespace tilewright::onnx {

Maybe binary(OnnxNode& n, Op op, const Maybe& a, const Maybe& b) {
  return n.op(op, {a, b});
}

Maybe binary(OnnxNode& n, Op op, const Maybe& a, double b) {
  return n.op(op, {a, n.number_like(a, b)});
}

Maybe clamped_index(OnnxNode& n, const Maybe& whole, Dim size) {
  const Maybe low = binary(n, Op::kMax, n.cast(whole, DType::kI64), n.number(DType::kI64, 0));
  return binary(n, Op::kMin, low, n.number(DType::kI64, size - 1));
}

std::vector<Tap> linear_taps(OnnxNode& n, const Maybe& at, Dim size) {
  const Maybe below = n.op(Op::kFloor, {at});
  const Maybe above = binary(n, Op::kAdd, below, 1);
  const Maybe part = binary(n, Op::kSub, at, below);
  const auto tap = [&](const Maybe& place, const Maybe& weight) {
    const Maybe index = n.cast(place, DType::kI64);
    const Maybe inside = binary(n, Op::kBitAnd, binary(n, Op::kGe, index, n.number(DType::kI64, 0)),
                                binary(n, Op::kLt, index, n.number(DType::kI64, size)));
    return Tap{clamped_index(n, place, size), n.op(Op::kSelect, {inside, weight, n.number_like(weight, 0)})};
  };
  return {tap(below, binary(n, Op::kSub, n.number_like(part, 1), part)), tap(above, part)};
}

Maybe weighted_samples(OnnxNode& n, const Maybe& x, const Maybe& batch, const std::vector<std::vector<Tap>>& taps,
                       Op combine) {
  Ints axes{0};
  std::size_t combinations = 1;
  for (std::size_t axis = 0; axis < taps.size(); ++axis) {
    axes.push_back(static_cast<std::int64_t>(axis) + 2);
    combinations *= taps[axis].size();
  }
  TW_ASSIGN(const ValueId source, Maybe(x));
  TW_ASSIGN(const ValueId row, Maybe(batch));
  Maybe sum = source;
  for (std::size_t number = 0; number < combinations; ++number) {
    std::vector<ValueId> inputs{source, row};
    Maybe weight = source;
    std::size_t rest = number;
    for (std::size_t axis = 0; axis < taps.size(); ++axis) {
      const Tap& tap = taps[axis][rest % taps[axis].size()];
      rest /= taps[axis].size();
      TW_ASSIGN(const ValueId index, Maybe(tap.index));
      inputs.push_back(index);
      weight = axis == 0 ? tap.weight : binary(n, Op::kMul, weight, tap.weight);
    }
    TW_ASSIGN(const ValueId factor, Maybe(weight));
    const std::int64_t rank = std::ssize(n.type_of(factor).shape);
    // The batch axis and the spatial axes are not adjacent, so the axes of the samples come first.
    const Maybe term = binary(n, Op::kMul, n.op(Op::kIndex, inputs, {{"axes", axes}}), n.unsqueeze(factor, {rank}));
    sum = number == 0 ? term : binary(n, combine, sum, term);
  }
  return sum;
}

}  // namespace tilewright::onnx
