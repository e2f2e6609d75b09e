// com.microsoft.GroupQueryAttention: the attention of decoders with a cache. Each sequence has its own length; new keys
// stand behind those it has. The cache may be longer than what is filled.
#include "tilewright/frontends/onnx/operators/attention.h"
#include "tilewright/frontends/onnx/operators/rotary.h"

namespace tilewright::onnx {
namespace {

constexpr std::size_t kPastKey = 3, kPastValue = 4, kLastPosition = 5, kTotal = 6, kCos = 7, kSin = 8, kPositions = 9,
                      kBias = 10, kSink = 11;

Maybe positions(OnnxNode& n, Dim size, std::int64_t rank, std::int64_t axis) {
  Shape shape(static_cast<std::size_t>(rank), Dim(1));
  shape[static_cast<std::size_t>(axis)] = size;
  return n.op(Op::kIota, {}, {{"dtype", DType::kI64}, {"shape", std::move(shape)}, {"axis", axis}});
}

struct Rows {
  Maybe q, k, v;  // [B, S, heads, D]
};

// Separate rows, or one with all heads beside each other.
Result<Rows> rows_of(OnnxNode& n, std::int64_t heads, std::int64_t groups) {
  TW_ASSIGN(const TensorType query, n.type(0));
  if (query.shape.size() != 3) return fail(ErrorKind::kShapeMismatch, "the query must have 3 axes: {}", query);
  const auto apart = [&](const Maybe& x, std::int64_t count, Dim size) {
    return n.reshape(x, {query.shape[0], query.shape[1], Dim(count), size});
  };
  if (n.has(1)) {
    TW_ASSIGN(const TensorType value, n.type(2));
    const Dim size = floordiv(query.shape[2], Dim(heads));
    return Rows{apart(n.input(0), heads, size), apart(n.input(1), groups, size),
                apart(n.input(2), groups, floordiv(value.shape[2], Dim(groups)))};
  }
  const Dim size = floordiv(query.shape[2], Dim(heads + 2 * groups));
  const Maybe all = apart(n.input(0), heads + 2 * groups, size);
  return Rows{n.slice(all, 2, Dim(0), Dim(heads)), n.slice(all, 2, Dim(heads), Dim(heads + groups)),
              n.slice(all, 2, Dim(heads + groups), Dim(heads + 2 * groups))};
}

// rows [B, S, G, D] written behind what each sequence has in past [B, G, P, D], into room for `length` keys.
Maybe present(OnnxNode& n, std::size_t past, const Maybe& rows, const Maybe& filled, Dim length) {
  TW_ASSIGN(const ValueId value, Maybe(rows));
  const Shape shape = n.type_of(value).shape;
  if (!n.has(past)) return n.transpose(value, {0, 2, 1, 3});
  TW_ASSIGN(const TensorType type, n.type(past));
  Maybe room = n.input(past);
  if (n.facts().same(type.shape[2], length) != Answer::kYes) {
    const Dims none(4, Dim(0));
    Dims high = none;
    high[2] = length - type.shape[2];
    room = n.op(Op::kPad, {room, n.number_like(room, 0.0)}, {{"low", none}, {"high", high}});
  }
  const Maybe batch = positions(n, shape[0], 2, 0);
  const Maybe place = n.op(Op::kAdd, {n.reshape(filled, {shape[0], Dim(1)}), positions(n, shape[1], 2, 1)});
  return n.op(Op::kIndexPut, {room, value, batch, place}, {{"axes", Ints{0, 2}}});
}

// q and k turned to their positions [B, S].
Status rotate(OnnxNode& n, Rows& rows, const Maybe& filled, Dim batch, Dim length) {
  const Maybe at = n.has(kPositions) ? n.input(kPositions)
                                     : n.op(Op::kAdd, {n.reshape(filled, {batch, Dim(1)}), positions(n, length, 2, 1)});
  const auto table = [&](std::size_t input) {
    return n.op(Op::kGather, {n.input(input), at}, {{"axis", std::int64_t{0}}});
  };
  const bool interleaved = n.integer("rotary_interleaved", 0) != 0;
  TW_ASSIGN(const ValueId cos, table(kCos));
  TW_ASSIGN(const ValueId sin, table(kSin));
  TW_ASSIGN(rows.q, rotated(n, rows.q, cos, sin, interleaved));
  TW_ASSIGN(rows.k, rotated(n, rows.k, cos, sin, interleaved));
  return {};
}

Status check_supported(const OnnxNode& n) {
  for (std::size_t input = 12; input < n.num_inputs(); ++input) {
    if (n.has(input)) return fail(ErrorKind::kUnsupported, "input {} (a quantised cache, norms of q and k)", input);
  }
  if (n.integer("kv_cache_bit_width", 0) != 0) return fail(ErrorKind::kUnsupported, "a quantised cache");
  return {};
}

// The length of the cache that comes out: room for all keys, and never less than came in.
Result<Dim> present_length(OnnxNode& n, Dim new_keys) {
  if (!n.has(kPastKey)) return new_keys;
  TW_ASSIGN(const TensorType past, n.type(kPastKey));
  TW_ASSIGN(const Dim total, n.scalar(kTotal));
  if (n.facts().less_equal(past.shape.at(2), total) == Answer::kYes) return total;
  return max(total, past.shape.at(2));
}

}  // namespace

Result<Results> import_group_query_attention(OnnxNode& n) {
  TW_TRY(check_supported(n));
  const std::int64_t heads = n.integer("num_heads", 0), groups = n.integer("kv_num_heads", 0);
  if (heads < 1 || groups < 1) return fail(ErrorKind::kInvalidArgument, "{} heads in {} groups", heads, groups);
  TW_ASSIGN(Rows rows, rows_of(n, heads, groups));
  TW_ASSIGN(const ValueId query, Maybe(rows.q));
  const TensorType type = n.type_of(query);
  const Dim batch = type.shape[0], length = type.shape[1];
  // Sequence b has last_position + 1 keys, of which the last `length` are new; a first prompt may be padded behind.
  const Maybe ends = n.reshape(n.cast(n.input(kLastPosition), DType::kI64), {batch});
  const Maybe filled =
      n.op(Op::kMax, {n.op(Op::kSub, {ends, n.number(DType::kI64, length - Dim(1))}), n.number(DType::kI64, Dim(0))});
  if (n.integer("do_rotary", 0) != 0) TW_TRY(rotate(n, rows, filled, batch, length));
  TW_ASSIGN(const Dim keys, present_length(n, length));
  TW_ASSIGN(const ValueId k, present(n, kPastKey, rows.k, filled, keys));
  TW_ASSIGN(const ValueId v, present(n, kPastValue, rows.v, filled, keys));
  AttentionMask mask;
  const bool causal = n.integer("causal", 1) != 0;
  const std::int64_t window = n.integer("local_window_size", -1);
  if (n.has(kPastKey) || window > 0) {
    const Maybe offset = n.reshape(filled, {batch, Dim(1), Dim(1), Dim(1)});
    TW_TRY(allow_around(n, mask, length, keys, offset, causal, window > 0 ? window - 1 : -1, -1));
  } else {
    mask.causal = causal;
  }
  if (n.has(kBias)) {
    TW_ASSIGN(const TensorType bias, n.type(kBias));
    const Maybe part =
        n.facts().same(bias.shape.back(), keys) == Answer::kYes
            ? n.input(kBias)
            : n.op(Op::kPad, {n.input(kBias), n.number(bias.dtype, Dim::real(0.0))},
                   {{"low", Dims(4, Dim(0))}, {"high", Dims{Dim(0), Dim(0), Dim(0), keys - bias.shape.back()}}});
    TW_TRY(add_bias(n, mask, part));
  }
  AttentionSpec spec{.scale = score_scale(n, type.shape[3], 0.0), .softcap = n.real("softcap", 0.0)};
  if (n.has(kSink)) {
    TW_ASSIGN(spec.sink, n.input(kSink));
  } else if (n.integer("smooth_softmax", 0) == 1) {
    TW_ASSIGN(spec.sink, n.expand(n.number(type.dtype, Dim::real(0.0)), {Dim(heads)}));
  }
  if (n.wants(3)) spec.scores = n.integer("qk_output", 0) == 2 ? Scores::kSoftmax : Scores::kMasked;
  TW_ASSIGN(const AttentionResult out, attend(n, n.transpose(rows.q, {0, 2, 1, 3}), k, v, mask, spec));
  return n.results({merge_heads(n, out.y), k, v, out.scores});
}

}  // namespace tilewright::onnx
