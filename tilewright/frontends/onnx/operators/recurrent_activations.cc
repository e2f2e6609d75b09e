// Activation functions of recurrent operators, by name; alpha and beta are taken from the node's lists in order, by
// those functions that have them.
#include <algorithm>
#include <cctype>

#include "tilewright/frontends/onnx/operators/recurrent.h"

namespace tilewright::onnx {
namespace {

using Build = Maybe (*)(OnnxNode& n, const Maybe& x, double alpha, double beta);

// What gates are clipped before; the third, which reads the cell of an LSTM, is not, as in onnxruntime.
constexpr std::size_t kNumGateActivations = 2;

struct Function {
  std::string_view name;
  bool has_alpha, has_beta;
  double alpha, beta;  // if the node gives none
  Build build;
};

Maybe times(OnnxNode& n, const Maybe& x, double factor) {
  return n.op(Op::kMul, {x, n.number_like(x, factor)});
}

Maybe plus(OnnxNode& n, const Maybe& x, double term) {
  return n.op(Op::kAdd, {x, n.number_like(x, term)});
}

Maybe where_positive(OnnxNode& n, const Maybe& x, const Maybe& yes, const Maybe& no) {
  return n.op(Op::kSelect, {n.op(Op::kGe, {x, n.number_like(x, 0)}), yes, no});
}

constexpr Function kFunctions[] = {
    {"tanh", false, false, 0, 0, [](OnnxNode& n, const Maybe& x, double, double) { return n.op(Op::kTanh, {x}); }},
    {"sigmoid", false, false, 0, 0,
     [](OnnxNode& n, const Maybe& x, double, double) { return n.op(Op::kSigmoid, {x}); }},
    {"relu", false, false, 0, 0, [](OnnxNode& n, const Maybe& x, double, double) { return n.op(Op::kRelu, {x}); }},
    {"affine", true, true, 1, 0,
     [](OnnxNode& n, const Maybe& x, double alpha, double beta) { return plus(n, times(n, x, alpha), beta); }},
    {"leakyrelu", true, false, 0.01, 0,
     [](OnnxNode& n, const Maybe& x, double alpha, double) { return where_positive(n, x, x, times(n, x, alpha)); }},
    {"thresholdedrelu", true, false, 1, 0,
     [](OnnxNode& n, const Maybe& x, double alpha, double) {
       return n.op(Op::kSelect, {n.op(Op::kGe, {x, n.number_like(x, alpha)}), x, n.number_like(x, 0)});
     }},
    {"scaledtanh", true, true, 1, 1,
     [](OnnxNode& n, const Maybe& x, double alpha, double beta) {
       return times(n, n.op(Op::kTanh, {times(n, x, beta)}), alpha);
     }},
    {"hardsigmoid", true, true, 0.2, 0.5,
     [](OnnxNode& n, const Maybe& x, double alpha, double beta) {
       const Maybe line = plus(n, times(n, x, alpha), beta);
       return n.op(Op::kMin, {n.op(Op::kMax, {line, n.number_like(x, 0)}), n.number_like(x, 1)});
     }},
    {"elu", true, false, 1, 0,
     [](OnnxNode& n, const Maybe& x, double alpha, double) {
       return where_positive(n, x, x, times(n, n.op(Op::kExpm1, {x}), alpha));
     }},
    {"softsign", false, false, 0, 0,
     [](OnnxNode& n, const Maybe& x, double, double) {
       return n.op(Op::kDiv, {x, plus(n, n.op(Op::kAbs, {x}), 1)});
     }},
    {"softplus", false, false, 0, 0,
     [](OnnxNode& n, const Maybe& x, double, double) { return n.op(Op::kSoftplus, {x}); }},
};

const Function* find_function(std::string_view name) {
  std::string lower(name);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  const auto* found =
      std::find_if(std::begin(kFunctions), std::end(kFunctions), [&](const Function& f) { return f.name == lower; });
  return found == std::end(kFunctions) ? nullptr : found;
}

}  // namespace

Result<std::vector<Activation>> read_activations(OnnxNode& n, std::vector<std::string_view> names,
                                                 std::size_t num_directions) {
  const std::size_t count = names.size();
  for (std::size_t i = 1; i < num_directions; ++i)
    names.insert(names.end(), names.begin(), names.begin() + static_cast<std::ptrdiff_t>(count));
  if (const auto given = n.texts_of("activations"); !given.empty()) {
    if (given.size() != names.size()) {
      return fail(ErrorKind::kInvalidArgument, "{} activations, {} needed", given.size(), names.size());
    }
    names = given;
  }
  const std::vector<double> alphas = n.reals_of("activation_alpha").value_or(std::vector<double>());
  const std::vector<double> betas = n.reals_of("activation_beta").value_or(std::vector<double>());
  const double clip = n.real("clip", 0);
  std::size_t next_alpha = 0;
  std::size_t next_beta = 0;
  std::vector<Activation> out;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const Function* function = find_function(names[i]);
    if (function == nullptr) return fail(ErrorKind::kUnsupported, "activation '{}' is unknown", names[i]);
    const bool clips = clip > 0 && i % count < kNumGateActivations;
    double alpha = function->alpha;
    double beta = function->beta;
    if (function->has_alpha && next_alpha < alphas.size()) alpha = alphas[next_alpha++];
    if (function->has_beta && next_beta < betas.size()) beta = betas[next_beta++];
    out.emplace_back([function, alpha, beta, clip, clips](OnnxNode& inner, const Maybe& x) {
      if (!clips) return function->build(inner, x, alpha, beta);
      const Maybe low = inner.op(Op::kMax, {x, inner.number_like(x, -clip)});
      return function->build(inner, inner.op(Op::kMin, {low, inner.number_like(x, clip)}), alpha, beta);
    });
  }
  return out;
}

}  // namespace tilewright::onnx
