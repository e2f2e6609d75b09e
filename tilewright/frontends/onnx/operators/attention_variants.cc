// Relatives of attention: FlexAttention, whose scores pass through graphs of the model, LinearAttention, a recurrence
// over a matrix for each head, and the causal convolution that goes with it.
#include "tilewright/frontends/onnx/loop.h"
#include "tilewright/frontends/onnx/operators/attention.h"
#include "tilewright/frontends/onnx/types.h"

namespace tilewright::onnx {
namespace {

Maybe modified(OnnxNode& n, std::string_view graph, const Maybe& x) {
  if (n.subgraph(graph) == nullptr) return x;
  TW_ASSIGN(ValueRef value, n.result(x));
  TW_ASSIGN(const Results results, n.inline_subgraph(graph, {std::move(value)}));
  if (results.size() != 1) return fail(ErrorKind::kInvalidArgument, "{} gives {} results", graph, results.size());
  return n.local(results.front());
}

struct LinearRule {
  bool decays, corrects;
};

Result<LinearRule> linear_rule(const OnnxNode& n) {
  const std::string_view name = n.text("update_rule", "gated_delta");
  const LinearRule rule{name == "gated" || name == "gated_delta", name == "delta" || name == "gated_delta"};
  if (name != "linear" && !rule.decays && !rule.corrects) {
    return fail(ErrorKind::kInvalidArgument, "update_rule '{}'", name);
  }
  if (rule.decays != n.has(4) || rule.corrects != n.has(5)) {
    return fail(ErrorKind::kInvalidArgument, "update_rule '{}' with {} decay and {} beta", name, n.has(4) ? "a" : "no",
                n.has(5) ? "a" : "no");
  }
  return rule;
}

// [B, T, H * D] -> f32[T, B, H, D], that a loop walks
Maybe steps_of(OnnxNode& n, std::size_t input, Dim heads) {
  TW_ASSIGN(const TensorType type, n.type(input));
  if (type.shape.size() != 3) return fail(ErrorKind::kShapeMismatch, "input {} must have 3 axes: {}", input, type);
  const Maybe apart = n.reshape(n.input(input), {type.shape[0], type.shape[1], heads, floordiv(type.shape[2], heads)});
  return n.transpose(n.cast(apart, DType::kF32), {1, 0, 2, 3});
}

struct LinearSizes {
  Dim batch, heads, groups, key, value;
  Dim scale;
};

// state [B, G, K, V] decays, takes in one key and value, and is read by a query: y [B, H, V].
Result<Trip> linear_step(OnnxNode& n, const LinearSizes& sizes, const LinearRule& rule, const ValueRef& before,
                         const Results& slices) {
  Maybe state = n.local(before);
  const Maybe key = n.unsqueeze(n.local(slices[1]), {3});  // [B, G, K, 1]
  Maybe value = n.unsqueeze(n.local(slices[2]), {2});      // [B, G, 1, V]
  std::size_t next = 3;
  if (rule.decays) state = n.op(Op::kMul, {state, n.op(Op::kExp, {n.unsqueeze(n.local(slices[next++]), {3})})});
  if (rule.corrects) {
    const Maybe known = n.op(Op::kMatMul, {n.transpose(key, {0, 1, 3, 2}), state});
    const Maybe rate = n.unsqueeze(n.local(slices[next]), {3});
    value = n.op(Op::kMul, {rate, n.op(Op::kSub, {value, known})});
  }
  state = n.op(Op::kAdd, {state, n.op(Op::kMul, {key, value})});
  const Dim times = floordiv(sizes.heads, sizes.groups);
  const Maybe query = n.reshape(n.local(slices[0]), {sizes.batch, sizes.groups, times, sizes.key});
  const Maybe read = n.op(Op::kMul, {n.op(Op::kMatMul, {query, state}), n.number(DType::kF32, sizes.scale)});
  TW_ASSIGN(ValueRef new_state, n.result(state));
  TW_ASSIGN(ValueRef y, n.result(n.reshape(read, {sizes.batch, sizes.heads, sizes.value})));
  return Trip{.go_on = nullptr, .states = {std::move(new_state)}, .rows = {std::move(y)}};
}

}  // namespace

// q[B,H,L,D] k[B,G,T,D] v[B,G,T,E]
Maybe import_flex_attention(OnnxNode& n) {
  TW_ASSIGN(const TensorType q, n.type(0));
  if (q.shape.size() != 4) return fail(ErrorKind::kShapeMismatch, "q must have 4 axes: {}", q);
  DType dtype = byte_size(q.dtype) < 4 ? DType::kF32 : q.dtype;
  if (n.integer("softmax_precision", 0) != 0) {
    TW_ASSIGN(dtype, n.dtype("softmax_precision"));
  }
  const Maybe keys = n.transpose(repeat_groups(n, n.input(1), q.shape[1]), {0, 1, 3, 2});
  const Maybe values = n.cast(repeat_groups(n, n.input(2), q.shape[1]), dtype);
  Maybe scores = n.op(Op::kMatMul, {n.input(0), keys});
  scores = n.op(Op::kMul, {n.cast(scores, dtype), n.number(dtype, score_scale(n, q.shape[3], 0.0))});
  scores = n.cast(modified(n, "score_mod", scores), dtype);
  Maybe weights = n.op(Op::kSoftmax, {scores}, {{"axis", std::int64_t{3}}});
  weights = n.cast(modified(n, "prob_mod", weights), dtype);
  TW_ASSIGN(const TensorType v, n.type(2));
  return n.cast(n.op(Op::kMatMul, {weights, values}), v.dtype);
}

// query key value past_state decay beta -> y [B, T, H * V], state [B, G, K, V]
Result<Results> import_linear_attention(OnnxNode& n) {
  TW_ASSIGN(const LinearRule rule, linear_rule(n));
  TW_ASSIGN(const TensorType q, n.type(0));
  TW_ASSIGN(const TensorType v, n.type(2));
  const std::int64_t heads = n.integer("q_num_heads", 0), groups = n.integer("kv_num_heads", 0);
  if (heads < 1 || groups < 1 || heads % groups != 0 || q.shape.size() != 3 || v.shape.size() != 3) {
    return fail(ErrorKind::kInvalidArgument, "{} heads in {} groups of {} and {}", heads, groups, q, v);
  }
  const Dim key = floordiv(q.shape[2], Dim(heads)), value = floordiv(v.shape[2], Dim(groups));
  const LinearSizes sizes{q.shape[0], Dim(heads), Dim(groups), key, value, score_scale(n, key, 0.0)};
  const Shape state{sizes.batch, sizes.groups, key, value};
  LoopSpec spec{.trips = q.shape[1]};
  const Maybe first =
      n.has(3) ? n.cast(n.input(3), DType::kF32) : n.expand(n.number(DType::kF32, Dim::real(0.0)), state);
  TW_ASSIGN(ValueRef before, n.result(first));
  spec.states.push_back(std::move(before));
  std::vector<Maybe> scanned{steps_of(n, 0, sizes.heads), steps_of(n, 1, sizes.groups), steps_of(n, 2, sizes.groups)};
  if (rule.decays) scanned.push_back(steps_of(n, 4, sizes.groups));
  if (rule.corrects) {
    TW_ASSIGN(const TensorType rate, n.type(5));
    scanned.push_back(steps_of(n, 5, rate.shape.back()));
  }
  for (const Maybe& steps : scanned) {
    TW_ASSIGN(ValueRef slice, n.result(steps));
    spec.scanned.push_back(std::move(slice));
  }
  spec.trip = [&](OnnxNode& inner, const ValueRef&, const Results& states, const Results& slices) {
    return linear_step(inner, sizes, rule, states[0], slices);
  };
  TW_ASSIGN(const LoopResult loop, build_loop(n, spec));
  const Maybe rows = n.transpose(n.local(loop.rows[0]), {1, 0, 2, 3});
  const DType kept = n.has(3) ? n.type(3)->dtype : q.dtype;
  return n.results({n.cast(n.reshape(rows, {q.shape[0], q.shape[1], sizes.heads * value}), q.dtype),
                    n.cast(n.local(loop.states[0]), kept)});
}

// x[B,C,L] weight[C,1,K] bias past[B,C,K-1] -> y[B,C,L], the last K - 1 of past and x
Result<Results> import_causal_conv_with_state(OnnxNode& n) {
  TW_ASSIGN(const TensorType x, n.type(0));
  TW_ASSIGN(const TensorType w, n.type(1));
  if (x.shape.size() != 3 || w.shape.size() != 3) return fail(ErrorKind::kShapeMismatch, "x {} and weight {}", x, w);
  TW_ASSIGN(const std::int64_t channels, n.number_of_size(w.shape[0]));
  const Dim before = w.shape[2] - Dim(1);
  const Maybe past =
      n.has(3) ? n.input(3) : n.expand(n.number(x.dtype, Dim::real(0.0)), {x.shape[0], x.shape[1], before});
  TW_ASSIGN(const ValueId padded, n.op(Op::kConcat, {past, n.input(0)}, {{"axis", std::int64_t{2}}}));
  const Attrs attrs{
      {"stride", Ints{1}}, {"low", Dims{Dim(0)}}, {"high", Dims{Dim(0)}}, {"dilation", Ints{1}}, {"groups", channels}};
  const DType wide = byte_size(x.dtype) < 4 ? DType::kF32 : x.dtype;
  const Maybe input = n.cast(padded, wide), weight = n.cast(n.input(1), wide);
  Maybe y = n.has(2) ? n.op(Op::kConv, {input, weight, n.cast(n.input(2), wide)}, attrs)
                     : n.op(Op::kConv, {input, weight}, attrs);
  const std::string_view activation = n.text("activation", "none");
  if (activation == "silu" || activation == "swish") {
    y = n.op(Op::kSilu, {y});
  } else if (activation != "none") {
    return fail(ErrorKind::kInvalidArgument, "activation '{}'", activation);
  }
  const Dim length = n.type_of(padded).shape[2];
  return n.results({n.cast(y, x.dtype), n.slice(padded, 2, length - before, length)});
}

}  // namespace tilewright::onnx
