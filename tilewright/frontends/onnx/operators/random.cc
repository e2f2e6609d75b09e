// Random numbers. A node draws other numbers at every call and in every trip of a loop (OnnxNode::random_key). With a
// seed, the numbers of the first call, of the second and so on are the same in every session.
#include "tilewright/frontends/onnx/operators.h"

namespace tilewright::onnx {
namespace {

Maybe draw(OnnxNode& n, DType dtype, const Shape& shape, std::string distribution) {
  return n.op(Op::kRandom, {n.random_key()},
              {{"dtype", dtype}, {"shape", shape}, {"distribution", std::move(distribution)}});
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

// In training, elements are dropped with the probability `ratio` and the others scaled up to keep the mean; else
// nothing is. Whether it trains decides what is built.
Result<Results> import_dropout(OnnxNode& n) {
  TW_ASSIGN(const TensorType type, n.type(0));
  const DType mask_dtype = n.version() >= 10 ? DType::kBool : type.dtype;
  bool training = false;
  if (n.has(2)) {
    TW_ASSIGN(const Ints given, n.constant_integers(2));
    training = given.size() == 1 && given[0] != 0;
  }
  const HostTensor* known_ratio = n.known(1);
  const bool none_dropped =
      known_ratio != nullptr && known_ratio->elements.size() == 1 && known_ratio->elements[0].real_constant() == 0.0;
  if (!training || none_dropped) {
    TW_ASSIGN(ValueRef x, n.value(0));
    Results out{std::move(x)};
    if (n.wants(1)) {
      TW_ASSIGN(ValueRef ones, n.result(n.expand(n.cast(n.number(DType::kI64, Dim(1)), mask_dtype), type.shape)));
      out.push_back(std::move(ones));
    }
    return out;
  }
  const DType wide = type.dtype == DType::kF64 ? DType::kF64 : DType::kF32;
  const Maybe ratio = n.has(1) ? n.reshape(n.cast(n.input(1), wide), {}) : n.number(wide, Dim::real(0.5));
  const Maybe kept = n.op(Op::kGe, {draw(n, wide, type.shape, "uniform"), ratio});
  const Maybe scale =
      n.op(Op::kDiv, {n.number(wide, Dim::real(1.0)), n.op(Op::kSub, {n.number(wide, Dim::real(1.0)), ratio})});
  const Maybe x = n.cast(n.input(0), wide);
  const Maybe out = n.op(Op::kSelect, {kept, n.op(Op::kMul, {x, scale}), n.number(wide, Dim::real(0.0))});
  return n.results({n.cast(out, type.dtype), n.cast(kept, mask_dtype)});
}

}  // namespace tilewright::onnx
