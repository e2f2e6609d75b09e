// NonMaxSuppression: a loop over the boxes of each class in the order of their scores keeps those that overlap none of
// the kept ones too much. A trip compares one box with all, so memory stays linear in the number of boxes.
#include "tilewright/frontends/onnx/loop.h"
#include "tilewright/frontends/onnx/operators.h"
#include "tilewright/frontends/onnx/operators/sampling.h"

namespace tilewright::onnx {
namespace {

struct Corners {
  Maybe top, left, bottom, right;
};

// Of boxes[.., 4]: two opposite corners (y, x) in any order, or center x, y, width and height.
Corners corners_of(OnnxNode& n, const Maybe& boxes, bool centered) {
  const auto part = [&](std::int64_t i) -> Maybe {
    TW_ASSIGN(const ValueId value, Maybe(boxes));
    Shape shape = n.type_of(value).shape;
    shape.pop_back();
    return n.reshape(n.slice(value, std::ssize(shape), i, i + 1), shape);
  };
  if (centered) {
    const Maybe half_width = binary(n, Op::kMul, part(2), 0.5);
    const Maybe half_height = binary(n, Op::kMul, part(3), 0.5);
    return {binary(n, Op::kSub, part(1), half_height), binary(n, Op::kSub, part(0), half_width),
            binary(n, Op::kAdd, part(1), half_height), binary(n, Op::kAdd, part(0), half_width)};
  }
  return {binary(n, Op::kMin, part(0), part(2)), binary(n, Op::kMin, part(1), part(3)),
          binary(n, Op::kMax, part(0), part(2)), binary(n, Op::kMax, part(1), part(3))};
}

// Whether the intersection over the union of boxes is above the threshold; of empty boxes it is not.
Maybe overlaps(OnnxNode& n, const Corners& a, const Corners& b, const Maybe& threshold) {
  const auto length = [&](const Maybe& low, const Maybe& high) {
    return binary(n, Op::kMax, binary(n, Op::kSub, high, low), 0);
  };
  const auto area = [&](const Corners& box) {
    return binary(n, Op::kMul, length(box.top, box.bottom), length(box.left, box.right));
  };
  const Maybe height = length(binary(n, Op::kMax, a.top, b.top), binary(n, Op::kMin, a.bottom, b.bottom));
  const Maybe width = length(binary(n, Op::kMax, a.left, b.left), binary(n, Op::kMin, a.right, b.right));
  const Maybe common = binary(n, Op::kMul, height, width);
  const Maybe united = binary(n, Op::kSub, binary(n, Op::kAdd, area(a), area(b)), common);
  const Maybe some = binary(n, Op::kGt, common, 0);
  return binary(n, Op::kBitAnd, some, binary(n, Op::kGt, binary(n, Op::kDiv, common, united), threshold));
}

struct Ordered {
  ValueId place;         // i64[B, C, M]: the boxes of each class, best first
  Maybe boxes, allowed;  // [B, C, M, 4] and bool[B, C, M] in that order
};

Result<Ordered> order_boxes(OnnxNode& n, const Shape& scores) {
  TW_ASSIGN(const ValueId given, n.input(1));
  TW_ASSIGN(const std::vector<ValueId> sorted,
            n.ops(Op::kSort, {given}, {{"axis", std::int64_t{2}}, {"descending", true}}));
  const Maybe batch = n.op(
      Op::kIota, {}, {{"dtype", DType::kI64}, {"shape", Shape{scores[0], Dim(1), Dim(1)}}, {"axis", std::int64_t{0}}});
  const Maybe boxes = n.op(Op::kIndex, {n.input(0), batch, sorted[1]}, {{"axes", Ints{0, 1}}});
  Maybe allowed = binary(n, Op::kEq, sorted[1], sorted[1]);
  if (n.has(4)) allowed = binary(n, Op::kGt, sorted[0], n.reshape(n.input(4), {}));
  return Ordered{sorted[1], boxes, allowed};
}

// A scalar of an optional input.
Maybe scalar_or(OnnxNode& n, std::size_t input, DType dtype) {
  if (!n.has(input)) return n.cast(n.number(DType::kI64, 0), dtype);
  return n.cast(n.reshape(n.input(input), {}), dtype);
}

// bool[B, C, M]: which boxes are kept.
Maybe kept_boxes(OnnxNode& n, const Ordered& ordered, const Shape& scores) {
  const bool centered = n.integer("center_point_box", 0) != 0;
  LoopSpec spec;
  spec.trips = scores[2];
  const Maybe none = n.cast(n.number(DType::kI64, 0), DType::kBool);
  TW_ASSIGN(ValueRef nothing, n.result(n.expand(none, scores)));
  TW_ASSIGN(ValueRef zero, n.result(n.expand(n.number(DType::kI64, 0), {scores[0], scores[1], Dim(1)})));
  spec.states = {std::move(nothing), std::move(zero)};
  TW_ASSIGN(ValueRef boxes, n.result(n.transpose(ordered.boxes, {2, 0, 1, 3})));
  TW_ASSIGN(ValueRef allowed, n.result(n.transpose(ordered.allowed, {2, 0, 1})));
  spec.scanned = {std::move(boxes), std::move(allowed)};
  TW_ASSIGN(const ValueRef all, n.result(ordered.boxes));
  TW_ASSIGN(const ValueRef most, n.result(scalar_or(n, 2, DType::kI64)));
  TW_ASSIGN(const ValueRef threshold, n.result(scalar_or(n, 3, DType::kF32)));
  spec.trip = [&](OnnxNode& inner, const ValueRef& counter, const Results& states,
                  const Results& slices) -> Result<Trip> {
    const Maybe kept = inner.local(states[0]);
    const Maybe count = inner.local(states[1]);
    const Maybe box = inner.unsqueeze(inner.local(slices[0]), {2});
    const Maybe close = overlaps(inner, corners_of(inner, box, centered), corners_of(inner, inner.local(all), centered),
                                 inner.local(threshold));
    const Maybe hit = inner.reduce(Op::kReduceAny, binary(inner, Op::kBitAnd, kept, close), {2}, true);
    const Maybe room = binary(inner, Op::kLt, count, inner.local(most));
    const Maybe fits = binary(inner, Op::kBitAnd, inner.unsqueeze(inner.local(slices[1]), {2}), room);
    const Maybe keep = binary(inner, Op::kBitAnd, fits, inner.op(Op::kLogicalNot, {hit}));
    const Maybe place =
        inner.op(Op::kIota, {},
                 {{"dtype", DType::kI64}, {"shape", Shape{Dim(1), Dim(1), scores[2]}}, {"axis", std::int64_t{2}}});
    const Maybe here = binary(inner, Op::kEq, place, inner.local(counter));
    Trip trip;
    TW_ASSIGN(ValueRef next, inner.result(binary(inner, Op::kBitOr, kept, binary(inner, Op::kBitAnd, here, keep))));
    TW_ASSIGN(ValueRef sum, inner.result(binary(inner, Op::kAdd, count, inner.cast(keep, DType::kI64))));
    trip.states = {std::move(next), std::move(sum)};
    return trip;
  };
  TW_ASSIGN(const LoopResult result, build_loop(n, spec));
  return n.local(result.states[0]);
}

}  // namespace

// i64[selected, 3]: batch, class, box; within a class the best first.
Maybe import_non_max_suppression(OnnxNode& n) {
  TW_ASSIGN(const TensorType scores, n.type(1));
  TW_ASSIGN(const TensorType boxes, n.type(0));
  if (scores.shape.size() != 3 || boxes.shape.size() != 3) {
    return fail(ErrorKind::kShapeMismatch, "boxes {} and scores {} must have three axes", boxes, scores);
  }
  TW_ASSIGN(const Ordered ordered, order_boxes(n, scores.shape));
  const Dim count = n.fresh_symbol("n");
  TW_ASSIGN(const ValueId found, n.op(Op::kNonZero, {kept_boxes(n, ordered, scores.shape)}, {{"count", count}}));
  const auto column = [&](std::int64_t i) { return n.reshape(n.slice(found, 1, i, i + 1), {count}); };
  const Maybe box =
      n.op(Op::kIndex, {Maybe(ordered.place), column(0), column(1), column(2)}, {{"axes", Ints{0, 1, 2}}});
  TW_ASSIGN(const ValueId first, n.slice(found, 1, 0, 2));
  TW_ASSIGN(const ValueId last, n.reshape(box, {count, Dim(1)}));
  return n.op(Op::kConcat, std::vector<ValueId>{first, last}, {{"axis", std::int64_t{1}}});
}

}  // namespace tilewright::onnx
