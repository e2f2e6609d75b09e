// com.microsoft operators with an activation behind them: FusedConv, FusedGemm, FusedMatMulActivation, NhwcFusedConv;
// and additions in front of others: BiasSoftmax, BiasAdd.
#include "tilewright/frontends/onnx/operators.h"

namespace tilewright::onnx {
namespace {

struct Activation {
  std::string_view name;
  double alpha, beta;
};

// Parameters of an activation where the node gives none.
constexpr Activation kActivations[] = {{"Relu", 0, 0},         {"Tanh", 0, 0}, {"Sigmoid", 0, 0},
                                       {"LeakyRelu", 0.01, 0}, {"Clip", 0, 0}, {"HardSigmoid", 0.2, 0.5},
                                       {"HardSwish", 0, 0},    {"Gelu", 0, 0}};

Maybe activated(OnnxNode& n, const Maybe& x, const Activation& act) {
  if (act.name == "Relu") return n.op(Op::kRelu, {x});
  if (act.name == "Tanh") return n.op(Op::kTanh, {x});
  if (act.name == "Sigmoid") return n.op(Op::kSigmoid, {x});
  if (act.name == "HardSwish") return n.op(Op::kHardSwish, {x});
  if (act.name == "Gelu") return n.op(Op::kGelu, {x});
  if (act.name == "LeakyRelu") return n.op(Op::kLeakyRelu, {x}, {{"slope", Dim::real(act.alpha)}});
  const auto clamped = [&](const Maybe& y, double low, double high) {
    return n.op(Op::kMin, {n.op(Op::kMax, {y, n.number_like(y, low)}), n.number_like(y, high)});
  };
  if (act.name == "Clip") return clamped(x, act.alpha, act.beta);
  const Maybe line = n.op(Op::kMul, {x, n.number_like(x, act.alpha)});
  return clamped(n.op(Op::kAdd, {line, n.number_like(x, act.beta)}), 0.0, 1.0);
}

// The activation that the node names; `parameters` are alpha and beta, or low and high.
Maybe activated_as_named(OnnxNode& n, const Maybe& x, const std::vector<double>& parameters) {
  const std::string_view name = n.text("activation", "");
  if (name.empty()) return x;
  for (Activation act : kActivations) {
    if (act.name != name) continue;
    if (!parameters.empty()) act.alpha = parameters[0];
    if (parameters.size() > 1) act.beta = parameters[1];
    return activated(n, x, act);
  }
  return fail(ErrorKind::kUnsupported, "the activation {}", name);
}

std::vector<double> named_parameters(const OnnxNode& n) {
  std::vector<double> out;
  if (n.has_attribute("activation_alpha")) out.push_back(n.real("activation_alpha", 0));
  if (!out.empty() && n.has_attribute("activation_beta")) out.push_back(n.real("activation_beta", 0));
  return out;
}

Ints channels_moved(std::size_t rank, bool to_front) {
  const auto size = static_cast<std::int64_t>(rank);
  Ints perm{0};
  if (to_front) perm.push_back(size - 1);
  for (std::int64_t axis = to_front ? 1 : 2; axis < size - (to_front ? 1 : 0); ++axis) perm.push_back(axis);
  if (!to_front) perm.push_back(1);
  return perm;
}

// Conv of x and inputs 1 and 2.
Maybe convolution(OnnxNode& n, const Maybe& x) {
  TW_ASSIGN(ValueRef value, n.result(x));
  std::vector<ValueRef> inputs{std::move(value), n.inputs()[1]};
  if (n.has(2)) inputs.push_back(n.inputs()[2]);
  TW_ASSIGN(const Results y, n.delegate("Conv", 11, std::move(inputs)));
  return n.local(y.front());
}

}  // namespace

// x w bias sum: activation(conv + sum)
Maybe import_fused_conv(OnnxNode& n) {
  Maybe y = convolution(n, n.input(0));
  if (n.has(3)) y = n.op(Op::kAdd, {y, n.input(3)});
  return activated_as_named(n, y, n.reals_of("activation_params").value_or(std::vector<double>()));
}

// The same with channels behind: x and sum are [N, spatial.., C], w is that of Conv.
Maybe import_nhwc_fused_conv(OnnxNode& n) {
  TW_ASSIGN(const TensorType x, n.type(0));
  const std::size_t rank = x.shape.size();
  if (rank < 3) return fail(ErrorKind::kShapeMismatch, "x must have at least 3 axes: {}", x);
  Maybe y = convolution(n, n.transpose(n.input(0), channels_moved(rank, true)));
  y = n.transpose(y, channels_moved(rank, false));
  if (n.has(3)) y = n.op(Op::kAdd, {y, n.input(3)});
  return activated_as_named(n, y, n.reals_of("activation_params").value_or(std::vector<double>()));
}

Maybe import_fused_gemm(OnnxNode& n) {
  TW_ASSIGN(const Results y, n.delegate("Gemm", 13, n.inputs()));
  return activated_as_named(n, n.local(y.front()), named_parameters(n));
}

Maybe import_fused_matmul_activation(OnnxNode& n) {
  return activated_as_named(n, import_fused_matmul(n), named_parameters(n));
}

// softmax(x + bias) over the axes from `axis` on; the bias broadcasts from behind, or along inner axes of the batch.
Maybe import_bias_softmax(OnnxNode& n) {
  if (n.integer("is_inner_broadcast", 1) != 0) {
    TW_ASSIGN(const TensorType x, n.type(0));
    TW_ASSIGN(const TensorType bias, n.type(1));
    if (bias.shape.size() != x.shape.size()) {
      return fail(ErrorKind::kUnsupported, "an inner broadcast of {} to {}", bias, x);
    }
  }
  TW_ASSIGN(const ValueId sum, n.op(Op::kAdd, {n.input(0), n.input(1)}));
  TW_ASSIGN(const Results y, n.delegate("Softmax", 11, {Maybe(sum)}));
  return n.local(y.front());
}

Maybe import_bias_add(OnnxNode& n) {
  return n.op(Op::kAdd, {n.op(Op::kAdd, {n.input(0), n.input(1)}), n.input(2)});
}

}  // namespace tilewright::onnx
