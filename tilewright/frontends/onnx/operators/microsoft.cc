// com.microsoft operators that are small: distances, shapes, ranges, a product with an activation, and TensorScatter of
// ONNX, which writes into a cache.
#include "tilewright/frontends/onnx/operators.h"

namespace tilewright::onnx {

// a[M, N] b[K, N] -> distances of all rows, squared if the metric says so
Maybe import_cdist(OnnxNode& n) {
  const auto squares = [&](std::size_t input) {
    return n.reduce(Op::kReduceSum, n.op(Op::kMul, {n.input(input), n.input(input)}), {1}, false);
  };
  const Maybe product = n.op(Op::kMatMul, {n.input(0), n.transpose(n.input(1), {1, 0})});
  const Maybe sums = n.op(Op::kAdd, {n.unsqueeze(squares(0), {1}), squares(1)});
  const Maybe squared = n.op(Op::kSub, {sums, n.op(Op::kMul, {product, n.number_like(product, 2.0)})});
  const Maybe distance = n.op(Op::kMax, {squared, n.number_like(squared, 0.0)});
  return n.text("metric", "sqeuclidean") == "euclidean" ? n.op(Op::kSqrt, {distance}) : distance;
}

Maybe import_expand_dims(OnnxNode& n) {
  TW_ASSIGN(const TensorType x, n.type(0));
  TW_ASSIGN(const Ints given, n.constant_integers(1));
  TW_ASSIGN(const Ints axes, n.axes(given, x.shape.size() + 1));
  return n.unsqueeze(n.input(0), axes);
}

// The step is 1 where it is left out.
Result<Results> import_microsoft_range(OnnxNode& n) {
  TW_ASSIGN(const TensorType type, n.type(0));
  std::vector<ValueRef> inputs(n.inputs().begin(), n.inputs().begin() + 2);
  inputs.push_back(n.has(2) ? n.inputs()[2] : host_value({.dtype = type.dtype, .sizes = {}, .elements = {Dim(1)}}));
  return n.delegate("Range", 11, std::move(inputs));
}

Result<Results> import_microsoft_pad(OnnxNode& n) {
  return n.delegate("Pad", 13, n.inputs());
}

// x w bias
Maybe import_gemm_fast_gelu(OnnxNode& n) {
  Maybe y = n.op(Op::kMatMul, {n.input(0), n.input(1)});
  if (n.has(2)) y = n.op(Op::kAdd, {y, n.input(2)});
  return n.op(Op::kGelu, {y}, {{"tanh", true}});
}

// cache [B, .., S, ..] with `update` written along the axis from position write_indices[b] on; a circular cache wraps.
Maybe import_tensor_scatter(OnnxNode& n) {
  TW_ASSIGN(const TensorType cache, n.type(0));
  TW_ASSIGN(const TensorType update, n.type(1));
  const auto rank = cache.shape.size();
  TW_ASSIGN(const std::int64_t axis, n.axis(n.integer("axis", -2), rank));
  if (axis == 0 || update.shape.size() != rank) {
    return fail(ErrorKind::kInvalidArgument, "an update {} along axis {} of {}", update, axis, cache);
  }
  const auto along = static_cast<std::size_t>(axis);
  const auto positions = [&](Shape shape, std::int64_t at) {
    return n.op(Op::kIota, {}, {{"dtype", DType::kI64}, {"shape", std::move(shape)}, {"axis", at}});
  };
  const Maybe batch = positions({cache.shape[0], Dim(1)}, 0);
  Maybe place = positions({Dim(1), update.shape[along]}, 1);
  if (n.has(2)) {
    place = n.op(Op::kAdd, {place, n.reshape(n.cast(n.input(2), DType::kI64), {cache.shape[0], Dim(1)})});
  }
  if (n.text("mode", "linear") == "circular") {
    place = n.op(Op::kMod, {place, n.number(DType::kI64, cache.shape[along])});
  }
  Ints perm{0, axis};
  for (std::int64_t i = 1; i < static_cast<std::int64_t>(rank); ++i) {
    if (i != axis) perm.push_back(i);
  }
  return n.op(Op::kIndexPut, {n.input(0), n.transpose(n.input(1), perm), batch, place}, {{"axes", Ints{0, axis}}});
}

}  // namespace tilewright::onnx
