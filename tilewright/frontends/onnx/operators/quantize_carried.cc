// QuantizeLinear and DequantizeLinear of element types that a dtype only carries, where the graph's own operators of
// those names do not take the carrier: u16, and floats of few bits. Small integers use the graph's with their range.
#include "tilewright/frontends/onnx/carried_ops.h"
#include "tilewright/frontends/onnx/operators/quantization.h"

namespace tilewright::onnx {
namespace {

// A scale or zero point so that it broadcasts to `x`: as it is, along the axis, or each element `block` times.
Maybe spread(OnnxNode& n, const Maybe& parameter, const Shape& x, std::int64_t axis, std::int64_t block) {
  TW_ASSIGN(const ValueId value, Maybe(parameter));
  const Shape given = n.type_of(value).shape;
  const auto place = static_cast<std::size_t>(axis);
  if (given.empty() || (block == 0 && given.size() > 1)) return value;
  if (block == 0) {
    Shape shape(x.size(), Dim(1));
    shape[place] = given[0];
    return n.reshape(value, std::move(shape));
  }
  if (given.size() != x.size()) {
    return fail(ErrorKind::kShapeMismatch, "scales of blocks have {} axes, x has {}", given.size(), x.size());
  }
  Shape split = given, repeated = given, merged = given;
  split.insert(split.begin() + axis + 1, Dim(1));
  repeated.insert(repeated.begin() + axis + 1, Dim(block));
  merged[place] = given[place] * block;
  return n.slice(n.reshape(n.expand(n.reshape(value, split), repeated), merged), axis, 0, x[place]);
}

}  // namespace

Maybe quantize_carried(OnnxNode& n, const CarriedQuantization& q) {
  const CarriedRow& row = row_of(q.elem.carried);
  TW_ASSIGN(const ValueId x, Maybe(q.x));
  const Shape shape = n.type_of(x).shape;
  if (row.kind != 'f' && row.bits < 8) {
    const std::int64_t span = std::int64_t{1} << row.bits;
    const std::int64_t low = row.kind == 'i' ? -span / 2 : 0;
    Attrs attrs{{"dtype", row.dtype}, {"axis", q.axis}, {"block", q.block}, {"low", low}, {"high", low + span - 1}};
    TW_ASSIGN(const ValueId y, q.zero ? n.op(Op::kQuantizeLinear, {x, q.scale, *q.zero}, std::move(attrs))
                                      : n.op(Op::kQuantizeLinear, {x, q.scale}, std::move(attrs)));
    n.scope().set_carried(y, q.elem.carried);
    return y;
  }
  const Maybe ratio = n.cast(n.op(Op::kDiv, {x, spread(n, q.scale, shape, q.axis, q.block)}), DType::kF32);
  if (row.kind == 'f') {
    return n.convert(ratio, q.elem, {.saturate = n.integer("saturate", 1) != 0});
  }
  if (q.elem.carried != Carried::kU16) return fail(ErrorKind::kUnsupported, "quantised elements of {}", row.text);
  Maybe y = n.op(Op::kRound, {ratio});
  if (q.zero) y = n.op(Op::kAdd, {y, n.cast(spread(n, *q.zero, shape, q.axis, q.block), DType::kF32)});
  const Maybe kept = n.op(Op::kMin, {n.op(Op::kMax, {y, n.number_like(y, 0)}), n.number_like(y, 65535)});
  return n.convert(kept, q.elem);
}

Maybe dequantize_carried(OnnxNode& n, const CarriedQuantization& q) {
  TW_ASSIGN(const ValueId x, Maybe(q.x));
  const Shape shape = n.type_of(x).shape;
  Maybe y = n.convert(x, {DType::kF32});
  if (q.zero) {
    TW_ASSIGN(const ValueId zero, Maybe(*q.zero));
    y = n.op(Op::kSub, {y, spread(n, n.convert(zero, {DType::kF32}), shape, q.axis, q.block)});
  }
  return n.op(Op::kMul, {y, n.cast(spread(n, q.scale, shape, q.axis, q.block), DType::kF32)});
}

}  // namespace tilewright::onnx
