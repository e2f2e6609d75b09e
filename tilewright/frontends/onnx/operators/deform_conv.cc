// DeformConv: a convolution whose taps are moved by offsets, one set for each group of channels, and weighted by a
// mask. Samples of all taps are columns of a matrix product with the filters.
#include "tilewright/frontends/onnx/operators.h"
#include "tilewright/frontends/onnx/operators/sampling.h"
#include "tilewright/frontends/onnx/operators/windows.h"

namespace tilewright::onnx {
namespace {

struct Deformed {
  TensorType x, w;
  DType wide;
  Windows windows;
  std::int64_t groups, offset_groups;
  Shape grid;  // spatial sizes of the result
  Dim taps = 1, places = 1;
};

Result<Deformed> read_deformed(OnnxNode& n) {
  Deformed out{};
  TW_ASSIGN(out.x, n.type(0));
  TW_ASSIGN(out.w, n.type(1));
  if (out.x.shape.size() < 3 || out.w.shape.size() != out.x.shape.size()) {
    return fail(ErrorKind::kShapeMismatch, "ranks must be equal and at least 3: {} x {}", out.x, out.w);
  }
  out.wide = window_dtype(out.x.dtype);
  out.groups = n.integer("group", 1);
  out.offset_groups = n.integer("offset_group", 1);
  if (out.groups < 1 || out.offset_groups < 1) return fail(ErrorKind::kInvalidArgument, "groups below 1");
  const Dims size(out.w.shape.begin() + 2, out.w.shape.end());
  TW_ASSIGN(out.windows, read_windows(n, out.x.shape, size, Rounding::kFloor));
  for (std::size_t i = 0; i < size.size(); ++i) {
    const Dim reach = (size[i] - 1) * out.windows.dilation[i] + 1;
    const Dim room = out.x.shape[i + 2] + out.windows.low[i] + out.windows.high[i] - reach;
    out.grid.push_back(floordiv(room, out.windows.stride[i]) + 1);
    out.taps = out.taps * size[i];
    out.places = out.places * out.grid.back();
  }
  return out;
}

// Where each tap of each place reads on a spatial axis: [batch * offset groups, taps, grid..].
Maybe moved_positions(OnnxNode& n, const Deformed& d, std::size_t axis) {
  const std::size_t spatial = d.grid.size();
  const auto iota = [&](Dim size, Shape shape) {
    return n.reshape(n.op(Op::kIota, {}, {{"dtype", d.wide}, {"shape", Shape{size}}, {"axis", std::int64_t{0}}}),
                     std::move(shape));
  };
  Shape window(spatial, Dim(1));
  window[axis] = d.windows.size[axis];
  const Maybe tap = n.expand(iota(d.windows.size[axis], std::move(window)), d.windows.size);
  Shape tap_shape(spatial + 1, Dim(1));
  tap_shape[0] = d.taps;
  Shape place_shape(spatial + 1, Dim(1));
  place_shape[axis + 1] = d.grid[axis];
  const Maybe inside =
      binary(n, Op::kMul, n.reshape(tap, std::move(tap_shape)), static_cast<double>(d.windows.dilation[axis]));
  const Maybe steps =
      binary(n, Op::kMul, iota(d.grid[axis], std::move(place_shape)), static_cast<double>(d.windows.stride[axis]));
  const Maybe low = n.cast(n.number(DType::kI64, d.windows.low[axis]), d.wide);
  const Maybe regular = binary(n, Op::kSub, binary(n, Op::kAdd, inside, steps), low);
  Shape offsets{d.x.shape[0] * d.offset_groups, d.taps, Dim(static_cast<std::int64_t>(spatial))};
  offsets.insert(offsets.end(), d.grid.begin(), d.grid.end());
  Shape moved(offsets);
  moved.erase(moved.begin() + 2);
  const auto at = static_cast<std::int64_t>(axis);
  const Maybe given = n.reshape(n.cast(n.input(2), d.wide), std::move(offsets));
  return binary(n, Op::kAdd, n.reshape(n.slice(given, 2, at, at + 1), std::move(moved)), regular);
}

// [N, groups, channels of a group * taps, places]
Maybe columns(OnnxNode& n, const Deformed& d) {
  const std::size_t spatial = d.grid.size();
  const Dim batch = d.x.shape[0] * d.offset_groups;
  const Dim channels = floordiv(d.x.shape[1], d.offset_groups);
  Shape split{batch, channels};
  split.insert(split.end(), d.x.shape.begin() + 2, d.x.shape.end());
  std::vector<std::vector<Tap>> taps;
  for (std::size_t axis = 0; axis < spatial; ++axis) {
    taps.push_back(linear_taps(n, moved_positions(n, d, axis), d.x.shape[axis + 2]));
  }
  if (n.has(4)) {
    Shape mask{batch, d.taps};
    mask.insert(mask.end(), d.grid.begin(), d.grid.end());
    const Maybe factor = n.reshape(n.cast(n.input(4), d.wide), std::move(mask));
    for (Tap& tap : taps[0]) tap.weight = binary(n, Op::kMul, tap.weight, factor);
  }
  Shape row(spatial + 2, Dim(1));
  row[0] = batch;
  const Maybe number = n.op(Op::kIota, {}, {{"dtype", DType::kI64}, {"shape", row}, {"axis", std::int64_t{0}}});
  const Maybe image = n.reshape(n.cast(n.input(0), d.wide), std::move(split));
  const Maybe samples = n.reshape(weighted_samples(n, image, number, taps), {batch, d.taps * d.places, channels});
  return n.reshape(n.transpose(samples, {0, 2, 1}),
                   {d.x.shape[0], Dim(d.groups), floordiv(d.x.shape[1], d.groups) * d.taps, d.places});
}

}  // namespace

Maybe import_deform_conv(OnnxNode& n) {
  TW_ASSIGN(const Deformed d, read_deformed(n));
  const Dim outputs = d.w.shape[0];
  const Maybe filters = n.reshape(n.cast(n.input(1), d.wide),
                                  {Dim(1), Dim(d.groups), floordiv(outputs, d.groups), d.w.shape[1] * d.taps});
  Shape out{d.x.shape[0], outputs};
  out.insert(out.end(), d.grid.begin(), d.grid.end());
  Maybe y = n.reshape(n.op(Op::kMatMul, {filters, columns(n, d)}), std::move(out));
  if (n.has(3)) {
    Shape bias(d.grid.size() + 1, Dim(1));
    bias[0] = outputs;
    y = binary(n, Op::kAdd, y, n.reshape(n.cast(n.input(3), d.wide), std::move(bias)));
  }
  return n.cast(y, d.x.dtype);
}

}  // namespace tilewright::onnx
