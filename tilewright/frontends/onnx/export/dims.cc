// Expressions of sizes as ONNX nodes on vectors of one element: integers in i64, host scalars in f64.
#include "tilewright/frontends/onnx/export/frame.h"
#include "tilewright/frontends/onnx/types.h"

namespace tilewright::onnx {
namespace {

DType dtype_of(Dim dim) {
  return dim.is_float() ? DType::kF64 : DType::kI64;
}

bool any_float(Dim dim) {
  for (const Dim operand : dim.operands()) {
    if (operand.is_float()) return true;
  }
  return false;
}

// a of a * -1.
std::optional<Dim> negated(Dim dim) {
  if (dim.op() != DimOp::kMul || dim.is_float()) return std::nullopt;
  Dim rest(1);
  bool negative = false;
  for (const Dim operand : dim.operands()) {
    const auto number = operand.constant();
    if (number && *number < 0 && *number != INT64_MIN) {
      negative = !negative;
      rest = rest * Dim(-*number);
    } else {
      rest = rest * operand;
    }
  }
  return negative ? std::optional(rest) : std::nullopt;
}

}  // namespace

Out Frame::operand(Dim dim, bool as_float) {
  if (as_float) {
    if (const auto real = dim.real_constant())
      return add("Reshape", {model().number(DType::kF64, *real), model().ints({1})}, DType::kF64);
    return cast(size(dim), DType::kF64);
  }
  return size(dim);
}

Out Frame::chain(std::string_view op_type, Dim dim) {
  const bool real = any_float(dim);
  Out out = operand(dim.operands()[0], real);
  for (const Dim next : dim.operands().subspan(1)) out = add(op_type, {out, operand(next, real)}, out.dtype);
  return out;
}

// Terms with a minus are subtracted from the others.
Out Frame::sum(Dim dim) {
  const bool real = any_float(dim);
  if (real) return chain("Add", dim);
  std::optional<Out> out;
  std::vector<Dim> minus;
  std::int64_t number = 0;
  for (const Dim term : dim.operands()) {
    if (const auto constant = term.constant()) {
      number += *constant;
    } else if (const auto rest = negated(term)) {
      minus.push_back(*rest);
    } else {
      out = out ? add("Add", {*out, size(term)}, DType::kI64) : size(term);
    }
  }
  if (!out) {
    out = model().ints({number});
    number = 0;
  }
  for (const Dim term : minus) out = add("Sub", {*out, size(term)}, DType::kI64);
  if (number > 0) out = add("Add", {*out, model().ints({number})}, DType::kI64);
  if (number < 0) out = add("Sub", {*out, model().ints({-number})}, DType::kI64);
  return *out;
}

// Rounded down. ONNX rounds towards 0, and dividing by 0 ends the process that runs the model.
Out Frame::quotient(Dim dim) {
  const Dim a = dim.operands()[0], b = dim.operands()[1];
  if (any_float(dim)) {
    return add("Floor", {add("Div", {operand(a, true), operand(b, true)}, DType::kF64)}, DType::kF64);
  }
  const Facts& facts = graph_.facts;
  Out top = size(a), bottom = size(b);
  const bool is_positive = facts.range(b).low >= 1;
  if (!is_positive && !known(b)) {
    const Out zero = add("Equal", {bottom, model().ints({0})}, DType::kBool);
    bottom = add("Where", {zero, model().ints({1}), bottom}, DType::kI64);
  }
  if (dim.op() == DimOp::kMod) return add("Mod", {top, bottom}, DType::kI64);
  if (facts.range(a).low < 0 || !(is_positive || known(b).value_or(0) > 0)) {
    top = add("Sub", {top, add("Mod", {top, bottom}, DType::kI64)}, DType::kI64);
  }
  return add("Div", {top, bottom}, DType::kI64);
}

Out Frame::compare(Dim dim) {
  const bool real = any_float(dim);
  const Out a = operand(dim.operands()[0], real), b = operand(dim.operands()[1], real);
  Out truth;
  switch (dim.op()) {
    case DimOp::kEq:
      truth = add("Equal", {a, b}, DType::kBool);
      break;
    case DimOp::kNe:
      truth = add("Not", {add("Equal", {a, b}, DType::kBool)}, DType::kBool);
      break;
    case DimOp::kLt:
      truth = add("Less", {a, b}, DType::kBool);
      break;
    default:
      truth = add("LessOrEqual", {a, b}, DType::kBool);
  }
  return cast(truth, DType::kI64);
}

Out Frame::logic(Dim dim) {
  std::vector<Out> truths;
  for (const Dim operand : dim.operands()) {
    const bool is_truth = dim.op() != DimOp::kSelect || truths.empty();
    Out out = is_truth ? size(operand) : this->operand(operand, dim.is_float());
    if (is_truth && is_float(out.dtype)) {
      out = add("Not", {add("Equal", {out, model().number(out.dtype, 0)}, DType::kBool)}, DType::kBool);
    }
    truths.push_back(is_truth ? cast(out, DType::kBool) : out);
  }
  if (dim.op() == DimOp::kSelect) return add("Where", {truths[0], truths[1], truths[2]}, dtype_of(dim));
  if (dim.op() == DimOp::kNot) return cast(add("Not", {truths[0]}, DType::kBool), DType::kI64);
  Out out = truths[0];
  for (std::size_t i = 1; i < truths.size(); ++i) {
    out = add(dim.op() == DimOp::kAnd ? "And" : "Or", {out, truths[i]}, DType::kBool);
  }
  return cast(out, DType::kI64);
}

Out Frame::write_node(Dim dim) {
  const auto float_unary = [&](std::string_view op_type) {
    return add(op_type, {operand(dim.operands()[0], true)}, DType::kF64);
  };
  const auto to_integer = [&](std::string_view op_type) {
    const Dim x = dim.operands()[0];
    if (!x.is_float()) return size(x);
    const Out real = operand(x, true);
    return cast(op_type.empty() ? real : add(op_type, {real}, DType::kF64), DType::kI64);
  };
  switch (dim.op()) {
    case DimOp::kFloatConst:
      return operand(dim, true);
    case DimOp::kAdd:
      return sum(dim);
    case DimOp::kMul:
      return chain("Mul", dim);
    case DimOp::kMod:
      if (any_float(dim)) {
        const Out a = operand(dim.operands()[0], true), b = operand(dim.operands()[1], true);
        const Out floor = add("Floor", {add("Div", {a, b}, DType::kF64)}, DType::kF64);
        return add("Sub", {a, add("Mul", {floor, b}, DType::kF64)}, DType::kF64);
      }
      return quotient(dim);
    case DimOp::kFloorDiv:
      return quotient(dim);
    case DimOp::kMin:
      return chain("Min", dim);
    case DimOp::kMax:
      return chain("Max", dim);
    case DimOp::kPow:
      return chain("Pow", dim);
    case DimOp::kBroadcast: {
      const Out a = size(dim.operands()[0]), b = size(dim.operands()[1]);
      const Out one = add("Equal", {a, model().ints({1})}, DType::kBool);
      return add("Where", {one, b, a}, DType::kI64);
    }
    case DimOp::kTrueDiv:
      return add("Div", {operand(dim.operands()[0], true), operand(dim.operands()[1], true)}, DType::kF64);
    case DimOp::kSqrt:
      return float_unary("Sqrt");
    case DimOp::kExp:
      return float_unary("Exp");
    case DimOp::kLog:
      return float_unary("Log");
    case DimOp::kSin:
      return float_unary("Sin");
    case DimOp::kCos:
      return float_unary("Cos");
    case DimOp::kTanh:
      return float_unary("Tanh");
    case DimOp::kToFloat:
      return operand(dim.operands()[0], true);
    case DimOp::kAbs:
      return add("Abs", {operand(dim.operands()[0], dim.is_float())}, dtype_of(dim));
    case DimOp::kFloor:
      return to_integer("Floor");
    case DimOp::kCeil:
      return to_integer("Ceil");
    case DimOp::kRound:
      return to_integer("Round");
    case DimOp::kTrunc:
      return to_integer("");
    case DimOp::kEq:
    case DimOp::kNe:
    case DimOp::kLt:
    case DimOp::kLe:
      return compare(dim);
    case DimOp::kAnd:
    case DimOp::kOr:
    case DimOp::kNot:
    case DimOp::kSelect:
      return logic(dim);
    case DimOp::kBitAnd:
      return chain("BitwiseAnd", dim);
    case DimOp::kBitOr:
      return chain("BitwiseOr", dim);
    case DimOp::kBitXor:
      return chain("BitwiseXor", dim);
    case DimOp::kShiftLeft: {
      const Out power = add("Pow", {model().ints({2}), size(dim.operands()[1])}, DType::kI64);
      return add("Mul", {size(dim.operands()[0]), power}, DType::kI64);
    }
    default:
      break;
  }
  model().fail(tilewright::fail(ErrorKind::kUnsupported, "the size '{}' has no form in ONNX", dim));
  return {"", dtype_of(dim)};
}

}  // namespace tilewright::onnx
