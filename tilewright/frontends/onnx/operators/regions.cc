// RoiAlign and MaxRoiPool: a grid of cells over each region of an image, reduced to a number each.
#include <cmath>

#include "tilewright/frontends/onnx/operators.h"
#include "tilewright/frontends/onnx/operators/sampling.h"
#include "tilewright/frontends/onnx/operators/windows.h"

namespace tilewright::onnx {
namespace {

Maybe positions(OnnxNode& n, DType dtype, Dim size, std::size_t axis, std::size_t rank) {
  Shape shape(rank, Dim(1));
  shape[axis] = size;
  return n.op(Op::kIota, {},
              {{"dtype", dtype}, {"shape", std::move(shape)}, {"axis", static_cast<std::int64_t>(axis)}});
}

// Column i of the regions, shaped [regions, 1, ..].
Maybe region_column(OnnxNode& n, std::int64_t i, DType dtype, std::size_t rank) {
  TW_ASSIGN(const TensorType type, n.type(1));
  Shape shape(rank, Dim(1));
  shape[0] = type.shape[0];
  return n.reshape(n.slice(n.cast(n.input(1), dtype), 1, i, i + 1), std::move(shape));
}

constexpr std::size_t kSampleRank =
    5;  // regions, rows of cells, samples in a row, columns of cells, samples in a column

struct AlignedAxis {
  std::vector<Tap> taps;
  Maybe count;      // samples in a cell, of the float dtype, [regions, 1, 1, 1, 1]
  Maybe is_sample;  // bool; false beyond the count
};

// Samples of an axis: `cells` at axis `at` of the samples, those in a cell at `at` + 1.
Result<AlignedAxis> align_axis(OnnxNode& n, DType dtype, std::int64_t column, Dim cells, std::size_t at, Dim size) {
  const bool half_pixel = n.version() >= 16 && n.text("coordinate_transformation_mode", "half_pixel") == "half_pixel";
  const double scale = n.real("spatial_scale", 1);
  const double shift = half_pixel ? 0.5 : 0;
  const auto edge = [&](std::int64_t i) {
    return binary(n, Op::kSub, binary(n, Op::kMul, region_column(n, i, dtype, kSampleRank), scale), shift);
  };
  const Maybe start = edge(column);
  Maybe length = binary(n, Op::kSub, edge(column + 2), start);
  if (!half_pixel) length = binary(n, Op::kMax, length, 1);
  const Maybe step = binary(n, Op::kDiv, length, n.cast(n.number(DType::kI64, cells), dtype));
  const std::int64_t ratio = n.integer("sampling_ratio", 0);
  Maybe count = n.number_like(step, static_cast<double>(ratio));
  Dim most = ratio;
  if (ratio <= 0) {
    count = n.op(Op::kCeil, {step});
    TW_ASSIGN(const Dim largest, n.late(n.cast(n.reduce(Op::kReduceMax, count, {0, 1, 2, 3, 4}, false), DType::kI64)));
    most = max(largest, Dim(1));
  }
  const Maybe sample = positions(n, dtype, most, at + 1, kSampleRank);
  const Maybe part = binary(n, Op::kDiv, binary(n, Op::kAdd, sample, 0.5), binary(n, Op::kMax, count, 1));
  const Maybe cell = binary(n, Op::kAdd, positions(n, dtype, cells, at, kSampleRank), part);
  const Maybe raw = binary(n, Op::kAdd, start, binary(n, Op::kMul, cell, step));
  const Maybe end = n.cast(n.number(DType::kI64, size), dtype);
  const Maybe near = binary(n, Op::kBitAnd, binary(n, Op::kGe, raw, -1), binary(n, Op::kLe, raw, end));
  const Maybe is_sample = binary(n, Op::kLt, sample, count);
  const Maybe used = binary(n, Op::kBitAnd, near, is_sample);
  const Maybe inside = binary(n, Op::kMin, binary(n, Op::kMax, raw, 0), n.cast(n.number(DType::kI64, size - 1), dtype));
  std::vector<Tap> taps = linear_taps(n, inside, size);
  for (Tap& tap : taps) tap.weight = n.op(Op::kSelect, {used, tap.weight, n.number_like(tap.weight, 0)});
  return AlignedAxis{std::move(taps), count, is_sample};
}

}  // namespace

Maybe import_roi_align(OnnxNode& n) {
  TW_ASSIGN(const TensorType x, n.type(0));
  TW_ASSIGN(const TensorType regions, n.type(1));
  if (x.shape.size() != 4 || regions.shape.size() != 2) {
    return fail(ErrorKind::kShapeMismatch, "an image {} and regions {}", x, regions);
  }
  const DType wide = window_dtype(x.dtype);
  TW_ASSIGN(const AlignedAxis rows, align_axis(n, wide, 1, n.integer("output_height", 1), 1, x.shape[2]));
  TW_ASSIGN(const AlignedAxis columns, align_axis(n, wide, 0, n.integer("output_width", 1), 3, x.shape[3]));
  Shape row(kSampleRank, Dim(1));
  row[0] = regions.shape[0];
  const Maybe batch = n.reshape(n.cast(n.input(2), DType::kI64), std::move(row));
  const Maybe image = n.cast(n.input(0), wide);
  const bool is_max = n.text("mode", "avg") == "max";
  const Maybe samples = weighted_samples(n, image, batch, {rows.taps, columns.taps}, is_max ? Op::kMax : Op::kAdd);
  Maybe cells = samples;  // [regions, rows, columns, channels] in the end
  if (is_max) {
    const Maybe counted = n.unsqueeze(binary(n, Op::kBitAnd, rows.is_sample, columns.is_sample), {5});
    const Maybe lowest = n.number(wide, Dim::real(-static_cast<double>(INFINITY)));
    cells = n.reduce(Op::kReduceMax, n.op(Op::kSelect, {counted, samples, lowest}), {2, 4}, false);
  } else {
    const Maybe count = n.reshape(
        binary(n, Op::kMax, binary(n, Op::kMul, rows.count, columns.count), 1),
        n.integer("sampling_ratio", 0) > 0 ? Shape(4, Dim(1)) : Shape{regions.shape[0], Dim(1), Dim(1), Dim(1)});
    cells = binary(n, Op::kDiv, n.reduce(Op::kReduceSum, samples, {2, 4}, false), count);
  }
  return n.cast(n.transpose(cells, {0, 3, 1, 2}), x.dtype);
}

namespace {

// bool[regions, cells, size]: which elements of an axis belong to each cell.
Maybe cell_mask(OnnxNode& n, std::int64_t column, std::int64_t cells, Dim size) {
  const auto edge = [&](std::int64_t i) {
    const Maybe scaled = binary(n, Op::kMul, region_column(n, i, DType::kF32, 3), n.real("spatial_scale", 1));
    return n.op(Op::kFloor, {binary(n, Op::kAdd, scaled, 0.5)});
  };
  const Maybe start = edge(column);
  const Maybe length = binary(n, Op::kMax, binary(n, Op::kAdd, binary(n, Op::kSub, edge(column + 2), start), 1), 1);
  const Maybe step = binary(n, Op::kDiv, length, static_cast<double>(cells));
  const Maybe cell = positions(n, DType::kF32, cells, 1, 3);
  const Maybe low = binary(n, Op::kAdd, start, n.op(Op::kFloor, {binary(n, Op::kMul, cell, step)}));
  const Maybe next = binary(n, Op::kMul, binary(n, Op::kAdd, cell, 1), step);
  const Maybe high = binary(n, Op::kAdd, start, n.op(Op::kCeil, {next}));
  const Maybe at = positions(n, DType::kF32, size, 2, 3);
  return binary(n, Op::kBitAnd, binary(n, Op::kGe, at, low), binary(n, Op::kLt, at, high));
}

// The largest element of each cell along the last axis of x[regions, channels, m, size]: [regions, channels, m, cells].
Maybe largest_in_cells(OnnxNode& n, const Maybe& x, const Maybe& mask, std::int64_t cells, Dim size, Dim regions) {
  const Maybe where = n.reshape(mask, {regions, Dim(1), Dim(1), Dim(cells), size});
  const Maybe lowest = n.number_like(x, -static_cast<double>(INFINITY));
  return n.reduce(Op::kReduceMax, n.op(Op::kSelect, {where, n.unsqueeze(x, {3}), lowest}), {4}, false);
}

}  // namespace

// Regions are rows of batch, x1, y1, x2, y2. A cell without an element gives 0.
Maybe import_max_roi_pool(OnnxNode& n) {
  TW_ASSIGN(const TensorType x, n.type(0));
  TW_ASSIGN(const TensorType regions, n.type(1));
  const Ints pooled = n.integers_of("pooled_shape").value_or(Ints());
  if (x.shape.size() != 4 || regions.shape.size() != 2 || pooled.size() != 2) {
    return fail(ErrorKind::kShapeMismatch, "an image {}, regions {} and a pooled_shape of {}", x, regions,
                pooled.size());
  }
  const DType wide = window_dtype(x.dtype);
  const Dim count = regions.shape[0];
  const Maybe batch = n.reshape(n.cast(n.slice(n.input(1), 1, 0, 1), DType::kI64), {count});
  const Maybe image = n.op(Op::kGather, {n.cast(n.input(0), wide), batch}, {{"axis", std::int64_t{0}}});
  const Maybe columns =
      largest_in_cells(n, image, cell_mask(n, 1, pooled[1], x.shape[3]), pooled[1], x.shape[3], count);
  const Maybe turned = n.transpose(columns, {0, 1, 3, 2});
  const Maybe rows = largest_in_cells(n, turned, cell_mask(n, 2, pooled[0], x.shape[2]), pooled[0], x.shape[2], count);
  const Maybe found = n.transpose(rows, {0, 1, 3, 2});
  const Maybe empty = binary(n, Op::kEq, found, -static_cast<double>(INFINITY));
  return n.cast(n.op(Op::kSelect, {empty, n.number_like(found, 0), found}), x.dtype);
}

}  // namespace tilewright::onnx
