// Operators that order elements: the largest k, distinct elements or rows, sequences read backwards.
#include "tilewright/frontends/onnx/loop.h"
#include "tilewright/frontends/onnx/operators.h"

namespace tilewright::onnx {
namespace {

Maybe positions(OnnxNode& n, Shape shape, std::int64_t axis) {
  return n.op(Op::kIota, {}, {{"dtype", DType::kI64}, {"shape", std::move(shape)}, {"axis", axis}});
}

Maybe gather(OnnxNode& n, const Maybe& x, const Maybe& index, std::int64_t axis = 0) {
  return n.op(Op::kGather, {x, index}, {{"axis", axis}});
}

// `into` with updates written at index, along its only axis.
Maybe scatter(OnnxNode& n, const Maybe& into, const Maybe& index, const Maybe& updates, std::string reduce = "none") {
  return n.op(Op::kScatterElements, {into, index, updates}, {{"axis", std::int64_t{0}}, {"reduce", std::move(reduce)}});
}

// i64[rows]: the rows of [rows, columns] in lexicographic order, by stable sorts of one column after the other, the
// last one first.
Maybe row_order(OnnxNode& n, const Maybe& matrix, Dim rows, Dim columns) {
  const Maybe backwards = n.op(Op::kFlip, {n.transpose(matrix, {1, 0})}, {{"axes", Ints{0}}});
  LoopSpec spec;
  spec.trips = columns;
  TW_ASSIGN(ValueRef first, n.result(positions(n, {rows}, 0)));
  spec.states.push_back(std::move(first));
  TW_ASSIGN(ValueRef scanned, n.result(backwards));
  spec.scanned.push_back(std::move(scanned));
  spec.trip = [](OnnxNode& inner, const ValueRef&, const Results& states, const Results& slices) -> Result<Trip> {
    const Maybe order = inner.local(states[0]);
    TW_ASSIGN(const ValueId keys, gather(inner, inner.local(slices[0]), order));
    TW_ASSIGN(const std::vector<ValueId> sorted, inner.ops(Op::kSort, {keys}, {{"axis", std::int64_t{0}}}));
    Trip trip;
    TW_ASSIGN(ValueRef next, inner.result(gather(inner, order, sorted[1])));
    trip.states.push_back(std::move(next));
    return trip;
  };
  TW_ASSIGN(const LoopResult result, build_loop(n, spec));
  return n.local(result.states[0]);
}

// i64[rows]: equal for equal rows, and in their order.
Maybe row_numbers(OnnxNode& n, const Maybe& matrix, Dim rows, Dim columns) {
  TW_ASSIGN(const ValueId order, row_order(n, matrix, rows, columns));
  const Maybe sorted = gather(n, matrix, order);
  const Maybe place = positions(n, {rows}, 0);
  const Maybe before = n.op(Op::kMax, {n.op(Op::kSub, {place, n.number(DType::kI64, 1)}), n.number(DType::kI64, 0)});
  const Maybe differs = n.op(Op::kNe, {sorted, gather(n, sorted, before)});
  const Maybe starts = n.cast(n.reduce(Op::kReduceAny, differs, {1}, false), DType::kI64);
  const Maybe number = n.op(Op::kCumSum, {starts}, {{"axis", std::int64_t{0}}});
  return scatter(n, n.expand(n.number(DType::kI64, 0), {rows}), order, number);
}

struct Groups {
  ValueId keys, inverse, counts;
  Maybe first;  // position of the first of each
};

Result<Groups> find_groups(OnnxNode& n, const Maybe& row, Dim length) {
  const Dim count = n.fresh_symbol("n");
  TW_ASSIGN(const ValueId value, Maybe(row));
  TW_ASSIGN(const std::vector<ValueId> found, n.ops(Op::kUnique, {value}, {{"count", count}}));
  const Maybe none = n.expand(n.number(DType::kI64, length), {count});
  return Groups{found[0], found[1], found[2], scatter(n, none, found[1], positions(n, {length}, 0), "min")};
}

}  // namespace

Result<Results> import_top_k(OnnxNode& n) {
  TW_ASSIGN(const TensorType type, n.type(0));
  TW_ASSIGN(const std::int64_t axis, n.axis(n.integer("axis", -1), type.shape.size()));
  Dim k = n.integer("k", 0);
  if (n.version() >= 10) {
    TW_ASSIGN(k, n.scalar(1));
  }
  TW_ASSIGN(const ValueId x, n.input(0));
  TW_ASSIGN(const std::vector<ValueId> found,
            n.ops(Op::kTopK, {x}, {{"axis", axis}, {"k", k}, {"largest", n.integer("largest", 1) != 0}}));
  return n.results({found[0], found[1]});
}

// Of elements, or of slices along an axis; sorted, or in the order of their first appearance.
Result<Results> import_unique(OnnxNode& n) {
  TW_ASSIGN(const TensorType type, n.type(0));
  Maybe x = n.input(0);
  Dim length = 1;
  for (const Dim size : type.shape) length = length * size;
  std::int64_t axis = 0;
  const bool has_axis = n.has_attribute("axis");
  Maybe keys = x = has_axis ? x : n.reshape(x, {length});
  if (has_axis) {
    TW_ASSIGN(axis, n.axis(n.integer("axis", 0), type.shape.size()));
    Ints perm{axis};
    Dim width = 1;
    for (std::int64_t other = 0; other < std::ssize(type.shape); ++other) {
      if (other == axis) continue;
      perm.push_back(other);
      width = width * type.shape[static_cast<std::size_t>(other)];
    }
    length = type.shape[static_cast<std::size_t>(axis)];
    keys = row_numbers(n, n.reshape(n.transpose(x, std::move(perm)), {length, width}), length, width);
  }
  TW_ASSIGN(const Groups groups, find_groups(n, keys, length));
  if (n.integer("sorted", 1) != 0) {
    return n.results({gather(n, x, groups.first, axis), groups.first, groups.inverse, groups.counts});
  }
  TW_ASSIGN(const ValueId first, Maybe(groups.first));
  TW_ASSIGN(const std::vector<ValueId> appeared, n.ops(Op::kSort, {first}, {{"axis", std::int64_t{0}}}));
  const Shape count = n.type_of(first).shape;
  const Maybe rank = scatter(n, n.expand(n.number(DType::kI64, 0), count), appeared[1], positions(n, count, 0));
  return n.results({gather(n, x, appeared[0], axis), appeared[0], gather(n, rank, groups.inverse),
                    gather(n, groups.counts, appeared[1])});
}

// The first `length` steps of each sequence backwards, the rest as it is.
Maybe import_reverse_sequence(OnnxNode& n) {
  TW_ASSIGN(const TensorType type, n.type(0));
  const std::int64_t time = n.integer("time_axis", 0);
  const std::int64_t batch = n.integer("batch_axis", 1);
  if (type.shape.size() < 2 || time + batch != 1 || time * batch != 0) {
    return fail(ErrorKind::kInvalidArgument, "axes {} and {} of {} are not the first two", time, batch, type);
  }
  const auto row = [&](std::int64_t axis) {
    Shape shape(2, Dim(1));
    shape[static_cast<std::size_t>(axis)] = type.shape[static_cast<std::size_t>(axis)];
    return shape;
  };
  const Maybe step = positions(n, row(time), time);
  const Maybe length = n.reshape(n.cast(n.input(1), DType::kI64), row(batch));
  const Maybe last = n.op(Op::kSub, {length, n.number(DType::kI64, 1)});
  const Maybe from = n.op(Op::kSelect, {n.op(Op::kLt, {step, length}), n.op(Op::kSub, {last, step}), step});
  const Maybe sequence = positions(n, row(batch), batch);
  const Attrs attrs{{"axes", Ints{0, 1}}};
  return time == 0 ? n.op(Op::kIndex, {n.input(0), from, sequence}, attrs)
                   : n.op(Op::kIndex, {n.input(0), sequence, from}, attrs);
}

}  // namespace tilewright::onnx
