// CenterCropPad and Col2Im.
#include "tilewright/frontends/onnx/operators.h"
#include "tilewright/frontends/onnx/operators/windows.h"

namespace tilewright::onnx {
namespace {

Dim product(std::span<const Dim> sizes) {
  Dim out = 1;
  for (const Dim size : sizes) out = out * size;
  return out;
}

// f32[taps, 1, window..]: 1 where a tap is its own place in the window.
Maybe one_hot_taps(OnnxNode& n, const Dims& window, DType dtype) {
  const Dim taps = product(window);
  const auto positions = [&](Shape shape, std::int64_t axis) {
    return n.op(Op::kIota, {}, {{"dtype", DType::kI64}, {"shape", std::move(shape)}, {"axis", axis}});
  };
  Shape shape{taps, Dim(1)};
  shape.insert(shape.end(), window.begin(), window.end());
  return n.reshape(n.cast(n.op(Op::kEq, {positions({taps, Dim(1)}, 0), positions({Dim(1), taps}, 1)}), dtype),
                   std::move(shape));
}

}  // namespace

Maybe import_center_crop_pad(OnnxNode& n) {
  TW_ASSIGN(const TensorType type, n.type(0));
  TW_ASSIGN(const Dims wanted, n.integers(1));
  Ints axes;
  for (std::int64_t axis = 0; axis < std::ssize(type.shape); ++axis) axes.push_back(axis);
  if (const auto given = n.integers_of("axes")) {
    TW_ASSIGN(axes, n.axes(*given, type.shape.size()));
  }
  if (axes.size() != wanted.size())
    return fail(ErrorKind::kInvalidArgument, "{} sizes for {} axes", wanted.size(), axes.size());
  const std::size_t rank = type.shape.size();
  Dims start(rank, Dim(0));
  Dims stop(type.shape);
  Dims low(rank, Dim(0));
  Dims high(rank, Dim(0));
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const auto axis = static_cast<std::size_t>(axes[i]);
    const Dim size = type.shape[axis];
    const Dim kept = min(size, wanted[i]);
    start[axis] = floordiv(size - kept, 2);
    stop[axis] = start[axis] + kept;
    low[axis] = floordiv(wanted[i] - kept, 2);
    high[axis] = wanted[i] - kept - low[axis];
  }
  const Maybe x = n.op(Op::kSlice, {n.input(0)}, {{"start", start}, {"stop", stop}, {"step", Ints(rank, 1)}});
  const Maybe zero = n.cast(n.number(DType::kI64, 0), type.dtype);
  return n.op(Op::kPad, {x, zero}, {{"low", low}, {"high", high}});
}

// Columns [N, C * taps, positions] added up to images: a transposed convolution whose filters have a single 1.
Maybe import_col2im(OnnxNode& n) {
  TW_ASSIGN(const TensorType type, n.type(0));
  TW_ASSIGN(const Dims image, n.integers(1));
  TW_ASSIGN(const Dims block, n.integers(2));
  const std::size_t count = block.size();
  if (type.shape.size() != 3 || count == 0 || image.size() != count) {
    return fail(ErrorKind::kShapeMismatch, "columns {} for an image of {} axes and blocks of {}", type, image.size(),
                count);
  }
  TW_ASSIGN(const Ints stride, read_spatial(n, "strides", count, 1));
  TW_ASSIGN(const Ints dilation, read_spatial(n, "dilations", count, 1));
  TW_ASSIGN(const Ints pads, read_spatial(n, "pads", 2 * count, 0));
  const Dim taps = product(block);
  const Dim channels = floordiv(type.shape[1], taps);
  Shape grid{type.shape[0] * channels, taps};
  Dims low;
  Dims high;
  for (std::size_t i = 0; i < count; ++i) {
    const Dim reach = (block[i] - 1) * dilation[i] + 1;
    const Dim steps = floordiv(image[i] + pads[i] + pads[count + i] - reach, stride[i]);
    grid.push_back(steps + 1);
    low.push_back(pads[i]);
    high.push_back(steps * stride[i] + reach - pads[i] - image[i]);
  }
  const DType wide = window_dtype(type.dtype);
  const Maybe summed =
      n.op(Op::kConvTranspose, {n.reshape(n.cast(n.input(0), wide), std::move(grid)), one_hot_taps(n, block, wide)},
           {{"stride", stride}, {"low", low}, {"high", high}, {"dilation", dilation}, {"output_pad", Ints(count, 0)}});
  Shape out{type.shape[0], channels};
  out.insert(out.end(), image.begin(), image.end());
  return n.cast(n.reshape(summed, std::move(out)), type.dtype);
}

}  // namespace tilewright::onnx
