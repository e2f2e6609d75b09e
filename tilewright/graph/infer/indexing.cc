// Ops that read or write at positions given by index tensors. Whether an index is in range is seen when it runs.
#include "tilewright/graph/infer/families.h"
#include "tilewright/graph/infer/rules.h"

namespace tilewright {
namespace {

// The shape that indexing x by `indices` reads: their broadcast shape in place of the indexed axes.
Result<Shape> indexed_shape(const TensorType& x, std::span<const TensorType> indices, const Ints& axes,
                            const Facts& facts) {
  TW_TRY(check_count("axes", axes.size(), indices.size()));
  TW_TRY(check_axes(x, axes));
  bool adjacent = true;
  for (std::size_t i = 1; i < axes.size(); ++i) {
    if (axes[i] < axes[i - 1]) {
      return fail(ErrorKind::kInvalidArgument, "'axes' must increase: {} after {}", axes[i], axes[i - 1]);
    }
    adjacent = adjacent && axes[i] == axes[i - 1] + 1;
  }
  for (const TensorType& index : indices) TW_TRY(check_index_dtype(index));
  TW_ASSIGN(Shape positions, broadcast_shapes(indices, facts));
  Shape out;
  std::size_t next = 0;
  for (std::size_t axis = 0; axis < x.shape.size(); ++axis) {
    if (next < axes.size() && static_cast<std::size_t>(axes[next]) == axis) {
      if (next == 0 && adjacent) out.insert(out.end(), positions.begin(), positions.end());
      ++next;
    } else {
      out.push_back(x.shape[axis]);
    }
  }
  if (!adjacent) out.insert(out.begin(), positions.begin(), positions.end());
  return out;
}

// Along every axis but one, the positions of `index` exist in x.
Status check_index_fits(const TensorType& x, const TensorType& index, std::int64_t axis, const Facts& facts) {
  TW_TRY(check_axis(x, axis));
  TW_TRY(check_index_dtype(index));
  TW_TRY(check_rank(index, x.shape.size(), "the index"));
  for (std::size_t i = 0; i < x.shape.size(); ++i) {
    if (i != static_cast<std::size_t>(axis) && facts.less(x.shape[i], index.shape[i]) == Answer::kYes) {
      return fail(ErrorKind::kShapeMismatch, "the index is longer than x along axis {}: {} x {}", i, x, index);
    }
  }
  return {};
}

}  // namespace

Result<Types> infer_gather(const InferInput& in) {
  const TensorType& x = in.types[0];
  const TensorType& index = in.types[1];
  TW_TRY(check_axis(x, in.attrs.integer("axis")));
  TW_TRY(check_index_dtype(index));
  TensorType out = x;
  const auto place = out.shape.erase(out.shape.begin() + static_cast<std::ptrdiff_t>(in.attrs.integer("axis")));
  out.shape.insert(place, index.shape.begin(), index.shape.end());
  return Types{std::move(out)};
}

Result<Types> infer_gather_elements(const InferInput& in) {
  TW_TRY(check_index_fits(in.types[0], in.types[1], in.attrs.integer("axis"), in.facts));
  return Types{{in.types[0].dtype, in.types[1].shape}};
}

Result<Types> infer_index(const InferInput& in) {
  TW_ASSIGN(Shape shape, indexed_shape(in.types[0], std::span(in.types).subspan(1), in.attrs.ints("axes"), in.facts));
  return Types{{in.types[0].dtype, std::move(shape)}};
}

Result<Types> infer_index_put(const InferInput& in) {
  TW_TRY(check_equal_dtypes(std::span(in.types).first(2)));
  TW_ASSIGN(Shape shape, indexed_shape(in.types[0], std::span(in.types).subspan(2), in.attrs.ints("axes"), in.facts));
  TW_TRY(check_expands(in.types[1], shape, in.facts));
  return Types{in.types[0]};
}

Result<Types> infer_scatter_elements(const InferInput& in) {
  static constexpr std::string_view kReductions[] = {"none", "add", "mul", "min", "max", "mean"};
  const TensorType& x = in.types[0];
  const TensorType& index = in.types[1];
  const TensorType& updates = in.types[2];
  TW_TRY(check_choice("reduce", in.attrs.text("reduce"), kReductions));
  TW_TRY(check_index_fits(x, index, in.attrs.integer("axis"), in.facts));
  if (updates.dtype != x.dtype) return fail(ErrorKind::kDTypeMismatch, "dtypes differ: {} x {}", x, updates);
  bool fits = updates.shape.size() == index.shape.size();
  for (std::size_t i = 0; fits && i < index.shape.size(); ++i) {
    fits = !provably_different(updates.shape[i], index.shape[i], in.facts);
  }
  if (!fits) return fail(ErrorKind::kShapeMismatch, "index and updates differ in shape: {} x {}", index, updates);
  return Types{x};
}

Result<Types> infer_update_slice(const InferInput& in) {
  const TensorType& x = in.types[0];
  const TensorType& updates = in.types[1];
  const Dims& start = in.attrs.dims("start");
  const Ints& step = in.attrs.ints("step");
  TW_TRY(check_equal_dtypes(in.types));
  TW_TRY(check_count("start", start.size(), x.shape.size()));
  TW_TRY(check_count("step", step.size(), x.shape.size()));
  TW_TRY(check_rank(updates, x.shape.size(), "the update"));
  TW_TRY(check_integers(start));
  for (std::size_t axis = 0; axis < start.size(); ++axis) {
    if (step[axis] < 1) return fail(ErrorKind::kInvalidArgument, "step {} of axis {} is below 1", step[axis], axis);
    const Dim count = updates.shape[axis];
    const Dim end = start[axis] + (count - 1) * step[axis] + 1;
    const bool outside = in.facts.less(x.shape[axis], end) == Answer::kYes && in.facts.less(0, count) == Answer::kYes;
    if (outside || in.facts.less(start[axis], 0) == Answer::kYes) {
      return fail(ErrorKind::kIndexOutOfRange, "an update of {} from {} does not lie in axis {} of {}", count,
                  start[axis], axis, x);
    }
  }
  return Types{x};
}

}  // namespace tilewright
