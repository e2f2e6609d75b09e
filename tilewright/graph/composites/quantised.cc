// Quantised numbers: an integer q stands for (q - zero) * scale. Integer products are spelled out in i32, where they
// wrap as the products of the tile instructions do; a convolution of bytes is such a product of its window's columns,
// or one of i32; a 4-bit weight is unpacked and multiplied as floats.
#include "tilewright/graph/composites/definition.h"

namespace tilewright {
namespace {

struct Limits {
  std::int64_t low, high;
};

Limits limits_of(DType dtype) {
  const std::int64_t values = std::int64_t{1} << (8 * byte_size(dtype));
  const bool is_unsigned = kind(dtype) == 'u';
  return is_unsigned ? Limits{0, values - 1} : Limits{-values / 2, values / 2 - 1};
}

// `blocks` [.., B, ..] with every entry repeated `block` times along axis, cut to `size`.
ValueId repeat_blocks(Definition& d, ValueId blocks, std::size_t axis, std::int64_t block, Dim size) {
  const Shape shape = d.shape(blocks);
  Shape single = shape;
  single.insert(single.begin() + static_cast<std::ptrdiff_t>(axis) + 1, Dim(1));
  Shape expanded = single;
  expanded[axis + 1] = Dim(block);
  Shape merged = shape;
  merged[axis] = shape[axis] * Dim(block);
  const ValueId repeated = d.op(Op::kExpand, {d.reshape(blocks, single)}, {{"shape", expanded}});
  const ValueId whole = d.reshape(repeated, merged);
  if (merged[axis] == size) return whole;
  Shape stop = merged;
  stop[axis] = size;
  return d.op(Op::kSlice, {whole},
              {{"start", Dims(shape.size(), Dim(0))}, {"stop", stop}, {"step", Ints(shape.size(), 1)}});
}

// A scale or zero point so that it broadcasts to x: one element, one per position of the axis, or one per block.
ValueId spread(Definition& d, ValueId parameter, ValueId x) {
  const std::int64_t block = d.attrs().integer("block");
  const auto axis = static_cast<std::size_t>(d.attrs().integer("axis"));
  const Shape shape = d.shape(parameter);
  if (block > 0) return repeat_blocks(d, parameter, axis, block, d.shape(x)[axis]);
  if (shape.empty()) return parameter;
  if (shape[0].constant() == 1) return d.reshape(parameter, {});
  Shape column(d.shape(x).size() - axis, Dim(1));
  column[0] = shape[0];
  return d.reshape(parameter, column);
}

ValueId integer(Definition& d, std::size_t input) {
  return d.cast(d.raw(input), DType::kI32);
}

// Input `input` minus the zero point that is input `input` + 2, if there is one.
ValueId centred(Definition& d, std::size_t input) {
  const ValueId value = integer(d, input);
  return d.num_inputs() > input + 2 ? d.sub(value, integer(d, input + 2)) : value;
}

constexpr std::int64_t kMostTaps = 64;

// The zero point of w as [groups, outputs of a group, 1], or as it is where it has one element.
ValueId weight_zero(Definition& d, Dim groups) {
  const ValueId zero = d.raw(3);
  if (d.shape(zero).empty() || d.shape(zero)[0].constant() == 1) return d.reshape(zero, {});
  return d.reshape(zero, {groups, floordiv(d.shape(zero)[0], groups), Dim(1)});
}

// The conv of i32 values that its meaning spells out.
ValueId conv_in_i32(Definition& d) {
  ValueId x = integer(d, 0), w = integer(d, 1);
  if (d.num_inputs() > 2) x = d.sub(x, d.reshape(integer(d, 2), {}));
  if (d.num_inputs() > 3) {
    const ValueId zero = integer(d, 3);
    Shape shape(d.shape(w).size(), Dim(1));
    if (!d.shape(zero).empty()) shape[0] = d.shape(zero)[0];
    w = d.sub(w, d.reshape(zero, shape));
  }
  return d.op(Op::kConv, {x, w}, d.attrs());
}

// Whether the taps of the window are few and known, and a group has several channels: then it is a product of bytes.
bool integer_conv_by_products(Definition& d) {
  const Shape w = d.shape(d.raw(1));
  std::int64_t taps = 1;
  for (std::size_t i = 2; i < w.size(); ++i) {
    const std::optional<std::int64_t> size = w[i].constant();
    if (!size || *size < 1 || *size > kMostTaps) return false;
    taps *= *size;
  }
  return taps <= kMostTaps && w[1].constant() != 1;
}

// x [N, C, spatial..] with its pads, which hold the zero point.
ValueId padded(Definition& d) {
  const Dims &low = d.attrs().dims("low"), &high = d.attrs().dims("high");
  Dims before{Dim(0), Dim(0)}, after = before;
  bool any = false;
  for (std::size_t i = 0; i < low.size(); ++i) {
    before.push_back(low[i]);
    after.push_back(high[i]);
    any = any || low[i].constant() != 0 || high[i].constant() != 0;
  }
  if (!any) return d.raw(0);
  std::vector<ValueId> inputs{d.raw(0)};
  if (d.num_inputs() > 2) inputs.push_back(d.reshape(d.raw(2), {}));
  return d.op(Op::kPad, inputs, {{"low", before}, {"high", after}});
}

// For each tap of the window the elements that it meets, side by side: [N, C, taps, positions].
ValueId tap_columns(Definition& d, ValueId x, const Shape& out) {
  const Shape from = d.shape(x), w = d.shape(d.raw(1));
  const Ints &stride = d.attrs().ints("stride"), &dilation = d.attrs().ints("dilation");
  Dim positions(1);
  for (const Dim size : out) positions = positions * size;
  std::vector<ValueId> taps;
  Ints tap(out.size(), 0);
  for (bool more = true; more;) {
    Dims start{Dim(0), Dim(0)}, stop{from[0], from[1]};
    Ints step{1, 1};
    for (std::size_t i = 0; i < tap.size(); ++i) {
      start.push_back(Dim(tap[i] * dilation[i]));
      stop.push_back(start.back() + (out[i] - Dim(1)) * Dim(stride[i]) + Dim(1));
      step.push_back(stride[i]);
    }
    const ValueId met = d.op(Op::kSlice, {x}, {{"start", start}, {"stop", stop}, {"step", step}});
    taps.push_back(d.reshape(met, {from[0], from[1], Dim(1), positions}));
    more = false;
    for (std::size_t i = tap.size(); i-- > 0 && !more;) {
      more = ++tap[i] < *w[i + 2].constant();
      if (!more) tap[i] = 0;
    }
  }
  return taps.size() == 1 ? taps[0] : d.op(Op::kConcat, taps, {{"axis", 2}});
}

ValueId conv_as_product(Definition& d) {
  const ValueId x = padded(d), w = d.raw(1);
  const Shape from = d.shape(x), window = d.shape(w);
  const Dim groups(d.attrs().integer("groups"));
  Shape out, sizes{from[0], window[0]};
  Dim taps(1), positions(1);
  for (std::size_t i = 2; i < window.size(); ++i) {
    const Dim reach = (window[i] - Dim(1)) * Dim(d.attrs().ints("dilation")[i - 2]) + Dim(1);
    out.push_back(floordiv(from[i] - reach, Dim(d.attrs().ints("stride")[i - 2])) + Dim(1));
    taps = taps * window[i];
    positions = positions * out.back();
  }
  sizes.insert(sizes.end(), out.begin(), out.end());
  const Dim depth = window[1] * taps, outputs = floordiv(window[0], groups);
  const ValueId columns = d.reshape(tap_columns(d, x, out), {from[0], groups, depth, positions});
  std::vector<ValueId> inputs{d.reshape(w, {groups, outputs, depth}), columns};
  const bool zeros = d.num_inputs() > 2;
  if (zeros) {
    const ValueId none = d.number(w, Dim(0));
    inputs.push_back(d.num_inputs() > 3 ? weight_zero(d, groups) : none);
    inputs.push_back(d.reshape(d.raw(2), {}));
  }
  return d.reshape(d.op(Op::kIntegerMatMul, inputs), sizes);
}

// u8[.., bytes] -> u8[.., 2 * bytes]: low halves are the even elements.
ValueId unpack_halves(Definition& d, ValueId bytes) {
  Shape pairs = d.shape(bytes);
  Shape flat = pairs;
  flat.back() = flat.back() * Dim(2);
  pairs.push_back(Dim(1));
  const ValueId low = d.op(Op::kBitAnd, {bytes, d.number(bytes, Dim(15))});
  const ValueId high = d.op(Op::kShiftRight, {bytes, d.number(bytes, Dim(4))});
  const ValueId joined = d.op(Op::kConcat, {d.reshape(low, pairs), d.reshape(high, pairs)},
                              {{"axis", static_cast<std::int64_t>(pairs.size()) - 1}});
  return d.reshape(joined, flat);
}

ValueId cut(Definition& d, ValueId value, std::size_t axis, Dim size) {
  Dims stop = d.shape(value);
  if (stop[axis] == size) return value;
  stop[axis] = size;
  return d.op(Op::kSlice, {value},
              {{"start", Dims(stop.size(), Dim(0))}, {"stop", stop}, {"step", Ints(stop.size(), 1)}});
}

// Zero points [n, blocks] of a 4-bit weight in the dtype of `like`.
ValueId block_zeros(Definition& d, ValueId like, Dim blocks) {
  if (d.num_inputs() < 4) return d.number(like, Dim(8));
  const ValueId zeros = d.raw(3);
  if (d.dtype(zeros) != DType::kU8) return d.cast(zeros, d.dtype(like));
  return d.cast(cut(d, unpack_halves(d, zeros), 1, blocks), d.dtype(like));
}

}  // namespace

std::vector<ValueId> define_quantize_linear(Definition& d) {
  const ValueId x = d.wide(0);
  const DType target = d.attrs().dtype("dtype");
  Limits limits{d.attrs().integer("low"), d.attrs().integer("high")};
  if (limits.low == 0 && limits.high == 0) limits = limits_of(target);
  ValueId value = d.op(Op::kRound, {d.div(x, spread(d, d.wide(1), x))});
  if (d.num_inputs() > 2) value = d.add(value, d.cast(spread(d, d.raw(2), x), d.dtype(value)));
  value = d.op(Op::kMax, {value, d.number(value, Dim(limits.low))});
  value = d.op(Op::kMin, {value, d.number(value, Dim(limits.high))});
  return {d.cast(value, target)};
}

std::vector<ValueId> define_dequantize_linear(Definition& d) {
  const ValueId x = d.raw(0), scale = d.wide(1);
  ValueId value = d.cast(x, DType::kI32);
  if (d.num_inputs() > 2) value = d.sub(value, d.cast(spread(d, d.raw(2), x), DType::kI32));
  const ValueId product = d.mul(d.cast(value, d.dtype(scale)), spread(d, scale, x));
  return {d.cast(product, d.dtype(d.raw(1)))};
}

std::vector<ValueId> define_integer_matmul(Definition& d) {
  return {d.op(Op::kMatMul, {centred(d, 0), centred(d, 1)})};
}

std::vector<ValueId> define_integer_conv(Definition& d) {
  return {integer_conv_by_products(d) ? conv_as_product(d) : conv_in_i32(d)};
}

ValueId define_float_zeros(Definition& d) {
  return block_zeros(d, d.raw(0), d.shape(d.raw(1))[1]);
}

std::vector<ValueId> define_block_matmul(Definition& d) {
  const ValueId a = d.wide(0), q = d.raw(1), scales = d.wide(2);
  const Dim n = d.shape(q)[0], blocks = d.shape(q)[1], block(d.attrs().integer("block"));
  const ValueId weight = d.cast(unpack_halves(d, q), d.dtype(a));
  ValueId zeros = block_zeros(d, a, blocks);
  if (!d.shape(zeros).empty()) zeros = d.reshape(zeros, {n, blocks, Dim(1)});
  const ValueId scaled = d.mul(d.sub(weight, zeros), d.reshape(scales, {n, blocks, Dim(1)}));
  const ValueId rows = cut(d, d.reshape(scaled, {n, blocks * block}), 1, d.shape(a).back());
  return d.narrow(d.op(Op::kMatMul, {a, d.op(Op::kTranspose, {rows}, {{"perm", Ints{1, 0}}})}));
}

}  // namespace tilewright
