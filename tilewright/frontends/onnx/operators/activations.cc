// Activations with parameters. Those that the graph has as composites are named, so that backends recognise them.
#include "tilewright/frontends/onnx/operators.h"

namespace tilewright::onnx {

Maybe import_elu(OnnxNode& n) {
  return n.op(Op::kElu, {n.input(0)}, {{"alpha", Dim::real(n.real("alpha", 1.0))}});
}

Maybe import_selu(OnnxNode& n) {
  return n.op(Op::kElu, {n.input(0)},
              {{"alpha",
                Dim::real(n.real("alpha", n.version() < 6 ? 1.6732 : static_cast<double>(1.67326319217681884765625f)))},
               {"scale", Dim::real(n.real(
                             "gamma", n.version() < 6 ? 1.0507 : static_cast<double>(1.05070102214813232421875f)))}});
}

// max(0, x) + min(0, alpha * (exp(x / alpha) - 1))
Maybe import_celu(OnnxNode& n) {
  const double alpha = n.real("alpha", 1.0);
  return n.op(Op::kElu, {n.input(0)}, {{"alpha", Dim::real(alpha)}, {"input_scale", Dim::real(1.0 / alpha)}});
}

Maybe import_gelu(OnnxNode& n) {
  return n.op(Op::kGelu, {n.input(0)}, {{"tanh", n.text("approximate", "none") == "tanh"}});
}

Maybe import_leaky_relu(OnnxNode& n) {
  return n.op(Op::kLeakyRelu, {n.input(0)}, {{"slope", Dim::real(n.real("alpha", static_cast<double>(0.01f)))}});
}

// max(0, min(1, alpha * x + beta))
Maybe import_hard_sigmoid(OnnxNode& n) {
  const Maybe x = n.input(0);
  const Maybe line = n.op(Op::kAdd, {n.op(Op::kMul, {x, n.number_like(x, n.real("alpha", static_cast<double>(0.2f)))}),
                                     n.number_like(x, n.real("beta", 0.5))});
  return n.op(Op::kMax, {n.op(Op::kMin, {line, n.number_like(x, 1.0)}), n.number_like(x, 0.0)});
}

Maybe import_hard_swish(OnnxNode& n) {
  return n.op(Op::kHardSwish, {n.input(0)});
}

// The slope broadcasts to x; before opset 7 it stands at the channels.
Maybe import_prelu(OnnxNode& n) {
  const Maybe x = n.input(0);
  Maybe slope = n.input(1);
  TW_ASSIGN(const TensorType type, n.type(0));
  TW_ASSIGN(const TensorType slopes, n.type(1));
  if (n.version() < 7 && slopes.shape.size() == 1 && type.shape.size() > 2) {
    Shape shape(type.shape.size() - 1, Dim(1));
    shape[0] = slopes.shape[0];
    slope = n.reshape(slope, std::move(shape));
  }
  return n.op(Op::kSelect, {n.op(Op::kLt, {x, n.number_like(x, 0)}), n.op(Op::kMul, {slope, x}), x});
}

// x - bias if x > lambd, x + bias if x < -lambd, else 0
Maybe import_shrink(OnnxNode& n) {
  const double bias = n.real("bias", 0.0);
  const double lambda = n.real("lambd", 0.5);
  const Maybe x = n.input(0);
  TW_ASSIGN(const TensorType type, n.type(0));
  const DType wide = is_float(type.dtype) ? type.dtype : DType::kF32;
  const Maybe y = n.cast(x, wide);
  const Maybe low = n.op(Op::kSelect, {n.op(Op::kLt, {y, n.number_like(y, -lambda)}),
                                       n.op(Op::kAdd, {y, n.number_like(y, bias)}), n.number_like(y, 0.0)});
  const Maybe all = n.op(
      Op::kSelect, {n.op(Op::kGt, {y, n.number_like(y, lambda)}), n.op(Op::kSub, {y, n.number_like(y, bias)}), low});
  return n.cast(all, type.dtype);
}

Maybe import_softplus(OnnxNode& n) {
  return n.op(Op::kSoftplus, {n.input(0)});
}

Maybe import_softsign(OnnxNode& n) {
  const Maybe x = n.input(0);
  return n.op(Op::kDiv, {x, n.op(Op::kAdd, {n.op(Op::kAbs, {x}), n.number_like(x, 1.0)})});
}

Maybe import_swish(OnnxNode& n) {
  const double alpha = n.real("alpha", 1.0);
  const Maybe x = n.input(0);
  if (alpha == 1.0) return n.op(Op::kSilu, {x});
  return n.op(Op::kMul, {x, n.op(Op::kSigmoid, {n.op(Op::kMul, {x, n.number_like(x, alpha)})})});
}

Maybe import_thresholded_relu(OnnxNode& n) {
  const Maybe x = n.input(0);
  return n.op(Op::kSelect, {n.op(Op::kGt, {x, n.number_like(x, n.real("alpha", 1.0))}), x, n.number_like(x, 0.0)});
}

}  // namespace tilewright::onnx
