// Activations of one input. Forms are those of torch, so that infinities and nan come out as its users expect.
#include "tilewright/graph/composites/definition.h"

namespace tilewright {

std::vector<ValueId> define_gelu(Definition& d) {
  const ValueId x = d.wide(0);
  ValueId inner;
  if (d.attrs().flag("tanh")) {
    // sqrt(2 / pi) * (x + 0.044715 * x**3)
    const ValueId cube = d.mul(d.mul(x, x), x);
    const ValueId sum = d.add(x, d.mul(cube, d.number(x, 0.044715)));
    inner = d.op(Op::kTanh, {d.mul(sum, d.number(x, 0.79788456080286535588))});
  } else {
    inner = d.op(Op::kErf, {d.mul(x, d.number(x, 0.70710678118654752440))});
  }
  const ValueId half = d.mul(x, d.number(x, 0.5));
  return d.narrow(d.mul(half, d.add(inner, d.number(x, 1.0))));
}

std::vector<ValueId> define_silu(Definition& d) {
  const ValueId x = d.wide(0);
  return d.narrow(d.mul(x, d.op(Op::kSigmoid, {x})));
}

std::vector<ValueId> define_leaky_relu(Definition& d) {
  const ValueId x = d.wide(0);
  const ValueId positive = d.op(Op::kGt, {x, d.number(x, 0.0)});
  return d.narrow(d.select(positive, x, d.mul(x, d.number(x, d.attrs().dim("slope")))));
}

std::vector<ValueId> define_elu(Definition& d) {
  const ValueId x = d.wide(0);
  const ValueId positive = d.op(Op::kGt, {x, d.number(x, 0.0)});
  const ValueId grown = d.op(Op::kExpm1, {d.mul(x, d.number(x, d.attrs().dim("input_scale")))});
  const ValueId negative = d.mul(grown, d.number(x, d.attrs().dim("alpha")));
  return d.narrow(d.mul(d.select(positive, x, negative), d.number(x, d.attrs().dim("scale"))));
}

std::vector<ValueId> define_softplus(Definition& d) {
  const ValueId x = d.wide(0);
  const ValueId beta = d.number(x, d.attrs().dim("beta"));
  const ValueId scaled = d.mul(x, beta);
  const ValueId linear = d.op(Op::kGt, {scaled, d.number(x, d.attrs().dim("threshold"))});
  return d.narrow(d.select(linear, x, d.div(d.op(Op::kLog1p, {d.op(Op::kExp, {scaled})}), beta)));
}

namespace {

ValueId hard_sigmoid(Definition& d, ValueId x) {
  const ValueId low = d.op(Op::kMax, {d.add(x, d.number(x, 3.0)), d.number(x, 0.0)});
  return d.div(d.op(Op::kMin, {low, d.number(x, 6.0)}), d.number(x, 6.0));
}

}  // namespace

std::vector<ValueId> define_hard_sigmoid(Definition& d) {
  return d.narrow(hard_sigmoid(d, d.wide(0)));
}

std::vector<ValueId> define_hard_swish(Definition& d) {
  const ValueId x = d.wide(0);
  return d.narrow(d.mul(x, hard_sigmoid(d, x)));
}

// exp overflows to inf for large x, where log1p(inf) = inf and tanh(inf) = 1 give x.
std::vector<ValueId> define_mish(Definition& d) {
  const ValueId x = d.wide(0);
  return d.narrow(d.mul(x, d.op(Op::kTanh, {d.op(Op::kLog1p, {d.op(Op::kExp, {x})})})));
}

}  // namespace tilewright
