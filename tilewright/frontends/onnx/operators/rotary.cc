// RotaryEmbedding of both domains.
#include "tilewright/frontends/onnx/operators/rotary.h"

namespace tilewright::onnx {
namespace {

// Input 0 as [B, S, H, D], and back in the shape that it had.
struct Heads {
  Maybe x;
  Shape shape;
};

Result<Heads> heads_of(OnnxNode& n, Dim rotated_size) {
  TW_ASSIGN(const TensorType type, n.type(0));
  const Shape& shape = type.shape;
  if (shape.size() == 4) return Heads{n.transpose(n.input(0), {0, 2, 1, 3}), shape};
  if (shape.size() != 3) return fail(ErrorKind::kShapeMismatch, "the input must have 3 or 4 axes: {}", type);
  const std::int64_t heads = n.integer("num_heads", 0);
  const Dim size = heads > 0 ? floordiv(shape[2], Dim(heads)) : rotated_size;
  return Heads{n.reshape(n.input(0), {shape[0], shape[1], heads > 0 ? Dim(heads) : floordiv(shape[2], size), size}),
               shape};
}

Maybe restored(OnnxNode& n, const Maybe& x, const Shape& shape) {
  return shape.size() == 4 ? n.transpose(x, {0, 2, 1, 3}) : n.reshape(x, shape);
}

// Rows of a table at positions [B, S].
Maybe at_positions(OnnxNode& n, std::size_t table, const Maybe& positions) {
  return n.op(Op::kGather, {n.input(table), positions}, {{"axis", std::int64_t{0}}});
}

}  // namespace

Maybe rotated(OnnxNode& n, const Maybe& x, const Maybe& cos, const Maybe& sin, bool interleaved) {
  TW_ASSIGN(const ValueId value, Maybe(x));
  TW_ASSIGN(const ValueId table, Maybe(cos));
  const Shape shape = n.type_of(value).shape;
  const DType dtype = n.type_of(value).dtype;
  const Dim half = n.type_of(table).shape.back(), size = half * Dim(2);
  const Maybe part = n.slice(value, 3, Dim(0), size);
  const Shape pairs{shape[0], shape[1], shape[2], half, Dim(2)}, halves{shape[0], shape[1], shape[2], half};
  const auto side = [&](std::int64_t i) {
    if (!interleaved) return n.slice(part, 3, i == 0 ? Dim(0) : half, i == 0 ? half : size);
    return n.reshape(n.slice(n.reshape(part, pairs), 4, Dim(i), Dim(i + 1)), halves);
  };
  const Maybe a = side(0), b = side(1);
  const Maybe c = n.cast(n.unsqueeze(table, {2}), dtype), s = n.cast(n.unsqueeze(sin, {2}), dtype);
  const Maybe real = n.op(Op::kSub, {n.op(Op::kMul, {c, a}), n.op(Op::kMul, {s, b})});
  const Maybe imaginary = n.op(Op::kAdd, {n.op(Op::kMul, {s, a}), n.op(Op::kMul, {c, b})});
  Maybe turned = real;
  if (interleaved) {
    turned = n.op(Op::kConcat, {n.unsqueeze(real, {4}), n.unsqueeze(imaginary, {4})}, {{"axis", std::int64_t{4}}});
    turned = n.reshape(turned, {shape[0], shape[1], shape[2], size});
  } else {
    turned = n.op(Op::kConcat, {real, imaginary}, {{"axis", std::int64_t{3}}});
  }
  if (n.facts().same(size, shape[3]) == Answer::kYes) return turned;
  return n.op(Op::kConcat, {turned, n.slice(value, 3, size, shape[3])}, {{"axis", std::int64_t{3}}});
}

// x cos sin position_ids; without positions the tables are [B, S, R/2]
Maybe import_rotary_embedding(OnnxNode& n) {
  TW_ASSIGN(const TensorType table, n.type(1));
  TW_ASSIGN(const Heads heads, heads_of(n, table.shape.back() * Dim(2)));
  const Maybe cos = n.has(3) ? at_positions(n, 1, n.input(3)) : n.input(1);
  const Maybe sin = n.has(3) ? at_positions(n, 2, n.input(3)) : n.input(2);
  return restored(n, rotated(n, heads.x, cos, sin, n.integer("interleaved", 0) != 0), heads.shape);
}

// x position_ids cos sin; one position is that of the first element of every sequence
Maybe import_microsoft_rotary_embedding(OnnxNode& n) {
  TW_ASSIGN(const TensorType table, n.type(2));
  TW_ASSIGN(const Heads heads, heads_of(n, table.shape.back() * Dim(2)));
  TW_ASSIGN(const ValueId x, Maybe(heads.x));
  const Dim length = n.type_of(x).shape[1];
  TW_ASSIGN(const TensorType positions, n.type(1));
  Maybe at = n.input(1);
  if (positions.shape.size() == 1) {
    const Maybe row =
        n.op(Op::kIota, {}, {{"dtype", DType::kI64}, {"shape", Shape{Dim(1), length}}, {"axis", std::int64_t{1}}});
    at = n.op(Op::kAdd, {row, n.cast(n.reshape(n.input(1), {}), DType::kI64)});
  }
  const bool interleaved = n.integer("interleaved", 0) != 0;
  return restored(n, rotated(n, x, at_positions(n, 2, at), at_positions(n, 3, at), interleaved), heads.shape);
}

}  // namespace tilewright::onnx
