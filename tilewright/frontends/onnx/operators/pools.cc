// Pools: the largest element, the mean or the norm of windows or of whole planes. Sums over windows are convolutions of
// each plane with ones, which know strides, dilations and pads.
#include "tilewright/frontends/onnx/operators.h"
#include "tilewright/frontends/onnx/operators/windows.h"

namespace tilewright::onnx {
namespace {

struct Pool {
  TensorType x;
  Ints size;
  Windows windows;
};

Result<Pool> read_pool(OnnxNode& n) {
  Pool out;
  TW_ASSIGN(out.x, n.type(0));
  TW_ASSIGN(out.size, read_kernel_shape(n, out.x.shape));
  for (const std::int64_t entry : out.size) {
    if (entry < 1) return fail(ErrorKind::kInvalidArgument, "a window of {}", entry);
  }
  const Rounding rounding = n.integer("ceil_mode", 0) != 0 ? Rounding::kCeil : Rounding::kTowardsZero;
  TW_ASSIGN(out.windows, read_windows(n, out.x.shape, Dims(out.size.begin(), out.size.end()), rounding));
  return out;
}

Ints spatial_axes(std::size_t rank) {
  Ints axes;
  for (std::size_t axis = 2; axis < rank; ++axis) axes.push_back(static_cast<std::int64_t>(axis));
  return axes;
}

Dim product(std::span<const Dim> sizes) {
  Dim out = 1;
  for (const Dim size : sizes) out = out * size;
  return out;
}

// Sums over the windows of a float [N, C, spatial..].
Maybe window_sums(OnnxNode& n, const Maybe& x, const Pool& pool) {
  TW_ASSIGN(const ValueId value, Maybe(x));
  const TensorType type = n.type_of(value);
  Shape planes(type.shape);
  planes[0] = type.shape[0] * type.shape[1];
  planes[1] = 1;
  Shape window{Dim(1), Dim(1)};
  window.insert(window.end(), pool.size.begin(), pool.size.end());
  const Maybe ones = n.expand(n.number_like(value, 1), std::move(window));
  const Maybe sums = n.op(Op::kConv, {n.reshape(value, std::move(planes)), ones},
                          {{"stride", pool.windows.stride},
                           {"low", pool.windows.low},
                           {"high", pool.windows.high},
                           {"dilation", pool.windows.dilation}});
  TW_ASSIGN(const ValueId result, Maybe(sums));
  Shape out = n.type_of(result).shape;
  out[0] = type.shape[0];
  out[1] = type.shape[1];
  return n.reshape(result, std::move(out));
}

Maybe padded(OnnxNode& n, const Maybe& x, const Dims& low, const Dims& high) {
  Dims all_low{Dim(0), Dim(0)};
  Dims all_high{Dim(0), Dim(0)};
  all_low.insert(all_low.end(), low.begin(), low.end());
  all_high.insert(all_high.end(), high.begin(), high.end());
  return n.op(Op::kPad, {x, n.number_like(x, 0)}, {{"low", std::move(all_low)}, {"high", std::move(all_high)}});
}

// Positions of max_pool, which count within a plane, as positions in the whole tensor; by columns if `by_columns`.
Maybe global_positions(OnnxNode& n, const Maybe& local, const Shape& x, bool by_columns) {
  TW_ASSIGN(const ValueId value, Maybe(local));
  const Shape shape = n.type_of(value).shape;
  Maybe within = value;
  if (by_columns) {
    Maybe rest = value;
    Dim stride = product(std::span(x).subspan(2));
    within = n.number(DType::kI64, 0);
    for (std::size_t axis = x.size(); axis-- > 2;) {
      const Maybe size = n.number(DType::kI64, x[axis]);
      stride = product(std::span(x).subspan(2, axis - 2));
      within = n.op(Op::kAdd, {within, n.op(Op::kMul, {n.op(Op::kMod, {rest, size}), n.number(DType::kI64, stride)})});
      rest = n.op(Op::kFloorDiv, {rest, size});
    }
  }
  Maybe plane = n.op(Op::kIota, {}, {{"dtype", DType::kI64}, {"shape", Shape{x[0] * x[1]}}, {"axis", std::int64_t{0}}});
  Shape column(shape.size(), Dim(1));
  column[0] = x[0];
  column[1] = x[1];
  plane =
      n.op(Op::kMul, {n.reshape(plane, std::move(column)), n.number(DType::kI64, product(std::span(x).subspan(2)))});
  return n.op(Op::kAdd, {within, plane});
}

Maybe power(OnnxNode& n, const Maybe& x, double exponent) {
  if (exponent == 1.0) return x;
  if (exponent == 2.0) return n.op(Op::kMul, {x, x});
  if (exponent == 0.5) return n.op(Op::kSqrt, {x});
  return n.op(Op::kPow, {x, n.number_like(x, exponent)});
}

}  // namespace

Result<Results> import_max_pool(OnnxNode& n) {
  TW_ASSIGN(const Pool pool, read_pool(n));
  const DType dtype = pool.x.dtype;
  const DType wide = is_float(dtype) ? window_dtype(dtype) : dtype == DType::kI64 ? dtype : DType::kI32;
  TW_ASSIGN(const ValueId x, n.cast(n.input(0), wide));
  TW_ASSIGN(const std::vector<ValueId> found, n.ops(Op::kMaxPool, {x},
                                                    {{"window", pool.size},
                                                     {"stride", pool.windows.stride},
                                                     {"low", pool.windows.low},
                                                     {"high", pool.windows.high},
                                                     {"dilation", pool.windows.dilation}}));
  const Maybe values = n.cast(found[0], dtype);
  if (!n.wants(1)) return n.results({values});
  return n.results({values, global_positions(n, found[1], pool.x.shape, n.integer("storage_order", 0) != 0)});
}

// Pads count if asked, those beyond them that rounding up adds never do.
Maybe import_average_pool(OnnxNode& n) {
  TW_ASSIGN(Pool pool, read_pool(n));
  Maybe x = n.cast(n.input(0), window_dtype(pool.x.dtype));
  const bool count_pads = n.integer("count_include_pad", 0) != 0;
  const bool is_plain = pool.windows.dilation == Ints(pool.size.size(), 1);
  const bool rounds_up = n.integer("ceil_mode", 0) != 0;
  if (count_pads && (rounds_up || !is_plain)) {
    const std::size_t count = pool.size.size();
    TW_ASSIGN(const Windows given,
              read_windows(n, pool.x.shape, Dims(pool.size.begin(), pool.size.end()), Rounding::kFloor));
    for (std::size_t i = 0; i < count; ++i) {
      pool.windows.high[i] = pool.windows.high[i] - given.high[i];
      pool.windows.low[i] = 0;
    }
    x = padded(n, x, given.low, given.high);
  }
  if (is_plain) {
    return n.cast(n.op(Op::kAvgPool, {x},
                       {{"window", pool.size},
                        {"stride", pool.windows.stride},
                        {"low", pool.windows.low},
                        {"high", pool.windows.high},
                        {"count_pads", count_pads && !rounds_up}}),
                  pool.x.dtype);
  }
  TW_ASSIGN(const ValueId value, Maybe(x));
  Shape one_plane = n.type_of(value).shape;
  one_plane[0] = 1;
  one_plane[1] = 1;
  const Maybe ones = n.expand(n.number_like(value, 1), std::move(one_plane));
  return n.cast(n.op(Op::kDiv, {window_sums(n, value, pool), window_sums(n, ones, pool)}), pool.x.dtype);
}

Maybe import_lp_pool(OnnxNode& n) {
  TW_ASSIGN(const Pool pool, read_pool(n));
  const double p = n.version() < 2 ? n.real("p", 2.0) : static_cast<double>(n.integer("p", 2));
  const Maybe x = n.op(Op::kAbs, {n.cast(n.input(0), window_dtype(pool.x.dtype))});
  return n.cast(power(n, window_sums(n, power(n, x, p), pool), 1.0 / p), pool.x.dtype);
}

Maybe import_global_pool(OnnxNode& n) {
  TW_ASSIGN(const TensorType type, n.type(0));
  const Ints axes = spatial_axes(type.shape.size());
  if (n.op_type() == "GlobalMaxPool") return n.reduce(Op::kReduceMax, n.input(0), axes, true);
  if (n.op_type() == "GlobalAveragePool") return n.reduce(Op::kReduceMean, n.input(0), axes, true);
  const double p = n.version() < 2 ? n.real("p", 2.0) : static_cast<double>(n.integer("p", 2));
  const Maybe x = n.op(Op::kAbs, {n.cast(n.input(0), window_dtype(type.dtype))});
  return n.cast(power(n, n.reduce(Op::kReduceSum, power(n, x, p), axes, true), 1.0 / p), type.dtype);
}

// Positions are those in the result without pads; output_shape adds zeros behind it.
Maybe import_max_unpool(OnnxNode& n) {
  TW_ASSIGN(const TensorType type, n.type(0));
  const Shape& x = type.shape;
  TW_ASSIGN(const Ints size, read_kernel_shape(n, x));
  TW_ASSIGN(const Ints stride, read_spatial(n, "strides", size.size(), 1));
  TW_ASSIGN(const Ints pads, read_spatial(n, "pads", 2 * size.size(), 0));
  Shape out{x[0], x[1]};
  for (std::size_t i = 0; i < size.size(); ++i) {
    out.push_back((x[i + 2] - 1) * stride[i] + size[i] - pads[i] - pads[size.size() + i]);
  }
  const Dim count = product(x);
  const Maybe zeros = n.expand(n.number_like(n.input(0), 0), {product(out)});
  const Maybe spread =
      n.op(Op::kScatterElements, {zeros, n.reshape(n.input(1), {count}), n.reshape(n.input(0), {count})},
           {{"axis", std::int64_t{0}}});
  const Maybe result = n.reshape(spread, out);
  if (!n.has(2)) return result;
  TW_ASSIGN(const Dims wanted, n.integers(2));
  if (wanted.size() != out.size()) {
    return fail(ErrorKind::kInvalidArgument, "output_shape has {} entries for rank {}", wanted.size(), out.size());
  }
  Dims high;
  for (std::size_t i = 2; i < out.size(); ++i) high.push_back(wanted[i] - out[i]);
  return padded(n, result, Dims(high.size(), Dim(0)), high);
}

}  // namespace tilewright::onnx
