// Operators that read or change shapes and move nothing.
#include <algorithm>

#include <array>

#include "tilewright/frontends/onnx/operators.h"

namespace tilewright::onnx {
namespace {

Dim product(std::span<const Dim> dims) {
  Dim out = 1;
  for (const Dim dim : dims) out = out * dim;
  return out;
}

// product(total) / product(part), with equal factors gone from both: what remains is exact also where a factor is 0,
// if sizes are taken to mean what they say.
Dim quotient(Shape total, Shape part) {
  for (auto factor = part.begin(); factor != part.end();) {
    const auto same = std::find(total.begin(), total.end(), *factor);
    if (same == total.end() || factor->constant() == 1) {
      ++factor;
      continue;
    }
    total.erase(same);
    factor = part.erase(factor);
  }
  const Dim divisor = product(part);
  return divisor.constant() == 1 ? product(total) : floordiv(product(total), max(divisor, Dim(1)));
}

// The size of a result axis that a shape gives as a number only known later: 0 keeps the axis, -1 is what is left.
Dim decided_late(Dim given, std::optional<Dim> kept, Dim left) {
  const auto equals = [&](std::int64_t value) { return Dim::make(DimOp::kEq, std::array{given, Dim(value)}); };
  const Dim size = select(equals(-1), left, given);
  return kept ? select(equals(0), *kept, size) : size;
}

bool may_be_negative(Dim dim, const Facts& facts) {
  return facts.less_equal(Dim(0), dim) != Answer::kYes;
}

// The shape that `given` asks of x.
Result<Shape> reshaped(OnnxNode& n, const Shape& x, const Dims& given) {
  const bool keeps_zero = n.integer("allowzero", 0) == 0;
  Shape out(given.size(), Dim(1));
  Shape others;
  std::optional<std::size_t> open;
  std::vector<std::size_t> late;
  for (std::size_t i = 0; i < given.size(); ++i) {
    const std::optional<std::int64_t> number = given[i].constant();
    if (number == -1) {
      if (open) return fail(ErrorKind::kInvalidArgument, "more than one size of the shape is -1");
      open = i;
      continue;
    }
    if (number && *number < -1) return fail(ErrorKind::kInvalidArgument, "size {} of the shape is {}", i, *number);
    if (number == 0 && keeps_zero) {
      if (i >= x.size())
        return fail(ErrorKind::kShapeMismatch, "size {} of the shape is 0, but the input has rank {}", i, x.size());
      out[i] = x[i];
    } else if (!number && may_be_negative(given[i], n.facts())) {
      late.push_back(i);
      continue;
    } else {
      out[i] = given[i];
    }
    others.push_back(out[i]);
  }
  for (const std::size_t i : late) {
    Shape rest = others;
    for (const std::size_t j : late) {
      if (j == i) continue;
      const Dim size = max(given[j], Dim(1));
      const bool may_keep = keeps_zero && j < x.size();
      rest.push_back(may_keep ? select(Dim::make(DimOp::kEq, std::array{given[j], Dim(0)}), x[j], size) : size);
    }
    out[i] = decided_late(given[i], keeps_zero && i < x.size() ? std::optional(x[i]) : std::nullopt,
                          quotient(x, std::move(rest)));
  }
  for (const std::size_t i : late) others.push_back(out[i]);
  if (open) out[*open] = quotient(x, std::move(others));
  return out;
}

// Axes of squeeze and unsqueeze: an attribute before opset 13, then an input.
Result<std::optional<Ints>> given_axes(OnnxNode& n) {
  if (!n.has(1)) return n.integers_of("axes");
  TW_ASSIGN(Ints axes, n.constant_integers(1));
  return std::optional(std::move(axes));
}

}  // namespace

Maybe import_reshape(OnnxNode& n) {
  TW_ASSIGN(const TensorType type, n.type(0));
  Dims given;
  if (const auto attribute = n.integers_of("shape")) {
    given.assign(attribute->begin(), attribute->end());
  } else {
    TW_ASSIGN(given, n.integers(1));
  }
  TW_ASSIGN(Shape shape, reshaped(n, type.shape, given));
  return n.op(Op::kReshape, {n.input(0)}, {{"shape", std::move(shape)}});
}

Maybe import_flatten(OnnxNode& n) {
  TW_ASSIGN(const TensorType type, n.type(0));
  const auto rank = std::ssize(type.shape);
  std::int64_t axis = n.integer("axis", 1);
  if (axis < -rank || axis > rank) return fail(ErrorKind::kIndexOutOfRange, "axis {} is out of range: {}", axis, type);
  if (axis < 0) axis += rank;
  const auto split = static_cast<std::size_t>(axis);
  return n.reshape(n.input(0),
                   {product(std::span(type.shape).first(split)), product(std::span(type.shape).subspan(split))});
}

// Without axes, those of size 1 go; the rank of the result depends on sizes then.
Maybe import_squeeze(OnnxNode& n) {
  TW_ASSIGN(const TensorType type, n.type(0));
  TW_ASSIGN(const std::optional<Ints> given, given_axes(n));
  Ints axes;
  if (given) {
    TW_ASSIGN(axes, n.axes(*given, type.shape.size()));
  }
  Shape out;
  for (std::size_t axis = 0; axis < type.shape.size(); ++axis) {
    const Dim size = type.shape[axis];
    const bool named = std::find(axes.begin(), axes.end(), static_cast<std::int64_t>(axis)) != axes.end();
    Answer one = n.facts().is_one(size);
    if (!given && one == Answer::kUnknown) {
      TW_ASSIGN(const bool is_one, n.decide(Dim::make(DimOp::kEq, std::array{size, Dim(1)})));
      one = is_one ? Answer::kYes : Answer::kNo;
    }
    if (given ? named : one == Answer::kYes) {
      if (one == Answer::kNo) return fail(ErrorKind::kShapeMismatch, "axis {} of {} is not 1", axis, type);
      continue;
    }
    out.push_back(size);
  }
  return n.reshape(n.input(0), std::move(out));
}

Maybe import_unsqueeze(OnnxNode& n) {
  TW_ASSIGN(const std::optional<Ints> axes, given_axes(n));
  if (!axes) return fail(ErrorKind::kInvalidArgument, "the axes are missing");
  return n.unsqueeze(n.input(0), *axes);
}

Maybe import_transpose(OnnxNode& n) {
  TW_ASSIGN(const TensorType type, n.type(0));
  Ints perm = n.integers_of("perm").value_or(Ints());
  if (!n.has_attribute("perm")) {
    for (std::int64_t axis = std::ssize(type.shape) - 1; axis >= 0; --axis) perm.push_back(axis);
  }
  return n.transpose(n.input(0), std::move(perm));
}

// Broadcasts both ways: an axis of the result is the larger of the two.
Maybe import_expand(OnnxNode& n) {
  TW_ASSIGN(const TensorType type, n.type(0));
  TW_ASSIGN(Dims shape, n.integers(1));
  if (shape.size() < type.shape.size()) shape.insert(shape.begin(), type.shape.size() - shape.size(), Dim(1));
  const std::size_t skipped = shape.size() - type.shape.size();
  for (std::size_t axis = 0; axis < type.shape.size(); ++axis) {
    const Dim from = type.shape[axis];
    Dim& to = shape[skipped + axis];
    if (n.facts().is_one(from) == Answer::kYes || n.facts().same(from, to) == Answer::kYes) continue;
    to = n.facts().is_one(to) == Answer::kYes || n.facts().is_one(from) == Answer::kNo ? from : broadcast(from, to);
  }
  return n.expand(n.input(0), std::move(shape));
}

Result<Results> import_shape(OnnxNode& n) {
  TW_ASSIGN(const TensorType type, n.type(0));
  const auto rank = std::ssize(type.shape);
  const auto place = [&](std::int64_t at) { return std::clamp<std::int64_t>(at < 0 ? at + rank : at, 0, rank); };
  const std::int64_t start = place(n.integer("start", 0));
  const std::int64_t end = std::max(start, place(n.integer("end", rank)));
  Dims elements(type.shape.begin() + start, type.shape.begin() + end);
  return Results{host_value({DType::kI64, {end - start}, std::move(elements)})};
}

Result<Results> import_size(OnnxNode& n) {
  TW_ASSIGN(const TensorType type, n.type(0));
  return Results{host_value({DType::kI64, {}, {product(type.shape)}})};
}

}  // namespace tilewright::onnx
