// Operators that put elements elsewhere: joins, splits, repeats, blocks of pixels.
#include "tilewright/frontends/onnx/operators.h"

namespace tilewright::onnx {
namespace {

// The sizes of the parts along `axis`: given, or as equal as they can be.
Result<Dims> part_sizes(OnnxNode& n, Dim size) {
  if (const auto given = n.integers_of("split"); given && !given->empty()) return Dims(given->begin(), given->end());
  if (n.has(1)) return n.integers(1);
  const std::int64_t count = n.integer("num_outputs", static_cast<std::int64_t>(n.num_outputs()));
  if (count < 1) return fail(ErrorKind::kInvalidArgument, "a split into {} parts", count);
  const Dim each = n.has_attribute("num_outputs") ? ceildiv(size, Dim(count)) : floordiv(size, Dim(count));
  Dims sizes(static_cast<std::size_t>(count), each);
  sizes.back() = size - each * (count - 1);
  return sizes;
}

struct Blocks {
  Shape shape;
  std::int64_t size;
};

Result<Blocks> read_blocks(OnnxNode& n) {
  TW_ASSIGN(const TensorType type, n.type(0));
  const std::int64_t size = n.integer("blocksize", 0);
  if (size < 1) return fail(ErrorKind::kInvalidArgument, "a block size of {}", size);
  if (type.shape.size() != 4) return fail(ErrorKind::kShapeMismatch, "the input must be [N, C, H, W]: {}", type);
  return Blocks{type.shape, size};
}

}  // namespace

Maybe import_concat(OnnxNode& n) {
  TW_ASSIGN(const TensorType type, n.type(0));
  TW_ASSIGN(const std::int64_t axis, n.axis(n.integer("axis", 1), type.shape.size()));
  std::vector<ValueId> parts;
  for (std::size_t i = 0; i < n.num_inputs(); ++i) {
    TW_ASSIGN(const ValueId part, n.input(i));
    parts.push_back(part);
  }
  if (parts.size() == 1) return parts[0];
  return n.op(Op::kConcat, parts, {{"axis", axis}});
}

Result<Results> import_split(OnnxNode& n) {
  TW_ASSIGN(const TensorType type, n.type(0));
  TW_ASSIGN(const std::int64_t axis, n.axis(n.integer("axis", 0), type.shape.size()));
  TW_ASSIGN(const Dims sizes, part_sizes(n, type.shape[static_cast<std::size_t>(axis)]));
  if (sizes.size() < n.num_outputs()) {
    return fail(ErrorKind::kInvalidArgument, "{} parts for {} outputs", sizes.size(), n.num_outputs());
  }
  Results parts;
  Dim start = 0;
  for (const Dim size : sizes) {
    TW_ASSIGN(ValueRef part, n.result(n.slice(n.input(0), axis, start, start + size)));
    parts.push_back(std::move(part));
    start = start + size;
  }
  return parts;
}

// Each axis of size d, repeated r times, is an axis [r, d] made one.
Maybe import_tile(OnnxNode& n) {
  TW_ASSIGN(const TensorType type, n.type(0));
  TW_ASSIGN(Dims repeats, n.integers(1));
  if (n.version() < 6) {  // two scalars: how often, and along which axis
    TW_ASSIGN(const Ints axis, n.constant_integers(2));
    Dims all(type.shape.size(), Dim(1));
    TW_ASSIGN(const std::int64_t place, n.axis(axis.at(0), type.shape.size()));
    all[static_cast<std::size_t>(place)] = repeats[0];
    repeats = all;
  }
  if (repeats.size() != type.shape.size()) {
    return fail(ErrorKind::kShapeMismatch, "{} repeats for {}", repeats.size(), type);
  }
  Shape split, repeated, merged;
  for (std::size_t axis = 0; axis < repeats.size(); ++axis) {
    if (repeats[axis].constant() != 1) {
      split.push_back(1);
      repeated.push_back(repeats[axis]);
    }
    split.push_back(type.shape[axis]);
    repeated.push_back(type.shape[axis]);
    merged.push_back(repeats[axis] * type.shape[axis]);
  }
  return n.reshape(n.expand(n.reshape(n.input(0), split), repeated), merged);
}

Maybe import_depth_to_space(OnnxNode& n) {
  TW_ASSIGN(const Blocks blocks, read_blocks(n));
  const Shape& x = blocks.shape;
  const Dim b = blocks.size;
  const Dim channels = floordiv(x[1], b * b);
  const Shape out{x[0], channels, x[2] * b, x[3] * b};
  if (n.text("mode", "DCR") == "CRD") {
    const Maybe split = n.reshape(n.input(0), {x[0], channels, b, b, x[2], x[3]});
    return n.reshape(n.transpose(split, {0, 1, 4, 2, 5, 3}), out);
  }
  const Maybe split = n.reshape(n.input(0), {x[0], b, b, channels, x[2], x[3]});
  return n.reshape(n.transpose(split, {0, 3, 4, 1, 5, 2}), out);
}

Maybe import_space_to_depth(OnnxNode& n) {
  TW_ASSIGN(const Blocks blocks, read_blocks(n));
  const Shape& x = blocks.shape;
  const Dim b = blocks.size;
  const Dim height = floordiv(x[2], b);
  const Dim width = floordiv(x[3], b);
  const Maybe split = n.reshape(n.input(0), {x[0], x[1], height, b, width, b});
  if (n.text("mode", "DCR") == "CRD") {
    return n.reshape(n.transpose(split, {0, 1, 3, 5, 2, 4}), {x[0], x[1] * b * b, height, width});
  }
  return n.reshape(n.transpose(split, {0, 3, 5, 1, 2, 4}), {x[0], x[1] * b * b, height, width});
}

// The upper triangle keeps elements with column - row >= k, the lower one those with column - row <= k.
Maybe import_trilu(OnnxNode& n) {
  TW_ASSIGN(const TensorType type, n.type(0));
  const std::size_t rank = type.shape.size();
  if (rank < 2) return fail(ErrorKind::kShapeMismatch, "a triangle of {}", type);
  Dim k = 0;
  if (n.has(1)) {
    TW_ASSIGN(k, n.scalar(1));
  }
  const auto positions = [&](Shape shape, std::int64_t axis) {
    return n.op(Op::kIota, {}, {{"dtype", DType::kI64}, {"shape", std::move(shape)}, {"axis", axis}});
  };
  const Maybe columns = positions({Dim(1), type.shape[rank - 1]}, 1);
  const Maybe rows = n.op(Op::kAdd, {positions({type.shape[rank - 2], Dim(1)}, 0), n.number(DType::kI64, k)});
  const Maybe kept = n.op(n.integer("upper", 1) != 0 ? Op::kGe : Op::kLe, {columns, rows});
  const Maybe x = n.input(0);
  const Maybe zero = n.cast(n.number(DType::kI64, Dim(0)), type.dtype);
  return n.op(Op::kSelect, {kept, x, zero});
}

}  // namespace tilewright::onnx
