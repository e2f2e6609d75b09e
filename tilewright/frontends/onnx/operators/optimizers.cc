// Steps of optimisers, for any number of tensors: inputs are the rate, the number of steps made, then all tensors, all
// gradients, and one or two lists of states; results are the new tensors and states. The formulas are those of the
// operators' documentation.
#include "tilewright/frontends/onnx/operators.h"

namespace tilewright::onnx {
namespace {

struct Step {
  OnnxNode& n;
  Maybe rate, steps;  // of the dtype of the tensor
  Maybe x, gradient;  // the gradient with its regularisation

  Maybe number(double value) const { return n.number_like(x, value); }
  Maybe op(Op op, const Maybe& a, const Maybe& b) const { return n.op(op, {a, b}); }
  // The first where no step was made yet.
  Maybe at_start(const Maybe& first, const Maybe& later) const {
    return n.op(Op::kSelect, {op(Op::kGt, steps, number(0)), later, first});
  }
};

Result<Results> adagrad(const Step& s, const Maybe& squares) {
  const Maybe slower = s.op(Op::kAdd, s.op(Op::kMul, s.steps, s.number(s.n.real("decay_factor", 0))), s.number(1));
  const Maybe sum = s.op(Op::kAdd, squares, s.op(Op::kMul, s.gradient, s.gradient));
  const Maybe scale = s.op(Op::kAdd, s.n.op(Op::kSqrt, {sum}), s.number(s.n.real("epsilon", 1e-6)));
  const Maybe step = s.op(Op::kDiv, s.op(Op::kMul, s.op(Op::kDiv, s.rate, slower), s.gradient), scale);
  return s.n.results({s.op(Op::kSub, s.x, step), sum});
}

Result<Results> adam(const Step& s, const Maybe& mean, const Maybe& squares) {
  const double alpha = s.n.real("alpha", 0.9), beta = s.n.real("beta", 0.999);
  const auto mixed = [&](const Maybe& before, const Maybe& now, double kept) {
    return s.op(Op::kAdd, s.op(Op::kMul, before, s.number(kept)), s.op(Op::kMul, now, s.number(1 - kept)));
  };
  const auto remaining = [&](double factor) {
    return s.op(Op::kSub, s.number(1), s.op(Op::kPow, s.number(factor), s.steps));
  };
  const Maybe new_mean = mixed(mean, s.gradient, alpha);
  const Maybe new_squares = mixed(squares, s.op(Op::kMul, s.gradient, s.gradient), beta);
  const Maybe scale = s.op(Op::kAdd, s.n.op(Op::kSqrt, {new_squares}), s.number(s.n.real("epsilon", 1e-6)));
  const Maybe corrected =
      s.op(Op::kDiv, s.op(Op::kMul, s.rate, s.n.op(Op::kSqrt, {remaining(beta)})), remaining(alpha));
  const Maybe step = s.op(Op::kDiv, s.op(Op::kMul, s.at_start(s.rate, corrected), new_mean), scale);
  const Maybe shrunk = s.number(1 - s.n.real("norm_coefficient_post", 0));
  return s.n.results({s.op(Op::kMul, s.op(Op::kSub, s.x, step), shrunk), new_mean, new_squares});
}

Result<Results> momentum(const Step& s, const Maybe& velocity) {
  const Maybe alpha = s.number(s.n.real("alpha", 0));
  const Maybe beta = s.at_start(s.number(1), s.number(s.n.real("beta", 0)));
  const Maybe next = s.op(Op::kAdd, s.op(Op::kMul, alpha, velocity), s.op(Op::kMul, beta, s.gradient));
  const bool looks_ahead = s.n.text("mode", "standard") == "nesterov";
  const Maybe direction = looks_ahead ? s.op(Op::kAdd, s.gradient, s.op(Op::kMul, alpha, next)) : next;
  return s.n.results({s.op(Op::kSub, s.x, s.op(Op::kMul, s.rate, direction)), next});
}

}  // namespace

Result<Results> import_optimizer(OnnxNode& n) {
  const std::size_t lists = n.op_type() == "Adam" ? 4 : 3;
  if (n.num_inputs() < 2 + lists || (n.num_inputs() - 2) % lists != 0) {
    return fail(ErrorKind::kInvalidArgument, "{} inputs, of 2 and {} lists", n.num_inputs(), lists);
  }
  const std::size_t count = (n.num_inputs() - 2) / lists;
  std::vector<Results> columns(lists - 1);
  for (std::size_t i = 0; i < count; ++i) {
    TW_ASSIGN(const TensorType type, n.type(2 + i));
    const auto input = [&](std::size_t list) { return n.input(2 + list * count + i); };
    const auto scalar = [&](std::size_t at) { return n.reshape(n.cast(n.input(at), type.dtype), {}); };
    Step step{n, scalar(0), scalar(1), input(0), input(1)};
    const Maybe decay = step.op(Op::kMul, step.number(n.real("norm_coefficient", 0)), step.x);
    step.gradient = step.op(Op::kAdd, decay, step.gradient);
    auto results = n.op_type() == "Adam"      ? adam(step, input(2), input(3))
                   : n.op_type() == "Adagrad" ? adagrad(step, input(2))
                                              : momentum(step, input(2));
    if (!results.ok()) return results;
    for (std::size_t list = 0; list < columns.size(); ++list) columns[list].push_back((*results)[list]);
  }
  Results out;
  for (const Results& column : columns) out.insert(out.end(), column.begin(), column.end());
  return out;
}

}  // namespace tilewright::onnx
