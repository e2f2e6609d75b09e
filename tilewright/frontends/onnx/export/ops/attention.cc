// Attention. A query that attends to nothing gives 0 in the graph, where a softmax of -inf alone gives nan: only a mask
// can hide all keys, so only then the result is put to 0 where the mask says so. A causal query always sees key 0.
#include <limits>

#include "tilewright/frontends/onnx/export/node.h"

namespace tilewright::onnx {
namespace {

constexpr double kHidden = -std::numeric_limits<double>::infinity();

Out standard_attention(ExportNode& n, double scale) {
  const Attributes attributes{{"scale", scale}, {"is_causal", std::int64_t{n.attrs().flag("causal") ? 1 : 0}}};
  return n.make("Attention", {n.input(0), n.input(1), n.input(2)}, attributes);
}

// [B, G, T, D] with each group once for every head that reads it.
Out repeat_groups(ExportNode& n, Out kv, std::size_t input) {
  const Shape& shape = n.shape(input);
  const Dim heads = n.shape(0)[1];
  if (n.facts().same(shape[1], heads) == Answer::kYes) return kv;
  const Dim repeats = floordiv(heads, max(shape[1], Dim(1)));
  const Shape single{shape[0], shape[1], Dim(1), shape[2], shape[3]};
  const Shape expanded{shape[0], shape[1], repeats, shape[2], shape[3]};
  const Out repeated = n.expand(n.unsqueeze(kv, {2}), single, expanded);
  return n.reshape(repeated, expanded, {shape[0], heads, shape[2], shape[3]});
}

// bool[S, T]: key t is not after query s.
Out past(ExportNode& n) {
  const auto positions = [&](Dim size) {
    return n.make("Range", {n.integer(DType::kI64, 0), n.scalar(size, DType::kI64), n.integer(DType::kI64, 1)});
  };
  const Out queries = n.unsqueeze(positions(n.shape(0)[2]), {1});
  return n.make("LessOrEqual", {positions(n.shape(1)[2]), queries});
}

}  // namespace

Outs export_attention(ExportNode& n) {
  const auto scale = n.attrs().dim("scale").real_constant();
  const DType own = n.dtype(0);
  const bool has_mask = n.num_inputs() > 3, causal = n.attrs().flag("causal");
  const bool has_keys = n.facts().range(n.shape(1)[2]).low >= 1;
  if (!has_mask && scale && n.opset() >= 23 && has_keys && own == DType::kF32) return {standard_attention(n, *scale)};
  const DType wide = own == DType::kF64 ? DType::kF64 : DType::kF32;
  const Out q = n.cast(n.input(0), wide);
  const Out k = repeat_groups(n, n.cast(n.input(1), wide), 1), v = repeat_groups(n, n.cast(n.input(2), wide), 2);
  Out scores = n.make("MatMul", {q, n.transpose(k, {0, 1, 3, 2})});
  scores = n.mul(scores, n.scalar(n.attrs().dim("scale"), wide));
  std::optional<Out> visible;  // whether a key is
  std::optional<Out> bias;
  if (has_mask && n.dtype(3) == DType::kBool) visible = n.input(3);
  if (has_mask && n.dtype(3) != DType::kBool) bias = n.cast(n.input(3), wide);
  if (causal) visible = visible ? n.make("And", {*visible, past(n)}, {}, DType::kBool) : past(n);
  if (visible && bias) bias = n.where(*visible, *bias, n.number(wide, kHidden));
  if (visible && !bias) bias = n.where(*visible, n.number(wide, 0), n.number(wide, kHidden));
  if (bias) scores = n.add(scores, *bias);
  const Out out = n.make("MatMul", {n.make("Softmax", {scores}, {{"axis", std::int64_t{-1}}}), v});
  if (!has_mask || n.attrs().flag("empty_is_nan")) return {n.cast(out, own)};
  const auto last = static_cast<std::int64_t>(std::max<std::size_t>(n.shape(3).size(), causal ? 2 : 0)) - 1;
  if (last < 0) {
    return {n.cast(n.where(n.make("Greater", {*bias, n.number(wide, kHidden)}), out, n.number(wide, 0)), own)};
  }
  const Out most = n.reduce("ReduceMax", *bias, {last}, true);
  const Out sees = n.make("Greater", {most, n.number(wide, kHidden)});
  return {n.cast(n.where(sees, out, n.number(wide, 0)), own)};
}

}  // namespace tilewright::onnx
