// Random numbers. A node draws the same numbers at every call: from its seed, or from one made of its place in the
// graph.
#include <bit>

#include "tilewright/frontends/onnx/operators.h"

namespace tilewright::onnx {
namespace {

Maybe key(OnnxNode& n) {
  const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(n.real("seed", 0)));
  const std::int64_t seed =
      n.has_attribute("seed") ? static_cast<std::int64_t>(bits) : std::ssize(n.scope().graph().order());
  const std::int64_t words[] = {seed, 0};
  return n.constant_tensor(Tensor::from<std::int64_t>({2}, words));
}

Maybe draw(OnnxNode& n, DType dtype, const Shape& shape, std::string distribution) {
  return n.op(Op::kRandom, {key(n)}, {{"dtype", dtype}, {"shape", shape}, {"distribution", std::move(distribution)}});
}

}  // namespace

// RandomNormal, RandomUniform and their forms that take the shape of an input.
Maybe import_random(OnnxNode& n) {
  const bool is_like = n.op_type().ends_with("Like");
  DType dtype = DType::kF32;
  Shape shape;
  if (is_like) {
    TW_ASSIGN(const TensorType type, n.type(0));
    dtype = is_float(type.dtype) ? type.dtype : DType::kF32;
    shape = type.shape;
  } else {
    const Ints sizes = n.integers_of("shape").value_or(Ints());
    shape.assign(sizes.begin(), sizes.end());
  }
  if (n.integer("dtype", 0) != 0) {
    TW_ASSIGN(dtype, n.dtype("dtype"));
  }
  const bool is_normal = n.op_type().starts_with("RandomNormal");
  const DType wide = dtype == DType::kF64 ? DType::kF64 : DType::kF32;
  const double low = is_normal ? n.real("mean", 0) : n.real("low", 0);
  const double width = is_normal ? n.real("scale", 1) : n.real("high", 1) - low;
  const Maybe drawn = draw(n, wide, shape, is_normal ? "normal" : "uniform");
  const Maybe scaled = n.op(Op::kMul, {drawn, n.number_like(drawn, width)});
  return n.cast(n.op(Op::kAdd, {scaled, n.number_like(drawn, low)}), dtype);
}

Maybe import_bernoulli(OnnxNode& n) {
  TW_ASSIGN(const TensorType type, n.type(0));
  DType dtype = type.dtype;
  if (n.integer("dtype", 0) != 0) {
    TW_ASSIGN(dtype, n.dtype("dtype"));
  }
  const DType wide = type.dtype == DType::kF64 ? DType::kF64 : DType::kF32;
  return n.cast(n.op(Op::kLt, {draw(n, wide, type.shape, "uniform"), n.cast(n.input(0), wide)}), dtype);
}

// Classes drawn with probabilities that are the exponentials of the inputs: how many sums of them lie below a number.
Maybe import_multinomial(OnnxNode& n) {
  TW_ASSIGN(const TensorType type, n.type(0));
  if (type.shape.size() != 2) return fail(ErrorKind::kShapeMismatch, "the input must be [batch, classes]: {}", type);
  DType dtype = DType::kI32;
  if (n.integer("dtype", 0) != 0) {
    TW_ASSIGN(dtype, n.dtype("dtype"));
  }
  const Maybe odds = n.op(Op::kSoftmax, {n.cast(n.input(0), DType::kF32)}, {{"axis", std::int64_t{1}}});
  const Maybe sums = n.op(Op::kCumSum, {odds}, {{"axis", std::int64_t{1}}});
  const Maybe drawn = draw(n, DType::kF32, {type.shape[0], Dim(n.integer("sample_size", 1))}, "uniform");
  const Maybe passed = n.cast(n.op(Op::kLe, {n.unsqueeze(sums, {1}), n.unsqueeze(drawn, {2})}), DType::kI64);
  const Maybe place = n.reduce(Op::kReduceSum, passed, {2}, false);
  return n.cast(n.op(Op::kMin, {place, n.number(DType::kI64, type.shape[1] - 1)}), dtype);
}

}  // namespace tilewright::onnx
