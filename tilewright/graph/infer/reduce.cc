// Ops that walk one or several axes: reductions, positions of extremes, scans, sorting.
#include <algorithm>

#include "tilewright/graph/infer/families.h"
#include "tilewright/graph/infer/rules.h"

namespace tilewright {
namespace {

Result<Types> reduced(const InferInput& in, const Ints& axes, DType dtype) {
  const TensorType& x = in.types[0];
  TW_TRY(check_axes(x, axes));
  TensorType out{dtype, {}};
  for (std::size_t axis = 0; axis < x.shape.size(); ++axis) {
    const bool gone = std::find(axes.begin(), axes.end(), static_cast<std::int64_t>(axis)) != axes.end();
    if (!gone) out.shape.push_back(x.shape[axis]);
    if (gone && in.attrs.flag("keepdim")) out.shape.push_back(1);
  }
  return Types{std::move(out)};
}

Result<Types> with_positions(const InferInput& in) {
  const TensorType& x = in.types[0];
  TW_TRY(check_axis(x, in.attrs.integer("axis")));
  return Types{x, {DType::kI64, x.shape}};
}

}  // namespace

Result<Types> infer_reduce(const InferInput& in) {
  return reduced(in, in.attrs.ints("axes"), in.types[0].dtype);
}

Result<Types> infer_reduce_bool(const InferInput& in) {
  if (in.types[0].dtype != DType::kBool) {
    return fail(ErrorKind::kDTypeMismatch, "the input must be bool: {}", in.types[0]);
  }
  return infer_reduce(in);
}

Result<Types> infer_reduce_float(const InferInput& in) {
  TW_TRY(check_float(in.types[0]));
  return infer_reduce(in);
}

Result<Types> infer_arg_reduce(const InferInput& in) {
  const std::int64_t axis = in.attrs.integer("axis");
  TW_TRY(check_axis(in.types[0], axis));
  if (in.facts.is_zero(in.types[0].shape[static_cast<std::size_t>(axis)]) == Answer::kYes) {
    return fail(ErrorKind::kShapeMismatch, "axis {} has no elements: {}", axis, in.types[0]);
  }
  return reduced(in, {axis}, DType::kI64);
}

Result<Types> infer_cum(const InferInput& in) {
  TW_TRY(check_axis(in.types[0], in.attrs.integer("axis")));
  return Types{in.types[0]};
}

Result<Types> infer_cum_extreme(const InferInput& in) {
  return with_positions(in);
}

Result<Types> infer_sort(const InferInput& in) {
  return with_positions(in);
}

Result<Types> infer_topk(const InferInput& in) {
  TW_ASSIGN(Types out, with_positions(in));
  const auto axis = static_cast<std::size_t>(in.attrs.integer("axis"));
  const Dim k = in.attrs.dim("k");
  TW_TRY(check_integers(std::span(&k, 1)));
  const bool outside = in.facts.less(k, 0) == Answer::kYes || in.facts.less(out[0].shape[axis], k) == Answer::kYes;
  if (outside) {
    return fail(ErrorKind::kIndexOutOfRange, "k = {} does not lie in axis {} of {}", k, axis, in.types[0]);
  }
  for (TensorType& type : out) type.shape[axis] = k;
  return out;
}

}  // namespace tilewright
