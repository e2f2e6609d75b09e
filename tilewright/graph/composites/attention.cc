// Scaled dot-product attention with grouped keys and values, masks and causality. A query that attends to nothing gives
// 0 (its maximum is -inf and its sum 0: both are replaced), or nan as a plain softmax does.
#include <limits>

#include "tilewright/graph/composites/definition.h"

namespace tilewright {
namespace {

// kv[B, G, T, D] repeated to [B, heads, T, D]: head h reads group h * G / heads.
ValueId repeat_groups(Definition& d, ValueId kv, Dim heads) {
  const Shape shape = d.shape(kv);
  if (shape[1] == heads) return kv;
  const Dim repeats = floordiv(heads, max(shape[1], Dim(1)));
  const ValueId single = d.reshape(kv, {shape[0], shape[1], Dim(1), shape[2], shape[3]});
  const Shape expanded{shape[0], shape[1], repeats, shape[2], shape[3]};
  const ValueId repeated = d.op(Op::kExpand, {single}, {{"shape", expanded}});
  return d.reshape(repeated, {shape[0], heads, shape[2], shape[3]});
}

// Hides key t from query s where t > s.
ValueId hide_future(Definition& d, ValueId scores, ValueId hidden) {
  const Dim queries = d.shape(scores)[2];
  const Dim keys = d.shape(scores)[3];
  const auto positions = [&](Shape shape, std::int64_t axis) {
    return d.op(Op::kIota, std::vector<ValueId>{},
                {{"dtype", DType::kI64}, {"shape", std::move(shape)}, {"axis", axis}});
  };
  const ValueId visible = d.op(Op::kLe, {positions({Dim(1), keys}, 1), positions({queries, Dim(1)}, 0)});
  return d.select(visible, scores, hidden);
}

}  // namespace

std::vector<ValueId> define_attention(Definition& d) {
  const ValueId q = d.wide(0);
  const Dim heads = d.shape(q)[1];
  const ValueId k = repeat_groups(d, d.wide(1), heads);
  const ValueId v = repeat_groups(d, d.wide(2), heads);
  const ValueId k_transposed = d.op(Op::kTranspose, {k}, {{"perm", Ints{0, 1, 3, 2}}});
  ValueId scores = d.op(Op::kMatMul, {q, k_transposed});
  scores = d.mul(scores, d.number(scores, d.attrs().dim("scale")));

  const ValueId hidden = d.number(scores, -std::numeric_limits<double>::infinity());
  if (d.num_inputs() > 3) {
    const ValueId mask = d.raw(3);
    scores =
        d.dtype(mask) == DType::kBool ? d.select(mask, scores, hidden) : d.add(scores, d.cast(mask, d.dtype(scores)));
  }
  if (d.attrs().flag("causal")) scores = hide_future(d, scores, hidden);

  const ValueId zero = d.number(scores, 0.0);
  const ValueId maximum = d.reduce(Op::kReduceMax, scores, {3});
  const ValueId shift = d.select(d.op(Op::kEq, {maximum, hidden}), zero, maximum);
  const ValueId exponentials = d.op(Op::kExp, {d.sub(scores, shift)});
  const ValueId sum = d.reduce(Op::kReduceSum, exponentials, {3});
  ValueId divisor = sum;
  if (!d.attrs().flag("empty_is_nan")) divisor = d.select(d.op(Op::kEq, {sum, zero}), d.number(scores, 1.0), sum);
  return d.narrow(d.op(Op::kMatMul, {d.div(exponentials, divisor), v}));
}

}  // namespace tilewright
