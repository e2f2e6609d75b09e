// Matrix products, convolutions and pooling.
#include "tilewright/graph/infer/families.h"
#include "tilewright/graph/infer/rules.h"

namespace tilewright {
namespace {

// Geometry shared by convolutions and pools: one entry per spatial axis, which are the axes from 2 on.
struct Window {
  Dims size;
  const Ints& stride;
  const Dims& low;
  const Dims& high;
  const Ints& dilation;
};

Status check_window(const TensorType& x, const Window& window) {
  const std::size_t spatial = window.size.size();
  TW_TRY(check_rank(x, spatial + 2, "x"));
  if (spatial == 0) return fail(ErrorKind::kShapeMismatch, "x has no spatial axis: {}", x);
  TW_TRY(check_count("stride", window.stride.size(), spatial));
  TW_TRY(check_count("low", window.low.size(), spatial));
  TW_TRY(check_count("high", window.high.size(), spatial));
  TW_TRY(check_count("dilation", window.dilation.size(), spatial));
  for (std::size_t i = 0; i < spatial; ++i) {
    if (window.stride[i] < 1) return fail(ErrorKind::kInvalidArgument, "stride {} is below 1", window.stride[i]);
    if (window.dilation[i] < 1) return fail(ErrorKind::kInvalidArgument, "dilation {} is below 1", window.dilation[i]);
  }
  TW_TRY(check_integers(window.low));
  return check_integers(window.high);
}

// Sizes of the spatial axes after the window has slid over x.
Result<Shape> slide(const TensorType& x, const Window& window, const Facts& facts) {
  Shape out;
  for (std::size_t i = 0; i < window.size.size(); ++i) {
    const Dim reach = (window.size[i] - 1) * window.dilation[i] + 1;
    const Dim room = x.shape[i + 2] + window.low[i] + window.high[i] - reach;
    if (facts.less(room, 0) == Answer::kYes) {
      return fail(ErrorKind::kShapeMismatch, "a window of {} exceeds axis {} of {} with pads {} and {}", reach, i + 2,
                  x, window.low[i], window.high[i]);
    }
    out.push_back(floordiv(room, window.stride[i]) + 1);
  }
  return out;
}

Status check_groups(std::int64_t groups) {
  if (groups >= 1) return {};
  return fail(ErrorKind::kInvalidArgument, "groups {} is below 1", groups);
}

Status check_bias(const InferInput& in, Dim channels) {
  if (in.types.size() < 3) return {};
  const TensorType& bias = in.types[2];
  TW_TRY(check_rank(bias, 1, "the bias"));
  if (!provably_different(bias.shape[0], channels, in.facts)) return {};
  return fail(ErrorKind::kShapeMismatch, "the bias must have {} entries: {}", channels, bias);
}

Window convolution_window(const InferInput& in) {
  const Shape& w = in.types[1].shape;
  return {Dims(w.begin() + std::min<std::ptrdiff_t>(2, std::ssize(w)), w.end()), in.attrs.ints("stride"),
          in.attrs.dims("low"), in.attrs.dims("high"), in.attrs.ints("dilation")};
}

}  // namespace

// a: [batch.., m, k], b: [batch.., k, n]  ->  [batch.., m, n]
Result<Types> infer_matmul(const InferInput& in) {
  TensorType a = in.types[0];
  TensorType b = in.types[1];
  TW_TRY(check_equal_dtypes(in.types));
  if (a.shape.size() < 2 || b.shape.size() < 2) {
    return fail(ErrorKind::kShapeMismatch, "ranks must be at least 2: {}", types_text(in.types));
  }
  if (provably_different(a.shape.back(), b.shape[b.shape.size() - 2], in.facts)) {
    return fail(ErrorKind::kShapeMismatch, "inner dimensions differ: {}", types_text(in.types));
  }
  const Dim m = a.shape[a.shape.size() - 2];
  const Dim n = b.shape.back();
  a.shape.resize(a.shape.size() - 2);
  b.shape.resize(b.shape.size() - 2);
  Result<Shape> batch = broadcast_shapes(Types{a, b}, in.facts);
  if (!batch.ok()) {
    return fail(ErrorKind::kShapeMismatch, "batch dimensions do not broadcast: {}", types_text(in.types));
  }
  const bool half = a.dtype == DType::kF16 || a.dtype == DType::kBF16;
  const bool wide = in.op == Op::kMatMul && half && in.attrs.flag("wide");
  TensorType out{wide ? DType::kF32 : a.dtype, std::move(*batch)};
  out.shape.push_back(m);
  out.shape.push_back(n);
  return Types{std::move(out)};
}

Result<Types> infer_conv(const InferInput& in) {
  const TensorType& x = in.types[0];
  const TensorType& w = in.types[1];
  const std::int64_t groups = in.attrs.integer("groups");
  TW_TRY(check_equal_dtypes(in.types));
  TW_TRY(check_groups(groups));
  const Window window = convolution_window(in);
  TW_TRY(check_window(x, window));
  if (provably_different(x.shape[1], w.shape[1] * groups, in.facts)) {
    return fail(ErrorKind::kShapeMismatch, "channels differ: {} x {} with {} groups", x, w, groups);
  }
  if (in.facts.divisible(w.shape[0], groups) == Answer::kNo) {
    return fail(ErrorKind::kShapeMismatch, "output channels {} do not divide into {} groups", w.shape[0], groups);
  }
  TW_TRY(check_bias(in, w.shape[0]));
  TW_ASSIGN(Shape spatial, slide(x, window, in.facts));
  spatial.insert(spatial.begin(), {x.shape[0], w.shape[0]});
  return Types{{x.dtype, std::move(spatial)}};
}

Result<Types> infer_conv_transpose(const InferInput& in) {
  const TensorType& x = in.types[0];
  const TensorType& w = in.types[1];
  const std::int64_t groups = in.attrs.integer("groups");
  const Ints& output_pad = in.attrs.ints("output_pad");
  TW_TRY(check_equal_dtypes(in.types));
  TW_TRY(check_groups(groups));
  const Window window = convolution_window(in);
  TW_TRY(check_window(x, window));
  TW_TRY(check_count("output_pad", output_pad.size(), window.size.size()));
  if (provably_different(x.shape[1], w.shape[0], in.facts)) {
    return fail(ErrorKind::kShapeMismatch, "channels differ: {} x {}", x, w);
  }
  if (in.facts.divisible(w.shape[0], groups) == Answer::kNo) {
    return fail(ErrorKind::kShapeMismatch, "input channels {} do not divide into {} groups", w.shape[0], groups);
  }
  const Dim channels = w.shape[1] * groups;
  TW_TRY(check_bias(in, channels));
  TensorType out{x.dtype, {x.shape[0], channels}};
  for (std::size_t i = 0; i < window.size.size(); ++i) {
    out.shape.push_back((x.shape[i + 2] - 1) * window.stride[i] - window.low[i] - window.high[i] +
                        (window.size[i] - 1) * window.dilation[i] + 1 + output_pad[i]);
  }
  TW_TRY(check_sizes(out.shape, in.facts));
  return Types{std::move(out)};
}

Result<Types> infer_pool(const InferInput& in) {
  const TensorType& x = in.types[0];
  const Ints& size = in.attrs.ints("window");
  const Ints& stride = in.attrs.ints("stride");
  const Ints dilation = in.op == Op::kMaxPool ? in.attrs.ints("dilation") : Ints(size.size(), 1);
  const Window window{Dims(size.begin(), size.end()), stride, in.attrs.dims("low"), in.attrs.dims("high"), dilation};
  TW_TRY(check_window(x, window));
  for (const std::int64_t entry : size) {
    if (entry < 1) return fail(ErrorKind::kInvalidArgument, "window {} is below 1", entry);
  }
  if (in.op == Op::kAvgPool) TW_TRY(check_float(x));
  TW_ASSIGN(Shape spatial, slide(x, window, in.facts));
  spatial.insert(spatial.begin(), {x.shape[0], x.shape[1]});
  Types out{{x.dtype, std::move(spatial)}};
  if (in.op == Op::kMaxPool) out.push_back({DType::kI64, out[0].shape});
  return out;
}

}  // namespace tilewright
