// com.microsoft operators that transformer optimisers write: norms with what is added before them, activations with a
// bias, products with transposes.
#include <algorithm>

#include "tilewright/frontends/onnx/operators.h"

namespace tilewright::onnx {
namespace {

// The norm of x over its last axis: results, mean and inverse deviation (layer norm) or inverse root of squares.
struct Norm {
  Maybe y, mean, inverse;
};

Norm norm_of_rows(OnnxNode& n, const Maybe& x, const Maybe& weight, const Maybe* bias, bool simplified) {
  const Dim eps = Dim::real(n.real("epsilon", static_cast<double>(simplified ? 1e-5F : 1e-12F)));
  const Attrs attrs{{"num_axes", std::int64_t{1}}, {"eps", eps}};
  const Maybe y = simplified        ? n.op(Op::kRmsNorm, {x, weight}, attrs)
                  : bias == nullptr ? n.op(Op::kLayerNorm, {x, weight}, attrs)
                                    : n.op(Op::kLayerNorm, {x, weight, *bias}, attrs);
  if (!y.ok()) return {y, y, y};
  const Ints last{std::ssize(n.type_of(*y).shape) - 1};
  const Maybe wide = n.cast(x, DType::kF32);
  const Maybe mean = n.reduce(Op::kReduceMean, wide, last, true);
  const Maybe centred = simplified ? wide : n.op(Op::kSub, {wide, mean});
  const Maybe square = n.reduce(Op::kReduceMean, n.op(Op::kMul, {centred, centred}), last, true);
  return {y, mean, n.op(Op::kRsqrt, {n.op(Op::kAdd, {square, n.number(DType::kF32, eps)})})};
}

Maybe gelu(OnnxNode& n, const Maybe& x, bool tanh) {
  return n.op(Op::kGelu, {x}, {{"tanh", tanh}});
}

// Rows of a table, one for each id.
Maybe rows_of(OnnxNode& n, std::size_t table, const Maybe& ids) {
  return n.op(Op::kGather, {n.input(table), ids}, {{"axis", std::int64_t{0}}});
}

Maybe transposed(OnnxNode& n, std::size_t input, bool last, bool batch) {
  TW_ASSIGN(const ValueId x, n.input(input));
  const auto rank = std::ssize(n.type_of(x).shape);
  if (rank < 2 || (!last && !batch)) return x;
  Ints perm;
  for (std::int64_t axis = 0; axis < rank; ++axis) perm.push_back(axis);
  // transBatch moves the first axis behind the batch: [m, batch.., k] is [batch.., m, k].
  if (batch) std::rotate(perm.begin(), perm.begin() + 1, perm.end() - 1);
  if (last) std::swap(perm[perm.size() - 1], perm[perm.size() - 2]);
  return n.transpose(x, std::move(perm));
}

}  // namespace

// input skip gamma beta bias (simplified: no beta) -> y, mean, inverse, input + skip + bias
Result<Results> import_skip_norm(OnnxNode& n) {
  const bool simplified = n.op_type() == "SkipSimplifiedLayerNormalization";
  const std::size_t bias = simplified ? 3 : 4;
  Maybe sum = n.op(Op::kAdd, {n.input(0), n.input(1)});
  if (n.has(bias)) sum = n.op(Op::kAdd, {sum, n.input(bias)});
  const bool has_beta = !simplified && n.has(3);
  const Maybe beta = has_beta ? n.input(3) : sum;
  const Norm norm = norm_of_rows(n, sum, n.input(2), has_beta ? &beta : nullptr, simplified);
  return n.results({norm.y, norm.mean, norm.inverse, sum});
}

Result<Results> import_simplified_norm(OnnxNode& n) {
  TW_ASSIGN(const TensorType x, n.type(0));
  TW_ASSIGN(const std::int64_t axis, n.axis(n.integer("axis", -1), x.shape.size()));
  TW_ASSIGN(Results y, n.delegate("RMSNormalization", 23, n.inputs()));
  Ints axes;
  for (std::int64_t i = axis; i < std::ssize(x.shape); ++i) axes.push_back(i);
  const Maybe wide = n.cast(n.input(0), x.dtype == DType::kF64 ? DType::kF64 : DType::kF32);
  const Maybe square = n.reduce(Op::kReduceMean, n.op(Op::kMul, {wide, wide}), axes, true);
  const Maybe eps = n.number_like(wide, n.real("epsilon", static_cast<double>(1e-5F)));
  TW_ASSIGN(ValueRef inverse, n.result(n.op(Op::kRsqrt, {n.op(Op::kAdd, {square, eps})})));
  y.push_back(std::move(inverse));
  return y;
}

// ids segment_ids words positions segments gamma beta mask position_ids -> y, mask_index, sum
Result<Results> import_embed_layer_norm(OnnxNode& n) {
  TW_ASSIGN(const TensorType ids, n.type(0));
  if (ids.shape.size() != 2) return fail(ErrorKind::kShapeMismatch, "input_ids must have two axes: {}", ids);
  const Maybe positions =
      n.has(8) ? n.input(8)
               : n.op(Op::kIota, {},
                      {{"dtype", DType::kI64}, {"shape", Shape{Dim(1), ids.shape[1]}}, {"axis", std::int64_t{1}}});
  Maybe sum = n.op(Op::kAdd, {rows_of(n, 2, n.input(0)), rows_of(n, 3, positions)});
  if (n.has(1) && n.has(4)) sum = n.op(Op::kAdd, {sum, rows_of(n, 4, n.input(1))});
  const Maybe beta = n.input(6);
  const Norm norm = norm_of_rows(n, sum, n.input(5), &beta, false);
  const Maybe mask = n.has(7) ? n.reduce(Op::kReduceSum, n.cast(n.input(7), DType::kI32), {1}, false)
                              : n.expand(n.number(DType::kI32, Dim(0)), {ids.shape[0]});
  return n.results({norm.y, mask, sum});
}

// Gelu, and FastGelu and BiasGelu, which add a bias before it
Maybe import_bias_gelu(OnnxNode& n) {
  const Maybe x = n.has(1) ? n.op(Op::kAdd, {n.input(0), n.input(1)}) : n.input(0);
  return gelu(n, x, n.op_type() == "FastGelu");
}

// x * sigmoid(alpha * x)
Maybe import_quick_gelu(OnnxNode& n) {
  const Maybe x = n.input(0);
  return n.op(Op::kMul, {x, n.op(Op::kSigmoid, {n.op(Op::kMul, {x, n.number_like(x, n.real("alpha", 1.702F))})})});
}

// The first half of x + bias times gelu of the second.
Maybe import_bias_split_gelu(OnnxNode& n) {
  TW_ASSIGN(const ValueId x, n.op(Op::kAdd, {n.input(0), n.input(1)}));
  const Shape shape = n.type_of(x).shape;
  const auto last = std::ssize(shape) - 1;
  const Dim half = floordiv(shape.back(), Dim(2));
  return n.op(Op::kMul, {n.slice(x, last, Dim(0), half), gelu(n, n.slice(x, last, half, shape.back()), false)});
}

// alpha * a' b'
Maybe import_fused_matmul(OnnxNode& n) {
  const auto side = [&](std::size_t input, std::string_view last, std::string_view batch) {
    return transposed(n, input, n.integer(last, 0) != 0, n.integer(batch, 0) != 0);
  };
  TW_ASSIGN(const Results product,
            n.delegate("MatMul", 13, {side(0, "transA", "transBatchA"), side(1, "transB", "transBatchB")}));
  const Maybe y = n.local(product.front());
  const double alpha = n.real("alpha", 1.0);
  return alpha == 1.0 ? y : n.op(Op::kMul, {y, n.number_like(y, alpha)});
}

}  // namespace tilewright::onnx
