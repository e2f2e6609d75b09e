// Reductions, positions of extremes, running sums. Axes are an attribute in old opsets and an input in new ones.
#include <array>

#include "tilewright/frontends/onnx/operators.h"

namespace tilewright::onnx {
namespace {

Ints all_axes(std::size_t rank) {
  Ints axes;
  for (std::size_t axis = 0; axis < rank; ++axis) axes.push_back(static_cast<std::int64_t>(axis));
  return axes;
}

struct Reduction {
  Ints axes;
  bool keepdim;
  bool nothing;  // no axes, and that means no reduction
};

Result<Reduction> read_reduction(OnnxNode& n, std::size_t rank) {
  Reduction out{{}, n.integer("keepdims", 1) != 0, false};
  std::optional<Ints> given = n.integers_of("axes");
  if (n.has(1)) {
    TW_ASSIGN(const TensorType type, n.type(1));
    if (type.shape.size() != 1 || type.shape[0].constant() != 0) {
      TW_ASSIGN(given, n.constant_integers(1));
    }
  }
  if (!given || given->empty()) {
    out.nothing = n.integer("noop_with_empty_axes", 0) != 0;
    out.axes = all_axes(rank);
    return out;
  }
  TW_ASSIGN(out.axes, n.axes(*given, rank));
  return out;
}

// Whether the axes are numbers that only a call tells. That there are none of them is known.
bool has_late_axes(const OnnxNode& n) {
  if (!n.has(1) || n.constant_integers(1).ok()) return false;
  const Result<TensorType> type = n.type(1);
  return type.ok() && type->shape.size() == 1 && type->shape[0].constant() != 0;
}

struct LateAxes {
  Maybe x;       // every axis split in two: what is kept of it, and what is reduced
  Ints reduced;  // the second of each two
  Shape shape;   // of the result
};

// Splits an axis of size d into [1, d] if it is among the axes, else into [d, 1].
Result<LateAxes> split_axes(OnnxNode& n, const Shape& shape, bool keepdim) {
  TW_ASSIGN(const Dims given, n.integers(1));
  const auto rank = std::ssize(shape);
  const auto both = [](DimOp op, Dim a, Dim b) { return Dim::make(op, std::array{a, b}); };
  Shape split;
  Dims is_reduced;
  for (std::int64_t axis = 0; axis < rank; ++axis) {
    Dim hit = 0;
    for (const Dim entry : given) hit = both(DimOp::kOr, hit, both(DimOp::kEq, mod(entry, rank), axis));
    const Dim size = shape[static_cast<std::size_t>(axis)];
    is_reduced.push_back(hit);
    split.push_back(select(hit, Dim(1), size));
    split.push_back(select(hit, size, Dim(1)));
  }
  for (const Dim entry : given) {
    const Dim in_range = both(DimOp::kAnd, both(DimOp::kLe, -rank, entry), both(DimOp::kLt, entry, rank));
    TW_TRY(n.require(in_range, fmt::format("an axis is out of range for rank {}", rank)));
  }
  LateAxes out{n.reshape(n.input(0), split), {}, {}};
  for (std::int64_t axis = 0; axis < rank; ++axis) out.reduced.push_back(2 * axis + 1);
  const std::int64_t num_kept = keepdim ? rank : rank - std::ssize(given);
  for (std::int64_t place = 0; place < num_kept; ++place) {
    // The size at this place is that of the axis which is kept and has as many kept ones before it.
    Dim size = keepdim ? split[static_cast<std::size_t>(2 * place)] : Dim(0);
    Dim before = 0;
    for (std::int64_t axis = 0; axis < rank && !keepdim; ++axis) {
      const Dim kept = Dim(1) - is_reduced[static_cast<std::size_t>(axis)];
      const Dim here = both(DimOp::kAnd, kept, both(DimOp::kEq, before, place));
      size = select(here, shape[static_cast<std::size_t>(axis)], size);
      before = before + kept;
    }
    out.shape.push_back(size);
  }
  return out;
}

// What is done to each element before it is summed.
Maybe before(OnnxNode& n, std::string_view name, const Maybe& x) {
  if (name == "ReduceL1") return n.op(Op::kAbs, {x});
  if (name == "ReduceL2" || name == "ReduceSumSquare") return n.op(Op::kMul, {x, x});
  return x;
}

Maybe mean(OnnxNode& n, const Maybe& x, const Reduction& r) {
  TW_ASSIGN(const ValueId value, Maybe(x));
  const TensorType type = n.type_of(value);
  if (is_float(type.dtype)) return n.reduce(Op::kReduceMean, value, r.axes, r.keepdim);
  Dim count = 1;
  for (const std::int64_t axis : r.axes) count = count * type.shape[static_cast<std::size_t>(axis)];
  return n.op(Op::kTruncDiv, {n.reduce(Op::kReduceSum, value, r.axes, r.keepdim), n.number(type.dtype, count)});
}

Maybe reduced(OnnxNode& n, std::string_view name, const Maybe& x, const Reduction& r, DType dtype) {
  const auto plain = [&](Op op) { return n.reduce(op, before(n, name, x), r.axes, r.keepdim); };
  if (name == "ReduceMax") return plain(dtype == DType::kBool ? Op::kReduceAny : Op::kReduceMax);
  if (name == "ReduceMin") return plain(dtype == DType::kBool ? Op::kReduceAll : Op::kReduceMin);
  if (name == "ReduceProd") return plain(Op::kReduceProd);
  if (name == "ReduceMean") return mean(n, x, r);
  if (name == "ReduceL2")
    return n.cast(n.op(Op::kSqrt, {n.cast(plain(Op::kReduceSum), is_float(dtype) ? dtype : DType::kF64)}), dtype);
  if (name == "ReduceLogSum") return n.op(Op::kLog, {plain(Op::kReduceSum)});
  if (name == "ReduceLogSumExp") return plain(Op::kLogSumExp);
  return plain(Op::kReduceSum);
}

}  // namespace

namespace {

// A sum of logarithms or exponentials of integers is computed in f64.
Maybe reduced_any(OnnxNode& n, const Maybe& x, const Reduction& reduction, DType dtype) {
  const std::string_view name = n.op_type();
  const bool needs_float = name == "ReduceLogSum" || name == "ReduceLogSumExp";
  if (needs_float && !is_float(dtype)) {
    return n.cast(reduced(n, name, n.cast(x, DType::kF64), reduction, DType::kF64), dtype);
  }
  return reduced(n, name, x, reduction, dtype);
}

}  // namespace

Maybe import_reduce(OnnxNode& n) {
  TW_ASSIGN(const TensorType type, n.type(0));
  if (has_late_axes(n)) {
    TW_ASSIGN(const LateAxes late, split_axes(n, type.shape, n.integer("keepdims", 1) != 0));
    return n.reshape(reduced_any(n, late.x, {late.reduced, false, false}, type.dtype), late.shape);
  }
  TW_ASSIGN(const Reduction reduction, read_reduction(n, type.shape.size()));
  if (!reduction.nothing) return reduced_any(n, n.input(0), reduction, type.dtype);
  // Nothing is reduced, but what the operator does to each element remains.
  const std::string_view name = n.op_type();
  if (name == "ReduceL1" || name == "ReduceL2") return n.op(Op::kAbs, {n.input(0)});
  if (name == "ReduceLogSum") return n.op(Op::kLog, {n.input(0)});
  return before(n, name, n.input(0));
}

Maybe import_arg_extreme(OnnxNode& n) {
  TW_ASSIGN(const TensorType type, n.type(0));
  TW_ASSIGN(const std::int64_t axis, n.axis(n.integer("axis", 0), type.shape.size()));
  return n.op(
      n.op_type() == "ArgMax" ? Op::kArgMax : Op::kArgMin, {n.input(0)},
      {{"axis", axis}, {"keepdim", n.integer("keepdims", 1) != 0}, {"last", n.integer("select_last_index", 0) != 0}});
}

Maybe import_cumulative(OnnxNode& n) {
  TW_ASSIGN(const TensorType type, n.type(0));
  const std::int64_t rank = std::ssize(type.shape);
  TW_ASSIGN(const Dim given, n.scalar(1));
  const Op op = n.op_type() == "CumSum" ? Op::kCumSum : Op::kCumProd;
  const auto along = [&](std::int64_t axis) {
    return n.op(
        op, {n.input(0)},
        {{"axis", axis}, {"reverse", n.integer("reverse", 0) != 0}, {"exclusive", n.integer("exclusive", 0) != 0}});
  };
  if (const std::optional<std::int64_t> known = given.constant()) {
    TW_ASSIGN(const std::int64_t axis, n.axis(*known, type.shape.size()));
    return along(axis);
  }
  // An axis that only a call tells: the sums along each are there to choose from.
  const auto holds = [](DimOp op_of_two, Dim a, Dim b) { return Dim::make(op_of_two, std::array{a, b}); };
  const Dim in_range = holds(DimOp::kAnd, holds(DimOp::kLe, -rank, given), holds(DimOp::kLt, given, rank));
  TW_TRY(n.require(in_range, fmt::format("the axis is out of range for rank {}", rank)));
  Maybe chosen = n.input(0);
  for (std::int64_t axis = 0; axis < rank; ++axis) {
    if (axis == 0) {
      chosen = along(axis);
      continue;
    }
    const Maybe here = n.op(Op::kEq, {n.number(DType::kI64, mod(given, rank)), n.number(DType::kI64, axis)});
    chosen = n.op(Op::kSelect, {here, along(axis), chosen});
  }
  return chosen;
}

}  // namespace tilewright::onnx
