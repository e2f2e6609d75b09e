// Operators that make tensors out of numbers.
#include <array>
#include <cmath>

#include "tilewright/frontends/onnx/operators.h"
#include "tilewright/frontends/onnx/types.h"

namespace tilewright::onnx {
namespace {

template <typename T, typename From>
Tensor row_of(const std::vector<From>& values) {
  std::vector<T> converted(values.begin(), values.end());
  return Tensor::from<T>({static_cast<std::int64_t>(values.size())}, std::span<const T>(converted));
}

Result<Tensor> constant_of(const OnnxNode& n) {
  if (n.has_attribute("value")) return n.tensor("value");
  if (n.has_attribute("value_float")) return Tensor::scalar(static_cast<float>(n.real("value_float", 0)));
  if (n.has_attribute("value_int")) return Tensor::scalar(n.integer("value_int", 0));
  if (const auto values = n.reals_of("value_floats"); values) return row_of<float>(*values);
  if (const auto values = n.integers_of("value_ints"); values) return row_of<std::int64_t>(*values);
  if (n.has_attribute("value_string")) return Tensor::scalar(n.number_of(n.text("value_string", "")));
  if (n.has_attribute("value_strings")) {
    std::vector<std::int64_t> numbers;
    for (const std::string_view text : n.texts_of("value_strings")) numbers.push_back(n.number_of(text));
    return row_of<std::int64_t>(numbers);
  }
  return fail(ErrorKind::kUnsupported, "a constant that is sparse");
}

// ceil((limit - start) / delta), at least 0.
Maybe float_range(OnnxNode& n, DType dtype) {
  const DType wide = dtype == DType::kF64 ? DType::kF64 : DType::kF32;
  const Maybe start = n.reshape(n.input(0), {});
  const Maybe delta = n.reshape(n.input(2), {});
  const Maybe span = n.op(Op::kSub, {n.cast(n.reshape(n.input(1), {}), wide), n.cast(start, wide)});
  const Maybe count = n.op(Op::kCeil, {n.op(Op::kDiv, {span, n.cast(delta, wide)})});
  Dim length = 0;
  const HostTensor* a = n.known(0);
  const HostTensor* b = n.known(1);
  const HostTensor* c = n.known(2);
  if (a != nullptr && b != nullptr && c != nullptr && a->elements[0].real_constant() &&
      b->elements[0].real_constant() && c->elements[0].real_constant()) {
    const double steps =
        (*b->elements[0].real_constant() - *a->elements[0].real_constant()) / *c->elements[0].real_constant();
    length = Dim(static_cast<std::int64_t>(std::max(0.0, std::ceil(steps))));
  } else {
    TW_ASSIGN(const Dim late, n.late(n.cast(count, DType::kI64)));
    length = max(late, Dim(0));
  }
  const Maybe positions = n.op(Op::kIota, {}, {{"dtype", dtype}, {"shape", Shape{length}}, {"axis", std::int64_t{0}}});
  return n.op(Op::kAdd, {start, n.op(Op::kMul, {positions, delta})});
}

}  // namespace

Result<Results> import_constant(OnnxNode& n) {
  TW_ASSIGN(Tensor tensor, constant_of(n));
  TW_ASSIGN(ElemType elem, n.elem_of_tensor("value"));
  if (n.has_attribute("value_string") || n.has_attribute("value_strings")) elem.carried = Carried::kString;
  return Results{constant_value(std::move(tensor), n.proto().output.empty() ? "" : n.proto().output[0], elem.carried)};
}

Maybe import_constant_of_shape(OnnxNode& n) {
  TW_ASSIGN(const Dims shape, n.integers(0));
  Tensor value = Tensor::scalar(0.0F);
  TW_ASSIGN(const ElemType elem, n.elem_of_tensor("value"));
  if (n.has_attribute("value")) {
    TW_ASSIGN(value, n.tensor("value"));
  }
  if (value.count() != 1) return fail(ErrorKind::kInvalidArgument, "the value has {} elements, not one", value.count());
  return n.expand(n.reshape(n.local(constant_value(std::move(value), "", elem.carried)), {}), shape);
}

Maybe import_eye_like(OnnxNode& n) {
  TW_ASSIGN(const TensorType type, n.type(0));
  if (type.shape.size() != 2) return fail(ErrorKind::kShapeMismatch, "the input must be a matrix: {}", type);
  TW_ASSIGN(ElemType elem, n.elem_of_input(0));
  if (n.has_attribute("dtype")) {
    TW_ASSIGN(elem, n.elem("dtype"));
  }
  const auto positions = [&](Shape shape, std::int64_t axis, std::int64_t start) {
    return n.op(Op::kIota, {}, {{"dtype", DType::kI64}, {"shape", std::move(shape)}, {"axis", axis}, {"start", start}});
  };
  return n.convert(n.op(Op::kEq, {positions({type.shape[0], Dim(1)}, 0, n.integer("k", 0)),
                                  positions({Dim(1), type.shape[1]}, 1, 0)}),
                   elem);
}

Maybe import_range(OnnxNode& n) {
  TW_ASSIGN(const TensorType type, n.type(0));
  if (is_float(type.dtype)) return float_range(n, type.dtype);
  TW_ASSIGN(const Dim start, n.scalar(0));
  TW_ASSIGN(const Dim limit, n.scalar(1));
  TW_ASSIGN(const Dim step, n.scalar(2));
  const Dim span = limit - start;
  Dim length = max(ceildiv(span, step), Dim(0));
  if (step.constant() == 1 && n.facts().less_equal(Dim(0), span) == Answer::kYes) length = span;
  return n.op(
      Op::kIota, {},
      {{"dtype", type.dtype}, {"shape", Shape{length}}, {"axis", std::int64_t{0}}, {"start", start}, {"step", step}});
}

}  // namespace tilewright::onnx
