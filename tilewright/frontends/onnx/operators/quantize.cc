// QuantizeLinear, DequantizeLinear and DynamicQuantizeLinear: per tensor, per axis and in blocks.
#include <algorithm>
#include <array>

#include "tilewright/frontends/onnx/operators/quantization.h"
#include "tilewright/frontends/onnx/types.h"

namespace tilewright::onnx {
namespace {

// Of a row, it is asked where it is not known: one element stands for all of a tensor, several for an axis of it.
Result<bool> is_one_element(OnnxNode& n, const Shape& shape) {
  if (shape.size() == 1 && !shape[0].constant()) return n.decide(Dim::make(DimOp::kEq, std::array{shape[0], Dim(1)}));
  return std::ranges::all_of(shape, [](Dim dim) { return dim.constant() == 1; });
}

struct Granularity {
  std::int64_t axis = 0, block = 0;
};

// Where scales stand. One element stands for all of x, whatever the axis is.
Result<Granularity> granularity(OnnxNode& n, const TensorType& x, const TensorType& scale) {
  Granularity out{.block = n.integer("block_size", 0)};
  if (out.block == 0) {
    TW_ASSIGN(const bool is_one, is_one_element(n, scale.shape));
    if (is_one) return out;
  }
  TW_ASSIGN(out.axis, n.axis(n.integer("axis", 1), x.shape.size()));
  return out;
}

Attrs attributes_of(const Granularity& g) {
  return {{"axis", g.axis}, {"block", g.block}};
}

}  // namespace

Maybe as_parameter(OnnxNode& n, std::size_t input) {
  TW_ASSIGN(const TensorType type, n.type(input));
  TW_ASSIGN(const bool is_one, is_one_element(n, type.shape));
  return is_one ? n.reshape(n.input(input), {}) : n.input(input);
}

Maybe dequantized(OnnxNode& n, std::size_t x, std::size_t scale, std::size_t zero, std::int64_t axis) {
  const Attrs attrs{{"axis", axis}};
  if (!n.has(zero)) return n.op(Op::kDequantizeLinear, {n.input(x), as_parameter(n, scale)}, attrs);
  return n.op(Op::kDequantizeLinear, {n.input(x), as_parameter(n, scale), as_parameter(n, zero)}, attrs);
}

Maybe quantized(OnnxNode& n, const Maybe& value, std::size_t scale, std::size_t zero, DType missing) {
  if (!n.has(zero)) return n.op(Op::kQuantizeLinear, {value, as_parameter(n, scale)}, {{"dtype", missing}});
  TW_ASSIGN(const TensorType type, n.type(zero));
  return n.op(Op::kQuantizeLinear, {value, as_parameter(n, scale), as_parameter(n, zero)}, {{"dtype", type.dtype}});
}

Maybe requantized(OnnxNode& n, const Maybe& value, const Maybe& zero) {
  TW_ASSIGN(const ValueId point, Maybe(zero));
  const DType dtype = n.type_of(point).dtype;
  return n.op(Op::kQuantizeLinear, {value, n.number_like(value, 1.0), point}, {{"dtype", dtype}});
}

// x / scale + zero, ties to even. The result has the dtype of the zero point, of output_dtype, or u8.
Maybe import_quantize_linear(OnnxNode& n) {
  TW_ASSIGN(const TensorType x, n.type(0));
  TW_ASSIGN(const TensorType scale, n.type(1));
  TW_ASSIGN(const Granularity g, granularity(n, x, scale));
  Attrs attrs = attributes_of(g);
  ElemType elem{DType::kU8};
  if (n.has(2)) {
    TW_ASSIGN(elem, n.elem_of_input(2));
  } else if (n.integer("output_dtype", 0) != 0) {
    TW_ASSIGN(elem, n.elem("output_dtype"));
  }
  attrs.set("dtype", elem.dtype);
  DType precision = is_float(x.dtype) ? x.dtype : scale.dtype;
  if (n.integer("precision", 0) != 0) {
    TW_ASSIGN(precision, n.dtype("precision"));
  }
  const Maybe value = n.cast(n.input(0), precision);
  const Maybe divisor = n.cast(g.block == 0 ? as_parameter(n, 1) : n.input(1), precision);
  if (elem.carried != Carried::kNone) {
    CarriedQuantization q{elem, value, divisor, std::nullopt, g.axis, g.block};
    if (n.has(2)) q.zero = g.block == 0 ? as_parameter(n, 2) : n.input(2);
    return quantize_carried(n, q);
  }
  if (!n.has(2)) return n.op(Op::kQuantizeLinear, {value, divisor}, std::move(attrs));
  return n.op(Op::kQuantizeLinear, {value, divisor, g.block == 0 ? as_parameter(n, 2) : n.input(2)}, std::move(attrs));
}

Maybe import_dequantize_linear(OnnxNode& n) {
  TW_ASSIGN(const TensorType x, n.type(0));
  TW_ASSIGN(const TensorType scale, n.type(1));
  TW_ASSIGN(const Granularity g, granularity(n, x, scale));
  DType dtype = scale.dtype;
  if (n.integer("output_dtype", 0) != 0) {
    TW_ASSIGN(dtype, n.dtype("output_dtype"));
  }
  TW_ASSIGN(const ElemType elem, n.elem_of_input(0));
  if (elem.carried != Carried::kNone && is_float(elem.dtype)) {
    CarriedQuantization q{elem,         n.input(0), g.block == 0 ? as_parameter(n, 1) : n.input(1),
                          std::nullopt, g.axis,     g.block};
    if (n.has(2)) q.zero = g.block == 0 ? as_parameter(n, 2) : n.input(2);
    return n.cast(dequantize_carried(n, q), dtype);
  }
  if (g.block == 0) return n.cast(dequantized(n, 0, 1, 2, g.axis), dtype);
  if (!n.has(2)) return n.cast(n.op(Op::kDequantizeLinear, {n.input(0), n.input(1)}, attributes_of(g)), dtype);
  return n.cast(n.op(Op::kDequantizeLinear, {n.input(0), n.input(1), n.input(2)}, attributes_of(g)), dtype);
}

// The range of x, widened to hold 0, over 255 steps. A range of nothing has the scale 1, as in onnxruntime.
Result<DynamicallyQuantized> quantize_dynamically(OnnxNode& n, const Maybe& x) {
  TW_ASSIGN(const ValueId value, Maybe(x));
  Ints axes;
  for (std::size_t axis = 0; axis < n.type_of(value).shape.size(); ++axis) {
    axes.push_back(static_cast<std::int64_t>(axis));
  }
  const Maybe high = n.op(Op::kMax, {n.reduce(Op::kReduceMax, value, axes, false), n.number_like(x, 0.0)});
  const Maybe low = n.op(Op::kMin, {n.reduce(Op::kReduceMin, value, axes, false), n.number_like(x, 0.0)});
  const Maybe range = n.op(Op::kSub, {high, low});
  const Maybe steps = n.op(Op::kDiv, {range, n.number_like(x, 255.0)});
  const Maybe flat = n.op(Op::kEq, {high, low});
  TW_ASSIGN(const ValueId scale, n.op(Op::kSelect, {flat, n.number_like(x, 1.0), steps}));
  const Maybe offset = n.op(Op::kDiv, {n.op(Op::kNeg, {low}), scale});
  TW_ASSIGN(const ValueId zero, n.op(Op::kQuantizeLinear, {offset, n.number_like(x, 1.0)}, {{"dtype", DType::kU8}}));
  TW_ASSIGN(const ValueId y, n.op(Op::kQuantizeLinear, {value, scale, zero}, {{"dtype", DType::kU8}}));
  return DynamicallyQuantized{y, scale, zero};
}

Result<Results> import_dynamic_quantize_linear(OnnxNode& n) {
  TW_ASSIGN(const DynamicallyQuantized q, quantize_dynamically(n, n.input(0)));
  return n.results({q.y, q.scale, q.zero});
}

}  // namespace tilewright::onnx
