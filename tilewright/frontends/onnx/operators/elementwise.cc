// Elementwise arithmetic, comparisons, logic and casts.
#include <cmath>
#include <limits>

#include "tilewright/frontends/onnx/operators.h"
#include "tilewright/frontends/onnx/types.h"

namespace tilewright::onnx {
namespace {

// The graph's operator for a binary operator of ONNX; division of integers rounds towards zero.
Op binary_op(std::string_view name, DType dtype) {
  static const std::unordered_map<std::string_view, Op> kOps = {
      {"Add", Op::kAdd},    {"Sub", Op::kSub},        {"Mul", Op::kMul},          {"And", Op::kBitAnd},
      {"Or", Op::kBitOr},   {"Xor", Op::kBitXor},     {"Equal", Op::kEq},         {"Less", Op::kLt},
      {"Greater", Op::kGt}, {"LessOrEqual", Op::kLe}, {"GreaterOrEqual", Op::kGe}};
  if (name == "Div") return is_float(dtype) ? Op::kDiv : Op::kTruncDiv;
  return kOps.at(name);
}

// Before opset 7 the second input broadcasts only on request, aligned at attribute `axis` of the first.
Maybe second_input(OnnxNode& n, Maybe second) {
  if (n.version() >= 7 || !second.ok() || n.integer("broadcast", 0) == 0 || !n.has_attribute("axis")) return second;
  TW_ASSIGN(const TensorType first, n.type(0));
  const Shape shape = n.type_of(*second).shape;
  TW_ASSIGN(const std::int64_t axis, n.axis(n.integer("axis", 0), first.shape.size()));
  const std::int64_t after = std::ssize(first.shape) - axis - std::ssize(shape);
  if (after < 0) return fail(ErrorKind::kShapeMismatch, "input 1 has too many axes to stand at axis {}", axis);
  Shape aligned = shape;
  aligned.insert(aligned.end(), static_cast<std::size_t>(after), Dim(1));
  return n.reshape(second, std::move(aligned));
}

// A dtype with just the bits of the elements.
Result<DType> bits_of(ElemType elem) {
  switch (elem.carried) {
    case Carried::kNone:
      return elem.dtype;
    case Carried::kU16:
      return DType::kI16;
    case Carried::kU32:
      return DType::kI32;
    case Carried::kU64:
      return DType::kI64;
    default:
      return fail(ErrorKind::kUnsupported, "the bits of {}", row_of(elem.carried).text);
  }
}

CastRules cast_rules(const OnnxNode& n) {
  return {n.integer("saturate", 1) != 0, n.text("round_mode", "up")};
}

}  // namespace

Maybe import_binary(OnnxNode& n) {
  TW_ASSIGN(const TensorType type, n.type(0));
  return n.op(binary_op(n.op_type(), type.dtype), {n.input(0), second_input(n, n.input(1))});
}

Maybe import_variadic(OnnxNode& n) {
  const Op op = n.op_type() == "Max" ? Op::kMax : n.op_type() == "Min" ? Op::kMin : Op::kAdd;
  Maybe value = n.input(0);
  for (std::size_t i = 1; i < n.num_inputs(); ++i) value = n.op(op, {value, n.input(i)});
  return value;
}

Maybe import_mean(OnnxNode& n) {
  TW_ASSIGN(const ValueId sum, import_variadic(n));
  return n.op(Op::kDiv, {sum, n.number_like(sum, static_cast<double>(n.num_inputs()))});
}

Maybe import_bit_shift(OnnxNode& n) {
  return n.op(n.text("direction", "") == "LEFT" ? Op::kShiftLeft : Op::kShiftRight, {n.input(0), n.input(1)});
}

Maybe import_bit_cast(OnnxNode& n) {
  TW_ASSIGN(const ElemType from, n.elem_of_input(0));
  TW_ASSIGN(const ElemType to, n.elem("to"));
  TW_ASSIGN(const DType source, bits_of(from));
  TW_ASSIGN(const DType target, bits_of(to));
  const Maybe bits = n.op(Op::kBitcast, {n.convert(n.input(0), {source})}, {{"dtype", target}});
  return n.convert(bits, to);
}

Maybe import_mod(OnnxNode& n) {
  return n.op(n.integer("fmod", 0) != 0 ? Op::kRem : Op::kMod, {n.input(0), n.input(1)});
}

// The result has the dtype of the base, whatever that of the exponent is.
Maybe import_pow(OnnxNode& n) {
  TW_ASSIGN(const TensorType base, n.type(0));
  TW_ASSIGN(const TensorType exponent, n.type(1));
  const Maybe second = second_input(n, n.input(1));
  if (is_float(base.dtype) || !is_float(exponent.dtype)) {
    return n.op(Op::kPow, {n.input(0), n.cast(second, base.dtype)});
  }
  TW_ASSIGN(const ElemType elem, n.elem_of_input(0));
  return n.convert(n.op(Op::kPow, {n.cast(n.input(0), DType::kF64), n.cast(second, DType::kF64)}), elem);
}

Maybe import_is_inf(OnnxNode& n) {
  const bool negative = n.integer("detect_negative", 1) != 0;
  const bool positive = n.integer("detect_positive", 1) != 0;
  const Maybe x = n.input(0);
  if (negative && positive) return n.op(Op::kIsInf, {x});
  const double wanted = positive ? INFINITY : negative ? -INFINITY : std::numeric_limits<double>::quiet_NaN();
  return n.op(Op::kEq, {x, n.number_like(x, wanted)});  // of neither: nothing equals nan
}

Maybe import_cast(OnnxNode& n) {
  TW_ASSIGN(const ElemType to, n.elem("to"));
  return n.convert(n.input(0), to, cast_rules(n));
}

Maybe import_cast_like(OnnxNode& n) {
  TW_ASSIGN(const ElemType like, n.elem_of_input(1));
  return n.convert(n.input(0), like, cast_rules(n));
}

Maybe import_clip(OnnxNode& n) {
  Maybe x = n.input(0);
  if (n.has(1)) x = n.op(Op::kMax, {x, n.reshape(n.input(1), {})});
  if (n.has(2)) x = n.op(Op::kMin, {x, n.reshape(n.input(2), {})});
  return x;
}

Maybe import_clip_attributes(OnnxNode& n) {
  Maybe x = n.input(0);
  if (n.has_attribute("min")) x = n.op(Op::kMax, {x, n.number_like(x, n.real("min", 0))});
  if (n.has_attribute("max")) x = n.op(Op::kMin, {x, n.number_like(x, n.real("max", 0))});
  return x;
}

Result<Results> import_identity(OnnxNode& n) {
  TW_ASSIGN(ValueRef value,
            n.inputs().empty() || n.inputs()[0] == nullptr ? n.value(0) : Result<ValueRef>(n.inputs()[0]));
  return Results{std::move(value)};
}

}  // namespace tilewright::onnx
