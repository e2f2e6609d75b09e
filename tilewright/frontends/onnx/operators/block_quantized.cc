// com.microsoft operators on weights of a few bits, packed in bytes, with a scale for each block of a row.
#include "tilewright/frontends/onnx/operators/quantization.h"

namespace tilewright::onnx {
namespace {

// [.., bytes] u8 -> [.., bytes * 8 / bits] u8, low bits first.
Maybe unpack(OnnxNode& n, const Maybe& packed, std::int64_t bits) {
  TW_ASSIGN(const ValueId bytes, Maybe(packed));
  if (bits == 8) return bytes;
  Shape shape = n.type_of(bytes).shape;
  const std::int64_t fields = 8 / bits;
  const auto axis = std::ssize(shape);
  std::vector<ValueId> parts;
  for (std::int64_t field = 0; field < fields; ++field) {
    const Maybe shifted = n.op(Op::kShiftRight, {bytes, n.number(DType::kU8, Dim(field * bits))});
    const Maybe kept = n.op(Op::kBitAnd, {shifted, n.number(DType::kU8, Dim((1 << bits) - 1))});
    TW_ASSIGN(const ValueId part, n.unsqueeze(kept, {axis}));
    parts.push_back(part);
  }
  shape.back() = shape.back() * Dim(fields);
  return n.reshape(n.op(Op::kConcat, parts, {{"axis", axis}}), std::move(shape));
}

struct BlockLayout {
  std::int64_t n, k, bits, block, blocks;
};

Result<BlockLayout> block_layout(const OnnxNode& node) {
  BlockLayout out{node.integer("N", 0), node.integer("K", 0), node.integer("bits", 4), node.integer("block_size", 0),
                  0};
  if (out.n < 1 || out.k < 1 || out.block < 16) {
    return fail(ErrorKind::kInvalidArgument, "N {}, K {}, block_size {}", out.n, out.k, out.block);
  }
  if (out.bits != 2 && out.bits != 4 && out.bits != 8) {
    return fail(ErrorKind::kUnsupported, "weights of {} bits", out.bits);
  }
  out.blocks = (out.k + out.block - 1) / out.block;
  return out;
}

// Zero points [n, blocks] in the dtype of the scales, or the middle of the range.
Maybe zero_points(OnnxNode& n, const BlockLayout& layout, DType dtype) {
  if (!n.has(3)) return n.cast(n.number(DType::kI32, Dim(1 << (layout.bits - 1))), dtype);
  TW_ASSIGN(const TensorType type, n.type(3));
  const Shape shape{Dim(layout.n), Dim(layout.blocks)};
  if (type.dtype != DType::kU8) return n.cast(n.reshape(n.input(3), shape), dtype);
  const std::int64_t bytes = (layout.blocks * layout.bits + 7) / 8;
  const Maybe all = unpack(n, n.reshape(n.input(3), {Dim(layout.n), Dim(bytes)}), layout.bits);
  return n.cast(n.slice(all, 1, Dim(0), Dim(layout.blocks)), dtype);
}

// [k, n]: the weight as floats
Maybe unpacked_weight(OnnxNode& n, const BlockLayout& layout, DType dtype) {
  const Dim rows(layout.n), blocks(layout.blocks);
  const std::int64_t bytes = layout.block * layout.bits / 8;
  const Maybe q = n.cast(unpack(n, n.reshape(n.input(1), {rows, blocks, Dim(bytes)}), layout.bits), dtype);
  Maybe zeros = zero_points(n, layout, dtype);
  if (n.has(3)) zeros = n.unsqueeze(zeros, {2});
  const Maybe scales = n.reshape(n.input(2), {rows, blocks, Dim(1)});
  const Maybe all = n.op(Op::kMul, {n.op(Op::kSub, {q, zeros}), scales});
  const Maybe flat = n.slice(n.reshape(all, {rows, Dim(layout.blocks * layout.block)}), 1, Dim(0), Dim(layout.k));
  return n.transpose(flat, {1, 0});
}

Maybe block_product(OnnxNode& n, const Maybe& a, const BlockLayout& layout) {
  const Dim rows(layout.n), blocks(layout.blocks);
  const Attrs attrs{{"block", layout.block}};
  const Maybe q = n.reshape(n.input(1), {rows, blocks, Dim(layout.block / 2)});
  const Maybe scales = n.reshape(n.input(2), {rows, blocks});
  if (!n.has(3)) return n.op(Op::kBlockMatMul, {a, q, scales}, attrs);
  TW_ASSIGN(const TensorType zeros, n.type(3));
  const Dim width(zeros.dtype == DType::kU8 ? (layout.blocks + 1) / 2 : layout.blocks);
  return n.op(Op::kBlockMatMul, {a, q, scales, n.reshape(n.input(3), {rows, width})}, attrs);
}

}  // namespace

// a b scales zero_points group_index bias
Maybe import_matmul_nbits(OnnxNode& n) {
  TW_ASSIGN(const BlockLayout layout, block_layout(n));
  TW_ASSIGN(const TensorType a, n.type(0));
  if (n.has(4)) return fail(ErrorKind::kUnsupported, "weights whose rows are reordered (g_idx)");
  if (a.shape.empty()) return fail(ErrorKind::kShapeMismatch, "a is a scalar");
  const Maybe x = a.shape.size() == 1 ? n.unsqueeze(n.input(0), {0}) : n.input(0);
  const bool native = layout.bits == 4 && layout.block <= 4096 && (layout.block & (layout.block - 1)) == 0;
  Maybe y = native ? block_product(n, x, layout) : n.op(Op::kMatMul, {x, unpacked_weight(n, layout, a.dtype)});
  if (a.shape.size() == 1) y = n.reshape(y, {Dim(layout.n)});
  return n.has(5) ? n.op(Op::kAdd, {y, n.input(5)}) : y;
}

// data indices scales zero_points: what is picked is dequantised, in blocks along quantize_axis
Maybe import_gather_block_quantized(OnnxNode& n) {
  TW_ASSIGN(const TensorType data, n.type(0));
  TW_ASSIGN(const TensorType indices, n.type(1));
  TW_ASSIGN(const TensorType scales, n.type(2));
  TW_ASSIGN(const std::int64_t gather_axis, n.axis(n.integer("gather_axis", 0), data.shape.size()));
  TW_ASSIGN(const std::int64_t axis, n.axis(n.integer("quantize_axis", 1), data.shape.size()));
  const std::int64_t bits = data.dtype == DType::kU8 ? n.integer("bits", 4) : 8;
  if (bits != 2 && bits != 4 && bits != 8) return fail(ErrorKind::kUnsupported, "data of {} bits", bits);
  const auto last = std::ssize(data.shape) - 1;
  if (gather_axis == axis || gather_axis == last) {
    return fail(ErrorKind::kUnsupported, "gather_axis {} of packed data with quantize_axis {}", gather_axis, axis);
  }
  const auto picked = [&](std::size_t input) {
    return n.op(Op::kGather, {n.input(input), n.input(1)}, {{"axis", gather_axis}});
  };
  TW_ASSIGN(const ValueId scale, picked(2));
  Maybe zeros = n.number(data.dtype, Dim(data.dtype == DType::kU8 ? 1 << (bits - 1) : 0));
  zeros = n.has(3) ? unpack(n, picked(3), bits) : n.expand(zeros, n.type_of(scale).shape);
  const std::int64_t moved = gather_axis < axis ? std::ssize(indices.shape) - 1 : 0;
  const std::int64_t moved_last = last + std::ssize(indices.shape) - 1;
  if (n.has(3)) zeros = n.slice(zeros, moved_last, Dim(0), scales.shape.back());
  return n.op(Op::kDequantizeLinear, {unpack(n, picked(0), bits), scale, zeros},
              {{"axis", axis + moved}, {"block", n.integer("block_size", 128)}});
}

}  // namespace tilewright::onnx
