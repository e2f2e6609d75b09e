// Det by elimination with pivots, a column at each trip of a loop, for batches of matrices of any size.
#include "tilewright/frontends/onnx/loop.h"
#include "tilewright/frontends/onnx/operators.h"
#include "tilewright/frontends/onnx/operators/sampling.h"

namespace tilewright::onnx {
namespace {

// One trip: moves the row with the largest entry of the column up, multiplies by it and clears what is below it.
Result<Trip> eliminate(OnnxNode& n, Dim size, const ValueRef& counter, const Results& states) {
  const Maybe matrix = n.local(states[0]);  // [B, n, n]
  const Maybe step = n.local(counter);
  const auto positions = [&](Shape shape, std::int64_t axis) {
    return n.op(Op::kIota, {}, {{"dtype", DType::kI64}, {"shape", std::move(shape)}, {"axis", axis}});
  };
  const Maybe zero = n.number_like(matrix, 0);
  const auto picked = [&](const Maybe& where, std::int64_t axis) {
    return n.reduce(Op::kReduceSum, n.op(Op::kSelect, {where, matrix, zero}), {axis}, true);
  };
  const Maybe row = positions({Dim(1), size, Dim(1)}, 1);
  const Maybe here = binary(n, Op::kEq, row, step);
  const Maybe below = binary(n, Op::kGt, row, step);
  const Maybe in_column = binary(n, Op::kEq, positions({Dim(1), Dim(1), size}, 2), step);
  const Maybe column = picked(in_column, 2);  // [B, n, 1]
  const Maybe sizes =
      n.op(Op::kSelect, {binary(n, Op::kGe, row, step), n.op(Op::kAbs, {column}), n.number_like(matrix, -1)});
  const Maybe best = n.op(Op::kArgMax, {sizes}, {{"axis", std::int64_t{1}}, {"keepdim", true}});  // [B, 1, 1]
  const Maybe is_best = binary(n, Op::kEq, row, best);
  const Maybe top = picked(is_best, 1);  // [B, 1, n]
  const Maybe swapped = n.op(Op::kSelect, {here, top, n.op(Op::kSelect, {is_best, picked(here, 1), matrix})});
  const Maybe pivot = n.reduce(Op::kReduceSum, n.op(Op::kSelect, {in_column, top, zero}), {2}, true);
  const Maybe sign =
      n.op(Op::kSelect, {binary(n, Op::kEq, best, step), n.number_like(matrix, 1), n.number_like(matrix, -1)});
  const Maybe divisor = n.op(Op::kSelect, {binary(n, Op::kEq, pivot, 0), n.number_like(matrix, 1), pivot});
  const Maybe entries = n.reduce(Op::kReduceSum, n.op(Op::kSelect, {in_column, swapped, zero}), {2}, true);
  const Maybe factor = n.op(Op::kSelect, {below, binary(n, Op::kDiv, entries, divisor), zero});
  Trip trip;
  TW_ASSIGN(ValueRef next, n.result(binary(n, Op::kSub, swapped, binary(n, Op::kMul, factor, top))));
  TW_ASSIGN(ValueRef product, n.result(binary(n, Op::kMul, n.local(states[1]), binary(n, Op::kMul, pivot, sign))));
  trip.states = {std::move(next), std::move(product)};
  return trip;
}

}  // namespace

Maybe import_det(OnnxNode& n) {
  TW_ASSIGN(const TensorType type, n.type(0));
  if (type.shape.size() < 2) return fail(ErrorKind::kShapeMismatch, "the input must be of matrices: {}", type);
  const Dim size = type.shape.back();
  const Shape batch(type.shape.begin(), type.shape.end() - 2);
  Dim count = 1;
  for (const Dim dim : batch) count = count * dim;
  const DType wide = type.dtype == DType::kF64 ? DType::kF64 : DType::kF32;
  LoopSpec spec;
  spec.trips = size;
  TW_ASSIGN(ValueRef matrices, n.result(n.reshape(n.cast(n.input(0), wide), {count, size, size})));
  TW_ASSIGN(ValueRef ones, n.result(n.expand(n.cast(n.number(DType::kI64, 1), wide), {count, Dim(1), Dim(1)})));
  spec.states = {std::move(matrices), std::move(ones)};
  spec.trip = [size](OnnxNode& inner, const ValueRef& counter, const Results& states, const Results&) {
    return eliminate(inner, size, counter, states);
  };
  TW_ASSIGN(const LoopResult result, build_loop(n, spec));
  return n.cast(n.reshape(n.local(result.states[1]), batch), type.dtype);
}

}  // namespace tilewright::onnx
