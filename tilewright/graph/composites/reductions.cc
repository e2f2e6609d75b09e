// Reductions that are made of others: mean, variance, logsumexp; and roll, which is made of slices.
#include "tilewright/graph/composites/definition.h"

namespace tilewright {

std::vector<ValueId> define_reduce_mean(Definition& d) {
  const ValueId x = d.wide(0);
  const Ints& axes = d.attrs().ints("axes");
  const ValueId mean = d.div(d.reduce(Op::kReduceSum, x, axes), d.number(x, d.count(x, axes)));
  return d.narrow(d.drop_axes(mean, axes));
}

// Two passes: the sum of squares of the raw values would cancel when the mean is far from 0.
std::vector<ValueId> define_variance(Definition& d) {
  const ValueId x = d.wide(0);
  const Ints& axes = d.attrs().ints("axes");
  const Dim count = d.count(x, axes);
  const ValueId centered = d.sub(x, d.div(d.reduce(Op::kReduceSum, x, axes), d.number(x, count)));
  const ValueId squares = d.reduce(Op::kReduceSum, d.mul(centered, centered), axes);
  const Dim divisor = max(Dim(0), count - d.attrs().dim("correction"));
  return d.narrow(d.drop_axes(d.div(squares, d.number(x, divisor)), axes));
}

// max + log(sum(exp(x - max))). An infinite maximum does not shift: inf - inf would be nan where the answer is the
// maximum.
std::vector<ValueId> define_logsumexp(Definition& d) {
  const ValueId x = d.wide(0);
  const Ints& axes = d.attrs().ints("axes");
  const ValueId maximum = d.reduce(Op::kReduceMax, x, axes);
  const ValueId shift = d.select(d.op(Op::kIsInf, {maximum}), d.number(x, 0.0), maximum);
  const ValueId sum = d.reduce(Op::kReduceSum, d.op(Op::kExp, {d.sub(x, shift)}), axes);
  return d.narrow(d.drop_axes(d.add(d.op(Op::kLog, {sum}), shift), axes));
}

// out[i] = x[(i - shift) mod n]: the last `shift` elements, then the others.
std::vector<ValueId> define_roll(Definition& d) {
  ValueId x = d.raw(0);
  const Ints& axes = d.attrs().ints("axes");
  const Dims& shifts = d.attrs().dims("shift");
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const auto axis = static_cast<std::size_t>(axes[i]);
    const Dim size = d.shape(x)[axis];
    const Dim split = size - mod(shifts[i], max(size, Dim(1)));
    const Ints step(d.shape(x).size(), 1);
    Dims start(step.size(), Dim(0));
    Dims stop = d.shape(x);
    stop[axis] = split;
    const ValueId front = d.op(Op::kSlice, {x}, {{"start", start}, {"stop", stop}, {"step", step}});
    start[axis] = split;
    stop[axis] = size;
    const ValueId back = d.op(Op::kSlice, {x}, {{"start", start}, {"stop", stop}, {"step", step}});
    x = d.op(Op::kConcat, {back, front}, {{"axis", axes[i]}});
  }
  return {x};
}

}  // namespace tilewright
