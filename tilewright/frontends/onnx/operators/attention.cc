// The parts of attention, and ONNX's own operator.
#include "tilewright/frontends/onnx/operators/attention.h"

#include <array>
#include <cmath>
#include <limits>

#include "tilewright/frontends/onnx/types.h"

namespace tilewright::onnx {
namespace {

constexpr double kNever = -std::numeric_limits<double>::infinity();

Maybe positions(OnnxNode& n, Shape shape, std::int64_t axis) {
  return n.op(Op::kIota, {}, {{"dtype", DType::kI64}, {"shape", std::move(shape)}, {"axis", axis}});
}

// The mask as numbers to add: -inf where nothing is allowed. Null if all is.
Result<std::optional<ValueId>> as_bias(OnnxNode& n, const AttentionMask& mask, DType dtype) {
  if (!mask.allowed && !mask.bias) return std::optional<ValueId>();
  Maybe bias = mask.bias ? n.cast(*mask.bias, dtype) : n.number(dtype, Dim::real(0.0));
  if (mask.allowed) bias = n.op(Op::kSelect, {*mask.allowed, bias, n.number(dtype, Dim::real(kNever))});
  TW_ASSIGN(const ValueId value, Maybe(bias));
  return std::optional<ValueId>(value);
}

// Softmax along the last axis, with a score of each head that takes part and is dropped.
Maybe softmax_with_sink(OnnxNode& n, const Maybe& scores, const std::optional<ValueId>& sink) {
  TW_ASSIGN(const ValueId value, Maybe(scores));
  const TensorType type = n.type_of(value);
  const Attrs attrs{{"axis", std::int64_t{3}}};
  if (!sink) return n.op(Op::kSoftmax, {value}, attrs);
  const Shape& shape = type.shape;
  const Maybe column = n.expand(n.reshape(n.cast(*sink, type.dtype), {Dim(1), shape[1], Dim(1), Dim(1)}),
                                {shape[0], shape[1], shape[2], Dim(1)});
  const Maybe all = n.op(Op::kSoftmax, {n.op(Op::kConcat, {value, column}, attrs)}, attrs);
  return n.slice(all, 3, Dim(0), shape[3]);
}

// Rows that may see nothing are 0.
Maybe without_masked_rows(OnnxNode& n, const Maybe& weights, const std::optional<ValueId>& bias) {
  if (!bias) return weights;
  const auto last = std::ssize(n.type_of(*bias).shape) - 1;
  if (last < 0) return weights;
  const Maybe highest = n.reduce(Op::kReduceMax, *bias, {last}, true);
  return n.op(Op::kSelect,
              {n.op(Op::kEq, {highest, n.number_like(highest, kNever)}), n.number_like(weights, 0.0), weights});
}

Result<AttentionResult> attend_in_steps(OnnxNode& n, const Maybe& q, const Maybe& k, const Maybe& v, AttentionMask mask,
                                        const AttentionSpec& spec) {
  TW_ASSIGN(const ValueId query, Maybe(q));
  const TensorType type = n.type_of(query);
  const Maybe keys = repeat_groups(n, k, type.shape[1]);
  const Maybe values = repeat_groups(n, v, type.shape[1]);
  TW_ASSIGN(const ValueId raw, n.op(Op::kMul, {n.op(Op::kMatMul, {query, n.transpose(keys, {0, 1, 3, 2})}),
                                               n.number(type.dtype, spec.scale)}));
  if (mask.causal) {
    const Shape shape = n.type_of(raw).shape;
    TW_TRY(allow_around(n, mask, shape[2], shape[3], n.number(DType::kI64, Dim(0)), true, -1, -1));
  }
  Maybe capped = raw;
  if (spec.softcap > 0) {
    const Maybe cap = n.number_like(raw, spec.softcap);
    capped = n.op(Op::kMul, {n.op(Op::kTanh, {n.op(Op::kDiv, {raw, cap})}), cap});
  }
  TW_ASSIGN(const std::optional<ValueId> bias, as_bias(n, mask, type.dtype));
  const Maybe masked = bias ? n.op(Op::kAdd, {capped, *bias}) : capped;
  const DType precision = byte_size(spec.precision) > byte_size(type.dtype) ? spec.precision : type.dtype;
  const Maybe weights =
      n.cast(without_masked_rows(n, softmax_with_sink(n, n.cast(masked, precision), spec.sink), bias), type.dtype);
  AttentionResult out{n.op(Op::kMatMul, {weights, values}), raw};
  if (spec.scores == Scores::kCapped) out.scores = capped;
  if (spec.scores == Scores::kMasked) out.scores = masked;
  if (spec.scores == Scores::kSoftmax) out.scores = weights;
  return out;
}

}  // namespace

Maybe repeat_groups(OnnxNode& n, const Maybe& x, Dim heads) {
  TW_ASSIGN(const ValueId value, Maybe(x));
  const Shape shape = n.type_of(value).shape;
  if (shape[1] == heads) return value;
  const Dim times = floordiv(heads, shape[1]);
  return n.reshape(n.expand(n.unsqueeze(value, {2}), {shape[0], shape[1], times, shape[2], shape[3]}),
                   {shape[0], heads, shape[2], shape[3]});
}

Status allow(OnnxNode& n, AttentionMask& mask, const Maybe& allowed) {
  TW_ASSIGN(mask.allowed, mask.allowed ? n.op(Op::kBitAnd, {*mask.allowed, allowed}) : allowed);
  return {};
}

Status add_bias(OnnxNode& n, AttentionMask& mask, const Maybe& bias) {
  TW_ASSIGN(mask.bias, mask.bias ? n.op(Op::kAdd, {*mask.bias, bias}) : bias);
  return {};
}

Status allow_around(OnnxNode& n, AttentionMask& mask, Dim queries, Dim keys, const Maybe& offset, bool causal,
                    std::int64_t before, std::int64_t after) {
  const Maybe at = n.op(Op::kAdd, {positions(n, {queries, Dim(1)}, 0), offset});
  const Maybe key = positions(n, {Dim(1), keys}, 1);
  if (causal) TW_TRY(allow(n, mask, n.op(Op::kLe, {key, at})));
  if (before >= 0) {
    TW_TRY(allow(n, mask, n.op(Op::kGe, {key, n.op(Op::kSub, {at, n.number(DType::kI64, Dim(before))})})));
  }
  if (after >= 0) {
    TW_TRY(allow(n, mask, n.op(Op::kLe, {key, n.op(Op::kAdd, {at, n.number(DType::kI64, Dim(after))})})));
  }
  return {};
}

Result<AttentionResult> attend(OnnxNode& n, const Maybe& q, const Maybe& k, const Maybe& v, const AttentionMask& mask,
                               const AttentionSpec& spec) {
  if (spec.softcap > 0 || spec.scores || spec.sink) return attend_in_steps(n, q, k, v, mask, spec);
  const Attrs attrs{{"scale", spec.scale}, {"causal", mask.causal}};
  if (mask.allowed && !mask.bias) {
    const Maybe y = n.op(Op::kAttention, {q, k, v, *mask.allowed}, attrs);
    return AttentionResult{y, y};
  }
  TW_ASSIGN(const ValueId query, Maybe(q));
  TW_ASSIGN(const std::optional<ValueId> bias, as_bias(n, mask, n.type_of(query).dtype));
  const Maybe y = bias ? n.op(Op::kAttention, {q, k, v, *bias}, attrs) : n.op(Op::kAttention, {q, k, v}, attrs);
  return AttentionResult{y, y};
}

Maybe split_heads(OnnxNode& n, const Maybe& x, Dim heads) {
  TW_ASSIGN(const ValueId value, Maybe(x));
  const Shape shape = n.type_of(value).shape;
  if (shape.size() != 3 || heads.constant().value_or(1) < 1) {
    return fail(ErrorKind::kShapeMismatch, "{} heads of {}", heads, n.type_of(value));
  }
  return n.transpose(n.reshape(value, {shape[0], shape[1], heads, floordiv(shape[2], heads)}), {0, 2, 1, 3});
}

Maybe merge_heads(OnnxNode& n, const Maybe& x) {
  TW_ASSIGN(const ValueId value, n.transpose(x, {0, 2, 1, 3}));
  const Shape shape = n.type_of(value).shape;
  return n.reshape(value, {shape[0], shape[1], shape[2] * shape[3]});
}

Maybe with_past(OnnxNode& n, std::size_t past, const Maybe& x) {
  if (!n.has(past)) return x;
  return n.op(Op::kConcat, {n.input(past), x}, {{"axis", std::int64_t{2}}});
}

Dim score_scale(const OnnxNode& n, Dim head_size, double missing) {
  const double given = n.real("scale", missing);
  if (given != missing) return Dim::real(given);
  if (const auto size = head_size.constant()) return Dim::real(1.0 / std::sqrt(static_cast<double>(*size)));
  return Dim::make(DimOp::kTrueDiv, std::array{Dim::real(1.0), Dim::make(DimOp::kSqrt, std::array{head_size})});
}

namespace {

// The mask of input 3; what it lacks at the end of the keys is not allowed.
Status add_given_mask(OnnxNode& n, AttentionMask& mask, Dim keys) {
  if (!n.has(3)) return {};
  TW_ASSIGN(const TensorType type, n.type(3));
  if (type.shape.empty()) return fail(ErrorKind::kShapeMismatch, "the mask is a scalar");
  Maybe given = n.input(3);
  const bool is_bool = type.dtype == DType::kBool;
  if (n.facts().same(type.shape.back(), keys) != Answer::kYes) {
    const Dims low(type.shape.size(), Dim(0));
    Dims high = low;
    high.back() = keys - type.shape.back();
    const Maybe filler = is_bool ? n.cast(n.number(DType::kI64, Dim(0)), DType::kBool) : n.number_like(given, kNever);
    given = n.op(Op::kPad, {given, filler}, {{"low", low}, {"high", high}});
  }
  return is_bool ? allow(n, mask, given) : add_bias(n, mask, given);
}

// Causal, the window, and keys beyond those that are filled (input 6).
Status add_positions(OnnxNode& n, AttentionMask& mask, Dim queries, Dim keys) {
  const bool causal = n.integer("is_causal", 0) != 0;
  const std::int64_t before = n.integer("left_window_size", -1), after = n.integer("right_window_size", -1);
  Maybe offset = n.number(DType::kI64, Dim(0));
  if (n.has(6)) {
    TW_ASSIGN(const TensorType lengths, n.type(6));
    const Maybe filled = n.reshape(n.cast(n.input(6), DType::kI64), {lengths.shape[0], Dim(1), Dim(1), Dim(1)});
    offset = n.op(Op::kSub, {filled, n.number(DType::kI64, queries)});
    TW_TRY(allow(n, mask, n.op(Op::kLt, {positions(n, {Dim(1), keys}, 1), filled})));
  } else if (n.has(4)) {
    TW_ASSIGN(const TensorType past, n.type(4));
    offset = n.number(DType::kI64, past.shape.at(2));
  } else if (causal && before < 0 && after < 0) {
    mask.causal = true;
    return {};
  }
  if (!causal && before < 0 && after < 0) return {};
  return allow_around(n, mask, queries, keys, offset, causal, before, after);
}

}  // namespace

// q k v mask past_key past_value filled -> y present_key present_value scores
Result<Results> import_attention(OnnxNode& n) {
  TW_ASSIGN(const TensorType type, n.type(0));
  const bool flat = type.shape.size() == 3;
  if (!flat && type.shape.size() != 4) return fail(ErrorKind::kShapeMismatch, "q must have 3 or 4 axes: {}", type);
  const auto heads = [&](std::size_t input, std::string_view count) {
    return flat ? split_heads(n, n.input(input), Dim(n.integer(count, 0))) : n.input(input);
  };
  TW_ASSIGN(const ValueId q, heads(0, "q_num_heads"));
  TW_ASSIGN(const ValueId k, with_past(n, 4, heads(1, "kv_num_heads")));
  TW_ASSIGN(const ValueId v, with_past(n, 5, heads(2, "kv_num_heads")));
  const Shape queries = n.type_of(q).shape;
  const Dim keys = n.type_of(k).shape[2];
  AttentionMask mask;
  TW_TRY(add_given_mask(n, mask, keys));
  TW_TRY(add_positions(n, mask, queries[2], keys));
  AttentionSpec spec{.scale = score_scale(n, queries[3], 0.0), .softcap = n.real("softcap", 0.0)};
  if (n.integer("softmax_precision", 0) != 0) {
    TW_ASSIGN(spec.precision, n.dtype("softmax_precision"));
  }
  if (n.wants(3)) spec.scores = static_cast<Scores>(n.integer("qk_matmul_output_mode", 0));
  TW_ASSIGN(const AttentionResult out, attend(n, q, k, v, mask, spec));
  return n.results({flat ? merge_heads(n, out.y) : out.y, k, v, out.scores});
}

}  // namespace tilewright::onnx
