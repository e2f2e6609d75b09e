// The attention that ONNX's and onnxruntime's operators share: heads, masks that add up, and the product itself, as one
// composite of the graph where nothing between its steps is asked for.
#pragma once

#include "tilewright/frontends/onnx/operators.h"

namespace tilewright::onnx {

// What may be seen. Both parts broadcast to [B, H, S, T].
struct AttentionMask {
  std::optional<ValueId> allowed;  // bool
  std::optional<ValueId> bias;     // added to the scores
  bool causal = false;             // key t <= query s
};

Status allow(OnnxNode& n, AttentionMask& mask, const Maybe& allowed);
Status add_bias(OnnxNode& n, AttentionMask& mask, const Maybe& bias);
// Keys t <= s + offset, and within the window around s + offset: at most `before` below and `after` above, -1: any.
// The offset is a number, or [B, 1, 1, 1] if each sequence has its own.
Status allow_around(OnnxNode& n, AttentionMask& mask, Dim queries, Dim keys, const Maybe& offset, bool causal,
                    std::int64_t before, std::int64_t after);

enum class Scores { kRaw, kCapped, kMasked, kSoftmax };  // qk_matmul_output_mode of ONNX

struct AttentionSpec {
  Dim scale;
  double softcap = 0;
  DType precision = DType::kF32;  // of the softmax
  std::optional<Scores> scores;   // whether they are a result too
  std::optional<ValueId> sink;    // [H]: a score that takes part in the softmax and has no value
};

struct AttentionResult {
  Maybe y;
  Maybe scores;  // y, unless asked for
};

// q[B,H,S,D] k[B,G,T,D] v[B,G,T,E] -> y[B,H,S,E]
Result<AttentionResult> attend(OnnxNode& n, const Maybe& q, const Maybe& k, const Maybe& v, const AttentionMask& mask,
                               const AttentionSpec& spec);

// [B, G, T, D] -> [B, H, T, D]: every head of a group beside the next.
Maybe repeat_groups(OnnxNode& n, const Maybe& x, Dim heads);
Maybe split_heads(OnnxNode& n, const Maybe& x, Dim heads);  // [B, S, H * D] -> [B, H, S, D]
Maybe merge_heads(OnnxNode& n, const Maybe& x);             // [B, H, S, D] -> [B, S, H * D]
// What was seen before, if there is any, in front of x along axis 2.
Maybe with_past(OnnxNode& n, std::size_t past, const Maybe& x);
// The attribute `scale`, or 1 / sqrt(head size).
Dim score_scale(const OnnxNode& n, Dim head_size, double missing);

}  // namespace tilewright::onnx
