#include "tilewright/graph/infer/rules.h"

#include <algorithm>

namespace tilewright {

std::string shape_text(std::span<const Dim> dims) {
  std::string out = "[";
  for (std::size_t i = 0; i < dims.size(); ++i) out += fmt::format("{}{}", i == 0 ? "" : ", ", to_string(dims[i]));
  return out + "]";
}

std::string types_text(std::span<const TensorType> types) {
  std::string out;
  for (std::size_t i = 0; i < types.size(); ++i) out += (i == 0 ? "" : " x ") + to_string(types[i]);
  return out;
}

Status check_equal_dtypes(std::span<const TensorType> types) {
  for (const TensorType& type : types) {
    if (type.dtype != types[0].dtype) return fail(ErrorKind::kDTypeMismatch, "dtypes differ: {}", types_text(types));
  }
  return {};
}

Status check_float(const TensorType& type) {
  if (is_float(type.dtype)) return {};
  return fail(ErrorKind::kDTypeMismatch, "a floating-point dtype is needed: {}", to_string(type));
}

Status check_bits(const TensorType& type) {
  if (!is_float(type.dtype)) return {};
  return fail(ErrorKind::kDTypeMismatch, "an integer or bool dtype is needed: {}", to_string(type));
}

Status check_index_dtype(const TensorType& type) {
  if (type.dtype == DType::kI64 || type.dtype == DType::kI32) return {};
  return fail(ErrorKind::kDTypeMismatch, "an index must be i32 or i64: {}", to_string(type));
}

Status check_rank(const TensorType& type, std::size_t rank, std::string_view what) {
  if (type.shape.size() == rank) return {};
  return fail(ErrorKind::kShapeMismatch, "{} must have rank {}: {}", what, rank, to_string(type));
}

Status check_axis(const TensorType& type, std::int64_t axis) {
  if (axis >= 0 && static_cast<std::size_t>(axis) < type.shape.size()) return {};
  return fail(ErrorKind::kIndexOutOfRange, "axis {} is out of range: {} has rank {}", axis, to_string(type),
              type.shape.size());
}

Status check_axes(const TensorType& type, std::span<const std::int64_t> axes) {
  for (std::size_t i = 0; i < axes.size(); ++i) {
    TW_TRY(check_axis(type, axes[i]));
    if (std::find(axes.begin(), axes.begin() + static_cast<std::ptrdiff_t>(i), axes[i]) !=
        axes.begin() + static_cast<std::ptrdiff_t>(i)) {
      return fail(ErrorKind::kInvalidArgument, "axis {} is given twice", axes[i]);
    }
  }
  return {};
}

Status check_integers(std::span<const Dim> dims) {
  for (const Dim dim : dims) {
    if (dim.is_float()) return fail(ErrorKind::kInvalidArgument, "an integer is needed: {}", shape_text(dims));
  }
  return {};
}

Status check_sizes(std::span<const Dim> dims, const Facts& facts) {
  TW_TRY(check_integers(dims));
  for (const Dim dim : dims) {
    if (facts.less(dim, 0) == Answer::kYes) {
      return fail(ErrorKind::kShapeMismatch, "a size is negative: {}", shape_text(dims));
    }
  }
  return {};
}

Status check_count(std::string_view attribute, std::size_t given, std::size_t expected) {
  if (given == expected) return {};
  return fail(ErrorKind::kInvalidArgument, "'{}' must have {} entries: {} given", attribute, expected, given);
}

Status check_choice(std::string_view attribute, std::string_view given, std::span<const std::string_view> choices) {
  std::string list;
  for (const std::string_view choice : choices) {
    if (choice == given) return {};
    list += fmt::format("{}{}", list.empty() ? "" : ", ", choice);
  }
  return fail(ErrorKind::kInvalidArgument, "'{}' must be one of {}: '{}' given", attribute, list, given);
}

Status check_late_symbol(std::string_view attribute, Dim symbol) {
  if (symbol.op() == DimOp::kSymbol) return {};
  return fail(ErrorKind::kInvalidArgument, "'{}' must be a symbol that the node binds: {}", attribute,
              to_string(symbol));
}

Status check_expands(const TensorType& small, std::span<const Dim> large, const Facts& facts) {
  bool fits = small.shape.size() <= large.size();
  for (std::size_t i = 0; fits && i < small.shape.size(); ++i) {
    const Dim from = small.shape[small.shape.size() - 1 - i];
    const Dim to = large[large.size() - 1 - i];
    fits = facts.same(from, to) != Answer::kNo || facts.is_one(from) != Answer::kNo;
  }
  if (fits) return {};
  return fail(ErrorKind::kShapeMismatch, "{} does not broadcast to {}", to_string(small), shape_text(large));
}

Dim agreed(Dim a, Dim b) {
  return b.constant() ? b : a;
}

std::optional<Dim> broadcast_dim(Dim a, Dim b, const Facts& facts) {
  if (a == b) return a;
  const Answer a_is_one = facts.is_one(a);
  if (a_is_one == Answer::kYes) return b;
  const Answer b_is_one = facts.is_one(b);
  if (b_is_one == Answer::kYes) return a;
  const Answer same = facts.same(a, b);
  if (same == Answer::kYes) return agreed(a, b);
  if (a_is_one == Answer::kNo && b_is_one == Answer::kNo) {
    if (same == Answer::kNo) return std::nullopt;
    return agreed(a, b);
  }
  // One that is not 1 decides: the other is 1 or equal to it.
  if (a_is_one == Answer::kNo) return a;
  if (b_is_one == Answer::kNo) return b;
  return broadcast(a, b);
}

Result<Shape> broadcast_shapes(std::span<const TensorType> types, const Facts& facts) {
  Shape out;
  for (const TensorType& type : types) {
    if (type.shape.size() > out.size()) out.insert(out.begin(), type.shape.size() - out.size(), Dim(1));
    for (std::size_t i = 0; i < type.shape.size(); ++i) {
      Dim& dim = out[out.size() - 1 - i];
      const std::optional<Dim> merged = broadcast_dim(dim, type.shape[type.shape.size() - 1 - i], facts);
      if (!merged) return fail(ErrorKind::kShapeMismatch, "shapes do not broadcast: {}", types_text(types));
      dim = *merged;
    }
  }
  return out;
}

Dim product(std::span<const Dim> dims) {
  Dim out = 1;
  for (const Dim dim : dims) out = out * dim;
  return out;
}

}  // namespace tilewright
