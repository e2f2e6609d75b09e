// Resize and its predecessor Upsample: which axes get which sizes.
#include "tilewright/frontends/onnx/operators/resize.h"

#include <array>

#include "tilewright/frontends/onnx/operators.h"
#include "tilewright/frontends/onnx/operators/windows.h"

namespace tilewright::onnx {
namespace {

// Real elements of a row of `count`; of a constant those that it has.
Result<Dims> reals(OnnxNode& n, std::size_t input, std::size_t count) {
  Dims out;
  if (const HostTensor* known = n.known(input)) {
    for (const Dim element : known->elements) out.push_back(as_real(element));
    return out;
  }
  TW_ASSIGN(const TensorType type, n.type(input));
  if (type.shape.size() != 1) return fail(ErrorKind::kShapeMismatch, "input {} must be a row: {}", input, type);
  if (type.shape[0].constant() == 0) return out;
  const auto size = static_cast<std::int64_t>(count);
  TW_TRY(n.require(Dim::make(DimOp::kEq, std::array{type.shape[0], Dim(size)}),
                   fmt::format("input {} must have {} elements", input, size)));
  for (std::int64_t i = 0; i < size; ++i) {
    TW_ASSIGN(const Dim element, n.late(n.slice(n.input(input), 0, i, i + 1)));
    out.push_back(as_real(element));
  }
  return out;
}

// floor(size * scale)
Dim scaled(Dim size, Dim scale) {
  if (const auto value = scale.real_constant()) {
    const auto whole = static_cast<std::int64_t>(*value);
    if (static_cast<double>(whole) == *value) return size * whole;
  }
  return Dim::make(DimOp::kFloor, std::array{as_real(size) * scale});
}

// One common scale for all axes: the smallest that the sizes ask for, or the largest.
Status keep_aspect_ratio(std::vector<ResizeAxis>& axes, std::string_view policy) {
  if (policy == "stretch" || axes.empty()) return {};
  if (policy != "not_larger" && policy != "not_smaller") {
    return fail(ErrorKind::kInvalidArgument, "keep_aspect_ratio_policy is '{}'", policy);
  }
  Dim scale = axes[0].scale;
  for (const ResizeAxis& axis : axes) {
    scale = Dim::make(policy == "not_larger" ? DimOp::kMin : DimOp::kMax, std::array{scale, axis.scale});
  }
  for (ResizeAxis& axis : axes) {
    axis.scale = scale;
    axis.length = as_real(axis.size) * scale;
    axis.out = Dim::make(DimOp::kFloor, std::array{axis.length + Dim::real(0.5)});
  }
  return {};
}

struct Sizes {
  Dims scales, sizes;  // one of them is there
};

// Where the opset has them: attributes, input 1, or inputs 2 and 3.
Result<Sizes> read_sizes(OnnxNode& n, std::size_t count) {
  Sizes out;
  if (n.op_type() == "Upsample" && n.version() < 7) {
    out.scales = {Dim::real(1), Dim::real(1), Dim::real(n.real("height_scale", 1)),
                  Dim::real(n.real("width_scale", 1))};
  } else if (const auto given = n.reals_of("scales")) {
    for (const double scale : *given) out.scales.push_back(Dim::real(scale));
  } else {
    const bool is_old = n.op_type() == "Upsample" || n.version() < 11;
    const std::size_t scales = is_old ? 1 : 2;
    if (n.has(scales)) {
      TW_ASSIGN(out.scales, reals(n, scales, count));
    }
    if (out.scales.empty() && !is_old) {
      TW_ASSIGN(out.sizes, n.integers(3));
    }
  }
  return out;
}

Result<std::vector<ResizeAxis>> read_axes(OnnxNode& n, const TensorType& x, std::string_view coordinates) {
  Ints axes;
  for (std::int64_t axis = 0; axis < std::ssize(x.shape); ++axis) axes.push_back(axis);
  if (const auto given = n.integers_of("axes")) {
    TW_ASSIGN(axes, n.axes(*given, x.shape.size()));
  }
  TW_ASSIGN(const Sizes given, read_sizes(n, axes.size()));
  const std::size_t count = given.sizes.empty() ? given.scales.size() : given.sizes.size();
  if (count != axes.size()) return fail(ErrorKind::kInvalidArgument, "{} sizes for {} axes", count, axes.size());
  Dims region;
  if (coordinates == "tf_crop_and_resize") {
    TW_ASSIGN(region, reals(n, 1, 2 * count));
    if (region.size() != 2 * count)
      return fail(ErrorKind::kInvalidArgument, "the region has {} entries", region.size());
  }
  std::vector<ResizeAxis> out;
  for (std::size_t i = 0; i < count; ++i) {
    ResizeAxis axis{axes[i], x.shape[static_cast<std::size_t>(axes[i])], {}, {}, {}, Dim::real(0), Dim::real(1)};
    axis.scale = given.sizes.empty() ? given.scales[i] : divide(given.sizes[i], axis.size);
    axis.out = given.sizes.empty() ? scaled(axis.size, axis.scale) : given.sizes[i];
    axis.length = given.sizes.empty() ? as_real(axis.size) * axis.scale : as_real(axis.out);
    if (!given.sizes.empty() && axis.out == axis.size) axis.scale = Dim::real(1);
    if (!region.empty()) {
      axis.begin = region[i];
      axis.end = region[count + i];
    }
    out.push_back(axis);
  }
  if (!given.sizes.empty()) TW_TRY(keep_aspect_ratio(out, n.text("keep_aspect_ratio_policy", "stretch")));
  return out;
}

ResizeOptions read_options(const OnnxNode& n) {
  const bool is_old = n.op_type() == "Upsample" || n.version() < 11;
  ResizeOptions out{};
  out.mode = n.text("mode", "nearest");
  if (out.mode == "bilinear") out.mode = "linear";
  out.coordinates = is_old ? "asymmetric" : n.text("coordinate_transformation_mode", "half_pixel");
  out.nearest = is_old ? "floor" : n.text("nearest_mode", "round_prefer_floor");
  out.cubic_a = n.real("cubic_coeff_a", -0.75);
  out.outside = n.real("extrapolation_value", 0);
  out.exclude_outside = n.integer("exclude_outside", 0) != 0;
  out.antialias = n.integer("antialias", 0) != 0 && out.mode != "nearest";
  return out;
}

bool stays(const ResizeAxis& axis, std::string_view coordinates) {
  const bool whole = axis.begin.real_constant() == 0.0 && axis.end.real_constant() == 1.0;
  const bool same = axis.out == axis.size && axis.scale.real_constant() == 1.0;
  return same && (coordinates != "tf_crop_and_resize" || whole);
}

}  // namespace

Maybe import_resize(OnnxNode& n) {
  TW_ASSIGN(const TensorType type, n.type(0));
  const ResizeOptions options = read_options(n);
  if (options.mode != "nearest" && options.mode != "linear" && options.mode != "cubic") {
    return fail(ErrorKind::kUnsupported, "mode '{}' is unknown", options.mode);
  }
  TW_ASSIGN(const std::vector<ResizeAxis> axes, read_axes(n, type, options.coordinates));
  Maybe x = n.input(0);
  if (options.mode != "nearest") x = n.cast(x, window_dtype(type.dtype));
  for (const ResizeAxis& axis : axes) {
    if (!stays(axis, options.coordinates)) x = resize_axis(n, x, axis, options);
  }
  if (is_float(type.dtype)) return n.cast(x, type.dtype);
  if (options.mode == "nearest") return x;
  return n.cast(n.op(Op::kRound, {x}), type.dtype);
}

}  // namespace tilewright::onnx
