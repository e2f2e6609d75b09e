// com.microsoft.Attention, MultiHeadAttention and QAttention: products of projections, in the layouts that they take.
#include <array>

#include "tilewright/frontends/onnx/operators/attention.h"
#include "tilewright/frontends/onnx/operators/quantization.h"

namespace tilewright::onnx {
namespace {

Maybe key_positions(OnnxNode& n, Dim keys) {
  return n.op(Op::kIota, {}, {{"dtype", DType::kI64}, {"shape", Shape{Dim(1), keys}}, {"axis", std::int64_t{1}}});
}

// 0 where a padding mask lets a key be seen, else mask_filter_value; broadcast to [B, H, S, T]. The mask is
// [B, T] or [B, S, T] of 0 and 1, [B] lengths, or [2 * B] ends and starts.
Maybe padding_bias(OnnxNode& n, std::size_t input, Dim batch, Dim keys, DType dtype) {
  TW_ASSIGN(const TensorType type, n.type(input));
  const Shape& shape = type.shape;
  const Maybe mask = n.cast(n.input(input), DType::kI64);
  Maybe seen = mask;
  const auto column = [&](Dim from) { return n.reshape(n.slice(mask, 0, from, from + batch), {batch, Dim(1)}); };
  if (shape.size() == 1) {
    const Maybe key = key_positions(n, keys);
    const bool ends_and_starts = n.facts().same(shape[0], batch * Dim(2)) == Answer::kYes;
    if (!ends_and_starts && n.facts().same(shape[0], batch) == Answer::kNo) {
      return fail(ErrorKind::kUnsupported, "a padding mask {} for {} sequences", type, batch);
    }
    seen = n.op(Op::kLt, {key, column(Dim(0))});
    if (ends_and_starts) seen = n.op(Op::kBitAnd, {seen, n.op(Op::kGe, {key, column(batch)})});
    seen = n.unsqueeze(seen, {1, 2});
  } else if (shape.size() == 2 || shape.size() == 3) {
    seen = n.op(Op::kGt, {mask, n.number(DType::kI64, Dim(0))});
    seen = n.unsqueeze(seen, shape.size() == 2 ? Ints{1, 2} : Ints{1});
  } else {
    return fail(ErrorKind::kUnsupported, "a padding mask {}", type);
  }
  return n.op(Op::kSelect, {seen, n.number(dtype, Dim::real(0.0)),
                            n.number(dtype, Dim::real(n.real("mask_filter_value", -10000.0)))});
}

struct Projections {
  Maybe q, k, v;  // [B, heads, length, size]
};

// The part of a row of q, k and v beside each other, as heads.
Maybe heads_of_part(OnnxNode& n, const Maybe& rows, Dim from, Dim to, std::int64_t heads) {
  return split_heads(n, n.slice(rows, 2, from, to), Dim(heads));
}

// Half `i` of past [2, B, H, P, D] in front of x.
Maybe with_past_half(OnnxNode& n, std::size_t past, std::int64_t i, const Maybe& x) {
  if (!n.has(past)) return x;
  TW_ASSIGN(const TensorType type, n.type(past));
  const Maybe half = n.slice(n.input(past), 0, Dim(i), Dim(i + 1));
  return n.op(Op::kConcat, {n.reshape(half, Shape(type.shape.begin() + 1, type.shape.end())), x},
              {{"axis", std::int64_t{2}}});
}

struct AttentionInputs {
  std::size_t mask, past, bias;
};

// rows [B, S, q + k + v] -> y [B, S, v] and present [2, B, H, T, D]
Result<Results> attention_of_rows(OnnxNode& n, const Maybe& given, const AttentionInputs& at) {
  TW_ASSIGN(const ValueId rows, Maybe(given));
  if (n.integer("do_rotary", 0) != 0) return fail(ErrorKind::kUnsupported, "do_rotary without tables");
  const TensorType type = n.type_of(rows);
  if (type.shape.size() != 3) return fail(ErrorKind::kShapeMismatch, "the projections must have 3 axes: {}", type);
  const std::int64_t heads = n.integer("num_heads", 0);
  const Dim third = floordiv(type.shape[2], Dim(3));
  Dims sizes{third, third, third};
  if (const auto given_sizes = n.integers_of("qkv_hidden_sizes"); given_sizes && given_sizes->size() == 3) {
    sizes.assign(given_sizes->begin(), given_sizes->end());
  }
  const Maybe q = heads_of_part(n, rows, Dim(0), sizes[0], heads);
  const Maybe new_k = heads_of_part(n, rows, sizes[0], sizes[0] + sizes[1], heads);
  const Maybe new_v = heads_of_part(n, rows, sizes[0] + sizes[1], sizes[0] + sizes[1] + sizes[2], heads);
  TW_ASSIGN(const ValueId k, with_past_half(n, at.past, 0, new_k));
  TW_ASSIGN(const ValueId v, with_past_half(n, at.past, 1, new_v));
  const Dim keys = n.type_of(k).shape[2];
  AttentionMask mask;
  if (n.has(at.mask)) TW_TRY(add_bias(n, mask, padding_bias(n, at.mask, type.shape[0], keys, type.dtype)));
  if (n.has(at.bias)) TW_TRY(add_bias(n, mask, n.input(at.bias)));
  if (n.integer("unidirectional", 0) != 0) {
    mask.causal = !n.has(at.past);
    if (n.has(at.past)) {
      const Maybe offset = n.number(DType::kI64, keys - type.shape[1]);
      TW_TRY(allow_around(n, mask, type.shape[1], keys, offset, true, -1, -1));
    }
  }
  const Dim scale = score_scale(n, floordiv(sizes[0], Dim(heads)), 0.0);
  TW_ASSIGN(const AttentionResult out, attend(n, q, k, v, mask, {.scale = scale}));
  if (!n.wants(1)) return n.results({merge_heads(n, out.y)});
  return n.results({merge_heads(n, out.y),
                    n.op(Op::kConcat, {n.unsqueeze(k, {0}), n.unsqueeze(v, {0})}, {{"axis", std::int64_t{0}}})});
}

// A part of the bias [q + k + v] added to x [B, S, part].
Maybe with_bias(OnnxNode& n, const Maybe& x, std::size_t bias, Dim from, Dim to) {
  return n.has(bias) ? n.op(Op::kAdd, {x, n.slice(n.input(bias), 0, from, to)}) : x;
}

// Part `i` of [B, S, H, parts, D], as [B, S, H * D].
Maybe packed_part(OnnxNode& n, std::size_t input, const Shape& shape, std::int64_t i) {
  return n.reshape(n.slice(n.input(input), 3, Dim(i), Dim(i + 1)), {shape[0], shape[1], shape[2] * shape[4]});
}

Maybe biased_heads(OnnxNode& n, const Maybe& x, Dim from) {
  TW_ASSIGN(const ValueId rows, Maybe(x));
  return split_heads(n, with_bias(n, rows, 3, from, from + n.type_of(rows).shape[2]), Dim(n.integer("num_heads", 0)));
}

// query key value: separate rows, packed with their heads, or keys and values that are heads already.
Result<Projections> projections(OnnxNode& n) {
  TW_ASSIGN(const TensorType query, n.type(0));
  if (query.shape.size() == 5) {
    const Dim size = query.shape[2] * query.shape[4];
    return Projections{biased_heads(n, packed_part(n, 0, query.shape, 0), Dim(0)),
                       biased_heads(n, packed_part(n, 0, query.shape, 1), size),
                       biased_heads(n, packed_part(n, 0, query.shape, 2), size * Dim(2))};
  }
  TW_ASSIGN(const TensorType key, n.type(1));
  if (query.shape.size() != 3) return fail(ErrorKind::kShapeMismatch, "the query must have 3 or 5 axes: {}", query);
  const Dim size = query.shape[2];
  const Maybe q = biased_heads(n, n.input(0), Dim(0));
  if (key.shape.size() == 5) {
    return Projections{q, biased_heads(n, packed_part(n, 1, key.shape, 0), size),
                       biased_heads(n, packed_part(n, 1, key.shape, 1), size * Dim(2))};
  }
  if (key.shape.size() == 4) return Projections{q, n.input(1), n.input(2)};
  return Projections{q, biased_heads(n, n.input(1), size), biased_heads(n, n.input(2), size * Dim(2))};
}

}  // namespace

// input weights bias mask_index past attention_bias
Result<Results> import_microsoft_attention(OnnxNode& n) {
  Maybe rows = n.op(Op::kMatMul, {n.input(0), n.input(1)});
  if (n.has(2)) rows = n.op(Op::kAdd, {rows, n.input(2)});
  if (n.has(6)) return fail(ErrorKind::kUnsupported, "a past that shares its buffer with the present");
  return attention_of_rows(n, rows, {.mask = 3, .past = 4, .bias = 5});
}

// input weight bias input_scale weight_scale mask_index input_zero weight_zero past
Result<Results> import_qattention(OnnxNode& n) {
  TW_ASSIGN(const TensorType x, n.type(0));
  TW_ASSIGN(const TensorType w, n.type(1));
  const auto zero = [&](std::size_t input, DType dtype) {
    return n.has(input) ? as_parameter(n, input) : n.number(dtype, Dim(0));
  };
  const Maybe product = n.op(Op::kIntegerMatMul, {n.input(0), n.input(1), zero(6, x.dtype), zero(7, w.dtype)});
  TW_ASSIGN(const ValueId scale, n.op(Op::kMul, {as_parameter(n, 3), as_parameter(n, 4)}));
  const Maybe rows = n.op(Op::kAdd, {n.op(Op::kMul, {n.cast(product, n.type_of(scale).dtype), scale}), n.input(2)});
  return attention_of_rows(n, rows, {.mask = 5, .past = 8, .bias = n.num_inputs()});
}

// query key value bias key_padding_mask attention_bias past_key past_value -> y present_key present_value scores
Result<Results> import_multi_head_attention(OnnxNode& n) {
  if (n.has(8) || n.has(9)) return fail(ErrorKind::kUnsupported, "a past that shares its buffer with the present");
  TW_ASSIGN(const Projections heads, projections(n));
  TW_ASSIGN(const ValueId q, Maybe(heads.q));
  TW_ASSIGN(const ValueId k, with_past(n, 6, heads.k));
  TW_ASSIGN(const ValueId v, with_past(n, 7, heads.v));
  const TensorType type = n.type_of(q);
  const Dim keys = n.type_of(k).shape[2];
  AttentionMask mask;
  if (n.has(4)) TW_TRY(add_bias(n, mask, padding_bias(n, 4, type.shape[0], keys, type.dtype)));
  if (n.has(5)) TW_TRY(add_bias(n, mask, n.input(5)));
  if (n.integer("unidirectional", 0) != 0) {
    mask.causal = !n.has(6);
    if (n.has(6)) {
      const Maybe offset = n.number(DType::kI64, keys - type.shape[2]);
      TW_TRY(allow_around(n, mask, type.shape[2], keys, offset, true, -1, -1));
    }
  }
  AttentionSpec spec{.scale = score_scale(n, type.shape[3], 0.0)};
  if (n.wants(3)) spec.scores = Scores::kMasked;
  TW_ASSIGN(const AttentionResult out, attend(n, q, k, v, mask, spec));
  return n.results({merge_heads(n, out.y), k, v, out.scores});
}

}  // namespace tilewright::onnx
