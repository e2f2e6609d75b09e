#include "tilewright/passes/scalar_arithmetic.h"

#include <algorithm>
#include <cmath>

namespace tilewright::passes {
namespace {

// Of an axis of an input. Should one be larger and a product of sizes leave i64, the call ends with an error.
constexpr double kMostElements = 0x1p30;
constexpr double kSafe = 0x1p62;  // i64 arithmetic below this cannot overflow

// Integers up to this are exact in the dtype.
double exact_up_to(DType dtype) {
  switch (dtype) {
    case DType::kF64:
      return 0x1p53;
    case DType::kF32:
      return 0x1p24;
    case DType::kF16:
      return 0x1p11;
    case DType::kBF16:
      return 0x1p8;
    case DType::kI64:
      return kSafe;
    case DType::kI32:
      return 0x1p31 - 1;
    case DType::kI16:
      return 0x1p15 - 1;
    case DType::kI8:
      return 0x1p7 - 1;
    default:
      return 0;
  }
}

}  // namespace

ScalarArithmetic::ScalarArithmetic(const Graph& graph) : graph_(graph) {
  for (ValueId input : graph.inputs()) {
    for (Dim dim : graph.type(input).shape) {
      if (dim.is_symbol()) sizes_.insert(dim);
    }
  }
}

double ScalarArithmetic::bound(Dim dim) const {
  if (dim.is_float()) return HUGE_VAL;
  if (const auto constant = dim.constant()) return std::fabs(static_cast<double>(*constant));
  if (sizes_.contains(dim)) return kMostElements;
  const Range range = graph_.facts.range(dim);
  if (range.low > INT64_MIN && range.high < INT64_MAX) {
    return std::max(std::fabs(static_cast<double>(range.low)), std::fabs(static_cast<double>(range.high)));
  }
  double sum = 0, product = 1, largest = 0;
  for (Dim operand : dim.operands()) {
    const double one = bound(operand);
    sum += one;
    product *= one;
    largest = std::max(largest, one);
  }
  switch (dim.op()) {
    case DimOp::kAdd:
      return sum;
    case DimOp::kMul:
      return product;
    case DimOp::kFloorDiv:
      return bound(dim.operands()[0]) + 1;
    case DimOp::kMod:
      return bound(dim.operands()[1]);
    case DimOp::kMin:
    case DimOp::kMax:
    case DimOp::kBroadcast:
      return largest;
    default:
      return HUGE_VAL;
  }
}

std::optional<Dim> ScalarArithmetic::fold_cast(DType from, DType to, Dim value) const {
  if (from == DType::kBool || to == DType::kBool) return std::nullopt;
  if (value.is_float()) {
    // The f64 scalar is the value itself, so the cast rounds it as the new scalar does.
    return from == DType::kF64 && is_float(to) ? std::optional(value) : std::nullopt;
  }
  const double most = bound(value);
  if (most > exact_up_to(from)) return std::nullopt;
  // The scalar of a float dtype converts through f64 and rounds once more; integers wrap alike.
  if (is_float(to) && most > exact_up_to(DType::kF64)) return std::nullopt;
  if (is_integer(to) && !is_integer(from) && most > exact_up_to(to)) return std::nullopt;
  return value;
}

std::optional<Dim> ScalarArithmetic::fold_integers(Op op, Dim a, Dim b) const {
  const double x = bound(a), y = bound(b);
  const auto if_below = [](double most, auto&& result) {
    return most < kSafe ? std::optional<Dim>(result()) : std::nullopt;
  };
  switch (op) {
    case Op::kAdd:
      return if_below(x + y, [&] { return a + b; });
    case Op::kSub:
      return if_below(x + y, [&] { return a - b; });
    case Op::kMul:
      return if_below(x * y, [&] { return a * b; });
    case Op::kMax:
      return if_below(std::max(x, y), [&] { return max(a, b); });
    case Op::kMin:
      return if_below(std::max(x, y), [&] { return min(a, b); });
    case Op::kFloorDiv:
    case Op::kMod:
      if (graph_.facts.less(Dim(0), b) != Answer::kYes) return std::nullopt;  // by 0: an error for a Dim
      return if_below(std::max(x, y), [&] { return op == Op::kMod ? mod(a, b) : floordiv(a, b); });
    default:
      return std::nullopt;
  }
}

std::optional<Dim> ScalarArithmetic::fold(const Node& node) const {
  if (node.inputs.empty() || node.inputs.size() > 2 || !is_elementwise(node.op)) return std::nullopt;
  Dim values[2];
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const NodeId id = graph_.value(node.inputs[i]).producer;
    if (id == kNoNode || graph_.node(id).op != Op::kScalar) return std::nullopt;
    values[i] = graph_.node(id).attrs.dim("value");
  }
  const DType dtype = graph_.type(node.inputs[0]).dtype;
  if (node.op == Op::kCast) return fold_cast(dtype, node.attrs.dtype("dtype"), values[0]);
  if (dtype == DType::kI64) {
    if (values[0].is_float() || values[1].is_float()) return std::nullopt;
    if (node.op == Op::kNeg) return bound(values[0]) < kSafe ? std::optional(-values[0]) : std::nullopt;
    return node.inputs.size() == 2 ? fold_integers(node.op, values[0], values[1]) : std::nullopt;
  }
  // Integers become f64 first, exactly: Dim sums and products of two integers would stay integers.
  if (dtype != DType::kF64 || !values[0].is_float() || node.inputs.size() != 2 || !values[1].is_float())
    return std::nullopt;
  switch (node.op) {
    case Op::kAdd:
      return values[0] + values[1];
    case Op::kMul:
      return values[0] * values[1];
    default:
      return std::nullopt;
  }
}

}  // namespace tilewright::passes
