// The other half of RandomProgram: reductions, norms, matmuls, movement, sources and results.
#pragma once

#include "tilewright/runtime/random_program.h"

namespace tilewright::runtime {

inline void RandomProgram::add_reduce() {
  const ValueId a = pick([&](ValueId v) { return !type(v).shape.empty(); });
  if (a == kNoValue) return;
  Ints axes;
  const auto rank = static_cast<std::int64_t>(type(a).shape.size());
  for (std::int64_t axis = 0; axis < rank; ++axis) {
    if (below(2) == 0) axes.push_back(axis);
  }
  if (axes.empty()) axes.push_back(below(rank));
  if (below(4) == 0) std::shuffle(axes.begin(), axes.end(), random_);
  const Bounds& x = bounds_[a];
  const double n = most_elements_;
  const Attrs attrs{{"axes", axes}, {"keepdim", below(2) == 0}};
  const bool real = is_float(type(a).dtype);
  switch (below(7)) {
    case 0:
      op(Op::kReduceSum, {a}, attrs, {x.magnitude * n, x.error * n, x.fraction_bits, x.exact});
      return;
    case 1:
      op(Op::kReduceMax, {a}, attrs, x, false);
      return;
    case 2:
      op(Op::kReduceMin, {a}, attrs, x, false);
      return;
    case 3:
      if (!real || (x.magnitude <= 1 && !x.exact))
        op(Op::kReduceProd, {a}, attrs, {real ? 1 : kUnknown, x.error * n, 0, false});
      return;
    case 4:
      op(below(2) == 0 ? Op::kReduceAny : Op::kReduceAll, {a}, attrs, x);
      return;
    case 5:
      op(Op::kReduceMean, {a}, attrs, inexact(a, 1, x.magnitude));
      return;
    default:
      if (x.magnitude < 30)
        op(below(2) == 0 ? Op::kLogSumExp : Op::kVariance, {a}, attrs,
           inexact(a, 4 * x.magnitude + 1, 4 * x.magnitude * x.magnitude + 12));
  }
}

inline ValueId RandomProgram::parameter(DType dtype, const Dims& shape) {
  switch (below(4)) {
    case 0: {  // every second element of a longer one
      Dims longer = shape;
      longer.back() = longer.back() * 2;
      const ValueId base = add_input(dtype, longer, true);
      Ints step(shape.size(), 1);
      step.back() = 2;
      return op(Op::kSlice, {base}, {{"start", Dims(shape.size(), Dim(0))}, {"stop", longer}, {"step", step}},
                bounds_[base], false);
    }
    case 1: {
      const ValueId base = add_input(dtype, {Dim(1)}, true);
      return op(Op::kExpand, {base}, {{"shape", shape}}, bounds_[base], false);
    }
    default:
      return add_input(dtype, shape, true);
  }
}

inline void RandomProgram::add_rows() {
  const ValueId a = pick([&](ValueId v) { return is_float(type(v).dtype) && !type(v).shape.empty(); });
  if (a == kNoValue) return;
  const auto rank = static_cast<std::int64_t>(type(a).shape.size());
  const Bounds x = bounds_[a];
  if (below(2) == 0) {
    const bool log = below(2) == 0;
    op(log ? Op::kLogSoftmax : Op::kSoftmax, {a}, {{"axis", below(3) == 0 ? below(rank) : rank - 1}},
       inexact(a, 2, log ? 2 * x.magnitude + 12 : 1));
    return;
  }
  const std::int64_t axes = below(2) == 0 ? 1 : 1 + below(rank);
  const Dims shape(type(a).shape.end() - axes, type(a).shape.end());
  const bool layer = below(2) == 0;
  std::vector<ValueId> inputs{a};
  const DType dtype = type(a).dtype;
  if (below(4) != 0) inputs.push_back(parameter(dtype, shape));
  if (layer && inputs.size() == 2 && below(3) != 0) inputs.push_back(parameter(dtype, shape));
  const Dim eps = below(4) == 0 ? Dim::float_symbol("f") * Dim::float_symbol("f") + Dim::real(0.5) : Dim::real(0.5);
  const double m = std::min(2.8 * x.magnitude, std::sqrt(most_elements_));
  op(layer ? Op::kLayerNorm : Op::kRmsNorm, inputs, {{"num_axes", axes}, {"eps", eps}},
     {2 * m + 2, 16 * x.error, 0, false});
}

inline void RandomProgram::add_matmul() {
  const ValueId a = pick(
      [&](ValueId v) { return is_float(type(v).dtype) && type(v).dtype != DType::kF64 && type(v).shape.size() >= 2; });
  if (a == kNoValue) return;
  const DType dtype = type(a).dtype;
  const Shape& left = type(a).shape;
  const Dim k = left.back();
  Shape right;
  for (std::size_t axis = 0; axis + 2 < left.size(); ++axis) {
    if (below(2) == 0 || !right.empty()) right.push_back(below(3) == 0 ? Dim(1) : left[axis]);
  }
  const Dim n = dim();
  const bool weight = below(2) == 0;
  ValueId b;
  if (below(3) == 0) {
    right.insert(right.end(), {n, k});
    b = add_input(dtype, right, weight);
    Ints perm(right.size());
    std::iota(perm.begin(), perm.end(), 0);
    std::swap(perm[perm.size() - 1], perm[perm.size() - 2]);
    b = op(Op::kTranspose, {b}, {{"perm", perm}}, bounds_[b], false);
  } else if (below(6) == 0) {
    b = add_input(dtype, {below(2) == 0 ? Dim(1) : n}, weight);
    right.insert(right.end(), {k, n});
    b = op(Op::kExpand, {b}, {{"shape", right}}, bounds_[b], false);
  } else {
    right.insert(right.end(), {k, n});
    b = add_input(dtype, right, weight);
  }
  if (b == kNoValue) return;
  const Bounds &x = bounds_[a], &y = bounds_[b];
  const double terms = most_elements_;
  const ValueId product =
      op(Op::kMatMul, {a, b}, {},
         {terms * x.magnitude * y.magnitude, terms * (x.error * y.magnitude + y.error * x.magnitude),
          x.fraction_bits + y.fraction_bits, x.exact && y.exact});
  if (product == kNoValue || below(2) == 0) return;
  const ValueId bias = add_input(dtype, {below(3) == 0 ? Dim(1) : n}, weight);
  const Bounds sum{bounds_[product].magnitude + 2, bounds_[product].error, bounds_[product].fraction_bits,
                   bounds_[product].exact};
  op(Op::kAdd, {product, bias}, {}, sum);
}

inline void RandomProgram::add_movement() {
  const ValueId a = pick();
  const Shape shape = type(a).shape;
  const auto rank = static_cast<std::int64_t>(shape.size());
  const Bounds same = bounds_[a];
  Dims target = shape;
  switch (below(7)) {
    case 0: {
      Ints perm(shape.size());
      std::iota(perm.begin(), perm.end(), 0);
      std::shuffle(perm.begin(), perm.end(), random_);
      op(Op::kTranspose, {a}, {{"perm", perm}}, same, false);
      return;
    }
    case 1: {
      Ints axes;
      for (std::int64_t axis = 0; axis < rank; ++axis) {
        if (below(2) == 0) axes.push_back(axis);
      }
      op(Op::kFlip, {a}, {{"axes", axes}}, same, false);
      return;
    }
    case 2: {
      Dims start(shape.size(), Dim(0)), stop = target;
      Ints step(shape.size(), 1);
      for (std::size_t axis = 0; axis < shape.size(); ++axis) {
        if (below(2) == 0) step[axis] = 1 + below(3);
        if (below(3) == 0) start[axis] = min(shape[axis], Dim(1));
        if (below(3) == 0) stop[axis] = max(floordiv(shape[axis] + 1, 2), start[axis]);
      }
      op(Op::kSlice, {a}, {{"start", start}, {"stop", stop}, {"step", step}}, same, false);
      return;
    }
    case 3:
      for (Dim& one : target) {
        if (one == Dim(1)) one = dim();
      }
      if (below(2) == 0 && rank < 4) target.insert(target.begin(), dim());
      op(Op::kExpand, {a}, {{"shape", target}}, same, false);
      return;
    case 4:
      if (rank < 5) target.insert(target.begin() + below(rank + 1), Dim(1));
      break;
    case 5:
      if (rank < 2) return;
      {
        const auto axis = below(rank - 1);
        target[static_cast<std::size_t>(axis)] =
            shape[static_cast<std::size_t>(axis)] * shape[static_cast<std::size_t>(axis) + 1];
        target.erase(target.begin() + axis + 1);
      }
      break;
    default:
      std::erase(target, Dim(1));
  }
  op(Op::kReshape, {a}, {{"shape", target}}, same, false);
}

inline void RandomProgram::add_source() {
  const DType type = dtype();
  static const Dim kNumbers[] = {
      Dim(3), Dim(-2), Dim(300), Dim((std::int64_t{1} << 40) + 3), Dim::symbol("k"), Dim::symbol("a") * 2 + 1};
  if (below(3) == 0) {
    Shape over = shape();
    if (over.empty()) return;
    const Attrs attrs{{"dtype", type},
                      {"shape", over},
                      {"axis", below(static_cast<std::int64_t>(over.size()))},
                      {"start", Dim(below(5) - 2)},
                      {"step", below(3) == 0 ? Dim::symbol("k") : Dim(below(4) - 1)}};
    op(Op::kIota, {}, attrs, {is_float(type) ? 3 * most_elements_ : kUnknown, 0, 0, true});
  } else if (below(2) == 0) {
    Tensor value(type, {static_cast<std::int64_t>(1 + below(3))});
    fill(random_, value);
    op(Op::kConstant, {}, {{"value", value}}, {is_float(type) ? 2.0 : 9.0, 0, 3, true});
  } else if (is_float(type)) {
    op(Op::kScalar, {}, {{"dtype", type}, {"value", below(2) == 0 ? Dim::float_symbol("f") : Dim::real(0.375)}},
       {2, 0, 3, true});
  } else {
    op(Op::kScalar, {}, {{"dtype", type}, {"value", any(kNumbers)}}, {kUnknown, 0, 0, true});
  }
}

inline void RandomProgram::finish() {
  std::vector<ValueId> outputs;
  const std::int64_t number = 1 + below(4);
  for (std::int64_t i = 0; i < number; ++i) {
    const std::int64_t last = std::min<std::int64_t>(static_cast<std::int64_t>(values_.size()), 6);
    outputs.push_back(below(3) == 0 ? pick() : values_[values_.size() - 1 - static_cast<std::size_t>(below(last))]);
  }
  graph_->set_outputs(outputs);
  if (below(3) != 0) return;
  for (ValueId input : graph_->inputs()) {
    if (below(2) == 0) continue;
    const ValueId value = pick([&](ValueId v) { return type(v) == type(input); });
    if (value == kNoValue || !builder_.op(Op::kAssign, {input, value}).ok()) continue;
    assigned_.push_back(input);
    assigned_values_.push_back(value);
  }
}

}  // namespace tilewright::runtime
