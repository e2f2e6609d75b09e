// Operators that read at positions given by index tensors.
#include <array>

#include "tilewright/frontends/onnx/operators.h"

namespace tilewright::onnx {
namespace {

// Index dtypes of the graph are i32 and i64.
Maybe as_index(OnnxNode& n, const Maybe& index) {
  if (!index.ok()) return index;
  const DType dtype = n.type_of(*index).dtype;
  return dtype == DType::kI32 || dtype == DType::kI64 ? index : n.cast(index, DType::kI64);
}

Maybe positions(OnnxNode& n, Shape shape, std::int64_t axis) {
  return n.op(Op::kIota, {}, {{"dtype", DType::kI64}, {"shape", std::move(shape)}, {"axis", axis}});
}

}  // namespace

// One known position is a slice, which moves nothing.
Maybe import_gather(OnnxNode& n) {
  TW_ASSIGN(const TensorType x, n.type(0));
  TW_ASSIGN(const std::int64_t axis, n.axis(n.integer("axis", 0), x.shape.size()));
  const HostTensor* index = n.known(1);
  if (index != nullptr && index->sizes.empty() && index->elements[0].constant()) {
    const std::int64_t place = *index->elements[0].constant();
    const Dim size = x.shape[static_cast<std::size_t>(axis)];
    const Dim start = place < 0 ? size + place : Dim(place);
    Shape shape = x.shape;
    shape.erase(shape.begin() + axis);
    return n.reshape(n.slice(n.input(0), axis, start, start + 1), std::move(shape));
  }
  return n.op(Op::kGather, {n.input(0), as_index(n, n.input(1))}, {{"axis", axis}});
}

Maybe import_gather_elements(OnnxNode& n) {
  TW_ASSIGN(const TensorType x, n.type(0));
  TW_ASSIGN(const std::int64_t axis, n.axis(n.integer("axis", 0), x.shape.size()));
  return n.op(Op::kGatherElements, {n.input(0), as_index(n, n.input(1))}, {{"axis", axis}});
}

// index[b.., i.., k]: k positions in x after its first `batch_dims` axes, which run along with those of the index.
Maybe import_gather_nd(OnnxNode& n) {
  TW_ASSIGN(const TensorType x, n.type(0));
  TW_ASSIGN(const TensorType index, n.type(1));
  const std::int64_t batch = n.integer("batch_dims", 0);
  if (index.shape.empty()) return fail(ErrorKind::kShapeMismatch, "the index is a scalar");
  TW_ASSIGN(const std::int64_t depth, n.number_of_size(index.shape.back()));
  if (batch < 0 || batch + depth > std::ssize(x.shape) || batch >= std::ssize(index.shape)) {
    return fail(ErrorKind::kShapeMismatch, "an index {} with {} batch axes does not fit {}", index, batch, x);
  }
  const auto last = std::ssize(index.shape) - 1;
  const Shape places(index.shape.begin(), index.shape.end() - 1);
  std::vector<ValueId> inputs;
  Ints axes;
  TW_ASSIGN(const ValueId data, n.input(0));
  inputs.push_back(data);
  for (std::int64_t axis = 0; axis < batch; ++axis) {
    Shape shape(places.size(), Dim(1));
    shape[static_cast<std::size_t>(axis)] = places[static_cast<std::size_t>(axis)];
    TW_ASSIGN(const ValueId row, positions(n, std::move(shape), axis));
    inputs.push_back(row);
    axes.push_back(axis);
  }
  for (std::int64_t i = 0; i < depth; ++i) {
    TW_ASSIGN(const ValueId column, n.reshape(n.slice(as_index(n, n.input(1)), last, i, i + 1), places));
    inputs.push_back(column);
    axes.push_back(batch + i);
  }
  return n.op(Op::kIndex, inputs, {{"axes", axes}});
}

// i64[rank, count]
Maybe import_nonzero(OnnxNode& n) {
  TW_ASSIGN(const TensorType type, n.type(0));
  if (type.shape.empty()) {
    const Maybe row = n.op(Op::kNonZero, {n.reshape(n.input(0), {Dim(1)})}, {{"count", n.fresh_symbol("n")}});
    TW_ASSIGN(const ValueId found, Maybe(row));
    return n.reshape(found, {Dim(0), n.type_of(found).shape[0]});
  }
  return n.transpose(n.op(Op::kNonZero, {n.input(0)}, {{"count", n.fresh_symbol("n")}}), {1, 0});
}

Maybe import_compress(OnnxNode& n) {
  TW_ASSIGN(const TensorType type, n.type(0));
  Maybe x = n.input(0);
  std::int64_t axis = 0;
  if (n.has_attribute("axis")) {
    TW_ASSIGN(axis, n.axis(n.integer("axis", 0), type.shape.size()));
  } else {
    Dim count = 1;
    for (const Dim dim : type.shape) count = count * dim;
    x = n.reshape(x, {count});
  }
  const Dim kept = n.fresh_symbol("n");
  const Maybe places = n.reshape(n.op(Op::kNonZero, {n.input(1)}, {{"count", kept}}), {kept});
  return n.op(Op::kGather, {x, places}, {{"axis", axis}});
}

// values[1] where the index stands, else values[0]; a negative index counts from the end, one out of range is nowhere.
Maybe import_one_hot(OnnxNode& n) {
  TW_ASSIGN(const TensorType index, n.type(0));
  TW_ASSIGN(const Dim depth_given, n.scalar(1));
  const Dim depth = depth_given.is_float() ? Dim::make(DimOp::kTrunc, std::array{depth_given}) : depth_given;
  TW_ASSIGN(const std::int64_t axis, n.axis(n.integer("axis", -1), index.shape.size() + 1));
  const Maybe places = n.cast(n.input(0), DType::kI64);
  const Maybe size = n.number(DType::kI64, depth);
  const Maybe wrapped =
      n.op(Op::kSelect, {n.op(Op::kLt, {places, n.number_like(places, 0)}), n.op(Op::kAdd, {places, size}), places});
  Shape row(index.shape.size() + 1, Dim(1));
  row[static_cast<std::size_t>(axis)] = depth;
  const Maybe hit = n.op(Op::kEq, {n.unsqueeze(wrapped, {axis}), positions(n, std::move(row), axis)});
  const auto choice = [&](std::int64_t i) { return n.reshape(n.slice(n.input(2), 0, i, i + 1), {}); };
  return n.op(Op::kSelect, {hit, choice(1), choice(0)});
}

}  // namespace tilewright::onnx
