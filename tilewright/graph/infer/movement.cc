// Ops that move elements and compute nothing.
#include "tilewright/graph/infer/families.h"
#include "tilewright/graph/infer/rules.h"

namespace tilewright {

Result<Types> infer_reshape(const InferInput& in) {
  const TensorType& x = in.types[0];
  const Dims& shape = in.attrs.dims("shape");
  TW_TRY(check_sizes(shape, in.facts));
  if (provably_different(product(x.shape), product(shape), in.facts)) {
    return fail(ErrorKind::kShapeMismatch, "element counts differ: {} to {}", x, shape_text(shape));
  }
  return Types{{x.dtype, shape}};
}

Result<Types> infer_transpose(const InferInput& in) {
  const TensorType& x = in.types[0];
  const Ints& perm = in.attrs.ints("perm");
  TW_TRY(check_count("perm", perm.size(), x.shape.size()));
  TW_TRY(check_axes(x, perm));
  TensorType out{x.dtype, {}};
  for (const std::int64_t axis : perm) out.shape.push_back(x.shape[static_cast<std::size_t>(axis)]);
  return Types{std::move(out)};
}

Result<Types> infer_expand(const InferInput& in) {
  const Dims& shape = in.attrs.dims("shape");
  TW_TRY(check_sizes(shape, in.facts));
  TW_TRY(check_expands(in.types[0], shape, in.facts));
  return Types{{in.types[0].dtype, shape}};
}

Result<Types> infer_slice(const InferInput& in) {
  const TensorType& x = in.types[0];
  const Dims& start = in.attrs.dims("start");
  const Dims& stop = in.attrs.dims("stop");
  const Ints& step = in.attrs.ints("step");
  TW_TRY(check_count("start", start.size(), x.shape.size()));
  TW_TRY(check_count("stop", stop.size(), x.shape.size()));
  TW_TRY(check_count("step", step.size(), x.shape.size()));
  TW_TRY(check_integers(start));
  TW_TRY(check_integers(stop));
  TensorType out{x.dtype, {}};
  for (std::size_t axis = 0; axis < start.size(); ++axis) {
    if (step[axis] < 1) return fail(ErrorKind::kInvalidArgument, "step {} of axis {} is below 1", step[axis], axis);
    const bool wrong = in.facts.less(start[axis], 0) == Answer::kYes ||
                       in.facts.less(stop[axis], start[axis]) == Answer::kYes ||
                       in.facts.less(x.shape[axis], stop[axis]) == Answer::kYes;
    if (wrong) {
      return fail(ErrorKind::kIndexOutOfRange, "slice {}:{} does not lie in axis {} of {}", start[axis], stop[axis],
                  axis, x);
    }
    out.shape.push_back(ceildiv(stop[axis] - start[axis], step[axis]));
  }
  return Types{std::move(out)};
}

Result<Types> infer_pad(const InferInput& in) {
  static constexpr std::string_view kModes[] = {"constant", "reflect", "replicate", "circular"};
  const TensorType& x = in.types[0];
  const Dims& low = in.attrs.dims("low");
  const Dims& high = in.attrs.dims("high");
  const std::string& mode = in.attrs.text("mode");
  TW_TRY(check_choice("mode", mode, kModes));
  TW_TRY(check_count("low", low.size(), x.shape.size()));
  TW_TRY(check_count("high", high.size(), x.shape.size()));
  TW_TRY(check_integers(low));
  TW_TRY(check_integers(high));
  if (in.types.size() == 2) {
    TW_TRY(check_equal_dtypes(in.types));
    TW_TRY(check_rank(in.types[1], 0, "the pad value"));
    if (mode != "constant") return fail(ErrorKind::kInvalidArgument, "mode '{}' takes no pad value", mode);
  }
  TensorType out{x.dtype, {}};
  for (std::size_t axis = 0; axis < low.size(); ++axis) {
    const Dim size = x.shape[axis];
    for (const Dim pad : {low[axis], high[axis]}) {
      const bool negative = in.facts.less(pad, 0) == Answer::kYes;
      const bool large = (mode == "reflect" && in.facts.less_equal(size, pad) == Answer::kYes) ||
                         (mode == "circular" && in.facts.less(size, pad) == Answer::kYes);
      if (mode != "constant" && (negative || large)) {
        return fail(ErrorKind::kInvalidArgument, "a '{}' pad of {} does not fit axis {} of {}", mode, pad, axis, x);
      }
    }
    out.shape.push_back(size + low[axis] + high[axis]);
  }
  TW_TRY(check_sizes(out.shape, in.facts));
  return Types{std::move(out)};
}

Result<Types> infer_concat(const InferInput& in) {
  TW_TRY(check_equal_dtypes(in.types));
  TensorType out = in.types[0];
  const std::int64_t axis = in.attrs.integer("axis");
  TW_TRY(check_axis(out, axis));
  for (const TensorType& type : std::span(in.types).subspan(1)) {
    bool fits = type.shape.size() == out.shape.size();
    for (std::size_t i = 0; fits && i < out.shape.size(); ++i) {
      if (i == static_cast<std::size_t>(axis)) {
        out.shape[i] = out.shape[i] + type.shape[i];
      } else {
        fits = !provably_different(out.shape[i], type.shape[i], in.facts);
        out.shape[i] = agreed(out.shape[i], type.shape[i]);
      }
    }
    if (!fits) {
      return fail(ErrorKind::kShapeMismatch, "shapes differ in more than axis {}: {}", axis, types_text(in.types));
    }
  }
  return Types{std::move(out)};
}

Result<Types> infer_flip(const InferInput& in) {
  TW_TRY(check_axes(in.types[0], in.attrs.ints("axes")));
  return Types{in.types[0]};
}

Result<Types> infer_roll(const InferInput& in) {
  const Ints& axes = in.attrs.ints("axes");
  TW_TRY(check_axes(in.types[0], axes));
  TW_TRY(check_count("shift", in.attrs.dims("shift").size(), axes.size()));
  TW_TRY(check_integers(in.attrs.dims("shift")));
  return Types{in.types[0]};
}

}  // namespace tilewright
