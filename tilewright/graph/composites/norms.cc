// Normalisations. Statistics take two passes (mean, then squared distances from it); weights broadcast at the end.
#include "tilewright/graph/composites/definition.h"

namespace tilewright {
namespace {

Ints last_axes(std::int64_t rank, std::int64_t count) {
  Ints axes;
  for (std::int64_t axis = rank - count; axis < rank; ++axis) axes.push_back(axis);
  return axes;
}

ValueId mean(Definition& d, ValueId x, const Ints& axes) {
  return d.div(d.reduce(Op::kReduceSum, x, axes), d.number(x, d.count(x, axes)));
}

// 1 / sqrt(v + eps)
ValueId inverse_deviation(Definition& d, ValueId variance) {
  return d.op(Op::kRsqrt, {d.add(variance, d.number(variance, d.attrs().dim("eps")))});
}

ValueId normalise(Definition& d, ValueId x, const Ints& axes) {
  const ValueId centered = d.sub(x, mean(d, x, axes));
  return d.mul(centered, inverse_deviation(d, mean(d, d.mul(centered, centered), axes)));
}

// A vector over channels, in a shape that broadcasts with x[N, C, ..].
ValueId per_channel(Definition& d, ValueId vector, ValueId x) {
  Shape shape(static_cast<std::size_t>(d.rank(x) - 1), Dim(1));
  shape[0] = d.shape(vector)[0];
  return d.reshape(vector, std::move(shape));
}

}  // namespace

std::vector<ValueId> define_layer_norm(Definition& d) {
  const ValueId x = d.wide(0);
  ValueId y = normalise(d, x, last_axes(d.rank(x), d.attrs().integer("num_axes")));
  if (d.num_inputs() > 1) y = d.mul(y, d.wide(1));
  if (d.num_inputs() > 2) y = d.add(y, d.wide(2));
  return d.narrow(y);
}

std::vector<ValueId> define_rms_norm(Definition& d) {
  const ValueId x = d.wide(0);
  const Ints axes = last_axes(d.rank(x), d.attrs().integer("num_axes"));
  ValueId y = d.mul(x, inverse_deviation(d, mean(d, d.mul(x, x), axes)));
  if (d.num_inputs() > 1) y = d.mul(y, d.wide(1));
  return d.narrow(y);
}

// x[N, C, ..] is seen as [N, groups, C / groups, ..] and normalised over all axes from the third on.
std::vector<ValueId> define_group_norm(Definition& d) {
  const ValueId x = d.wide(0);
  const Shape shape = d.shape(x);
  const std::int64_t groups = d.attrs().integer("groups");
  Shape grouped{shape[0], Dim(groups), floordiv(shape[1], Dim(groups))};
  grouped.insert(grouped.end(), shape.begin() + 2, shape.end());
  const ValueId split = d.reshape(x, std::move(grouped));
  ValueId y = d.reshape(normalise(d, split, last_axes(d.rank(split), d.rank(split) - 2)), shape);
  if (d.num_inputs() > 1) y = d.mul(y, per_channel(d, d.wide(1), y));
  if (d.num_inputs() > 2) y = d.add(y, per_channel(d, d.wide(2), y));
  return d.narrow(y);
}

std::vector<ValueId> define_batch_norm(Definition& d) {
  const ValueId x = d.wide(0);
  const ValueId scale = d.mul(d.wide(1), inverse_deviation(d, d.wide(4)));
  const ValueId centered = d.sub(x, per_channel(d, d.wide(3), x));
  return d.narrow(d.add(d.mul(centered, per_channel(d, scale, x)), per_channel(d, d.wide(2), x)));
}

}  // namespace tilewright
