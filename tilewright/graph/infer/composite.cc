// Composites with inputs of different roles: softmax, norms, attention.
#include "tilewright/graph/infer/families.h"
#include "tilewright/graph/infer/rules.h"

namespace tilewright {
namespace {

// Weights and biases are inputs from 1 on; each has the shape `expected`.
Status check_parameters(const InferInput& in, std::span<const Dim> expected) {
  TW_TRY(check_float(in.types[0]));
  TW_TRY(check_equal_dtypes(in.types));
  for (const TensorType& type : std::span(in.types).subspan(1)) {
    bool fits = type.shape.size() == expected.size();
    for (std::size_t i = 0; fits && i < expected.size(); ++i) {
      fits = !provably_different(type.shape[i], expected[i], in.facts);
    }
    if (!fits) {
      return fail(ErrorKind::kShapeMismatch, "a parameter must have the shape {}: {}", shape_text(expected), type);
    }
  }
  return {};
}

Status check_channels(const TensorType& x) {
  if (x.shape.size() >= 2) return {};
  return fail(ErrorKind::kShapeMismatch, "x must have the axes [N, C, ..]: {}", x);
}

}  // namespace

Result<Types> infer_softmax(const InferInput& in) {
  TW_TRY(check_float(in.types[0]));
  TW_TRY(check_axis(in.types[0], in.attrs.integer("axis")));
  return Types{in.types[0]};
}

Result<Types> infer_norm(const InferInput& in) {
  const TensorType& x = in.types[0];
  const std::int64_t num_axes = in.attrs.integer("num_axes");
  if (num_axes < 1 || num_axes > std::ssize(x.shape)) {
    return fail(ErrorKind::kIndexOutOfRange, "num_axes = {} is out of range: {} has rank {}", num_axes, x,
                x.shape.size());
  }
  TW_TRY(check_parameters(in, std::span(x.shape).last(static_cast<std::size_t>(num_axes))));
  return Types{x};
}

Result<Types> infer_group_norm(const InferInput& in) {
  const TensorType& x = in.types[0];
  const std::int64_t groups = in.attrs.integer("groups");
  TW_TRY(check_channels(x));
  if (groups < 1) return fail(ErrorKind::kInvalidArgument, "groups {} is below 1", groups);
  if (in.facts.divisible(x.shape[1], groups) == Answer::kNo) {
    return fail(ErrorKind::kShapeMismatch, "channels {} do not divide into {} groups", x.shape[1], groups);
  }
  TW_TRY(check_parameters(in, std::span(x.shape).subspan(1, 1)));
  return Types{x};
}

Result<Types> infer_batch_norm(const InferInput& in) {
  TW_TRY(check_channels(in.types[0]));
  TW_TRY(check_parameters(in, std::span(in.types[0].shape).subspan(1, 1)));
  return Types{in.types[0]};
}

// q: [B, H, S, D], k: [B, G, T, D], v: [B, G, T, E], mask: broadcasts to [B, H, S, T]  ->  [B, H, S, E]
Result<Types> infer_attention(const InferInput& in) {
  const TensorType& q = in.types[0];
  const TensorType& k = in.types[1];
  const TensorType& v = in.types[2];
  const auto qkv = std::span(in.types).first(3);
  TW_TRY(check_float(q));
  TW_TRY(check_equal_dtypes(qkv));
  for (const TensorType& type : qkv) TW_TRY(check_rank(type, 4, "each of q, k, v"));
  const auto differ = [&](Dim a, Dim b) { return provably_different(a, b, in.facts); };
  if (differ(q.shape[0], k.shape[0]) || differ(k.shape[0], v.shape[0])) {
    return fail(ErrorKind::kShapeMismatch, "batch sizes differ: {}", types_text(qkv));
  }
  if (differ(k.shape[1], v.shape[1]) || differ(k.shape[2], v.shape[2])) {
    return fail(ErrorKind::kShapeMismatch, "keys and values differ in heads or length: {} x {}", k, v);
  }
  if (differ(q.shape[3], k.shape[3])) {
    return fail(ErrorKind::kShapeMismatch, "queries and keys differ in their last axis: {} x {}", q, k);
  }
  const std::optional<std::int64_t> groups = k.shape[1].constant();
  if (groups && (*groups < 1 || in.facts.divisible(q.shape[1], *groups) == Answer::kNo)) {
    return fail(ErrorKind::kShapeMismatch, "{} query heads are no multiple of {} key heads", q.shape[1], *groups);
  }
  if (in.types.size() == 4) {
    const TensorType& mask = in.types[3];
    if (mask.dtype != DType::kBool && mask.dtype != q.dtype) {
      return fail(ErrorKind::kDTypeMismatch, "the mask must be bool or {}: {}", q.dtype, mask);
    }
    TW_TRY(check_expands(mask, Shape{q.shape[0], q.shape[1], q.shape[2], k.shape[2]}, in.facts));
  }
  return Types{{q.dtype, {agreed(q.shape[0], k.shape[0]), q.shape[1], q.shape[2], v.shape[3]}}};
}

}  // namespace tilewright
