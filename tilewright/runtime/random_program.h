// Random runnable graphs for property tests. Every value carries bounds: its largest magnitude, the error that a
// machine may make (from the conditioning of the ops before it), and how many bits it takes exactly. So what jumps
// (comparisons, rounding, casts to integers) is only applied to values on which all machines agree, and a tolerance
// follows for each output.
#pragma once

#include <algorithm>

#include "tilewright/graph/builder.h"
#include "tilewright/runtime/random_tensors.h"

namespace tilewright::runtime {

struct Bounds {
  double magnitude = 2;
  double error = 0;
  int fraction_bits = 3;
  bool exact = true;
};

class RandomProgram {
 public:
  static constexpr double kUnknown = 1e30;  // an integer that may have wrapped

  RandomProgram(std::uint64_t seed, std::int64_t most_elements)
      : random_(seed),
        most_elements_(static_cast<double>(most_elements)),
        graph_(std::make_unique<Graph>()),
        builder_(*graph_) {
    graph_->add_scalar_input(Dim::symbol("k"));
    graph_->add_scalar_input(Dim::float_symbol("f"));
    for (const char* name : {"a", "b", "c"}) add_input(dtype(), {Dim::symbol(name)});  // binds the symbol
    const std::int64_t inputs = 1 + below(3);
    for (std::int64_t i = 0; i < inputs; ++i) add_input(dtype(), shape());
    const std::int64_t nodes = 2 + (below(8) == 0 ? below(70) : below(14));
    for (std::int64_t tries = 0; static_cast<std::int64_t>(graph_->num_nodes()) < nodes && tries < 1000; ++tries)
      add_node();
    finish();
  }

  const Graph& graph() const { return *graph_; }
  const Bounds& bounds(ValueId value) const { return bounds_[value]; }
  bool is_assigned(std::size_t input) const {
    return std::find(assigned_.begin(), assigned_.end(), graph_->inputs()[input]) != assigned_.end();
  }
  const Bounds& assigned_bounds(std::size_t input) const {
    const auto found = std::find(assigned_.begin(), assigned_.end(), graph_->inputs()[input]);
    return bounds_[assigned_values_[static_cast<std::size_t>(found - assigned_.begin())]];
  }

 private:
  std::int64_t below(std::int64_t limit) { return runtime::below(random_, limit); }
  template <typename T, std::size_t N>
  const T& any(const T (&list)[N]) {
    return list[below(N)];
  }

  Dim dim() {
    static const Dim kDims[] = {
        1, 2, 3, 7, Dim::symbol("a"), Dim::symbol("a"), Dim::symbol("b"), Dim::symbol("b"), Dim::symbol("c")};
    return any(kDims);
  }
  Shape shape() {
    Shape out(static_cast<std::size_t>(below(5)));
    for (Dim& one : out) one = dim();
    return out;
  }
  DType dtype() { return below(2) == 0 ? DType::kF32 : static_cast<DType>(below(10)); }

  static double epsilon(DType dtype) {
    return dtype == DType::kF64 ? 1e-11 : dtype == DType::kF16 ? 0x1p-10 : dtype == DType::kBF16 ? 0x1p-7 : 0x1p-20;
  }
  static int mantissa(DType dtype) {
    return dtype == DType::kF64 ? 53 : dtype == DType::kF16 ? 11 : dtype == DType::kBF16 ? 8 : 24;
  }
  static double range_of(DType dtype) {
    switch (dtype) {
      case DType::kBool:
        return 1;
      case DType::kI8:
        return 127;
      case DType::kU8:
        return 255;
      case DType::kI16:
        return 32767;
      case DType::kI32:
        return 2147483647.0;
      case DType::kI64:
        return 9e18;
      default:
        return dtype == DType::kF16 ? 3e4 : 1e6;
    }
  }

  const TensorType& type(ValueId value) const { return graph_->type(value); }
  ValueId pick() { return values_[static_cast<std::size_t>(below(static_cast<std::int64_t>(values_.size())))]; }
  // A value that `wanted` accepts; kNoValue if chance finds none.
  static constexpr ValueId kNoValue = UINT32_MAX;
  template <typename F>
  ValueId pick(F&& wanted) {
    for (int tries = 0; tries < 12; ++tries) {
      const ValueId value = pick();
      if (wanted(value)) return value;
    }
    return kNoValue;
  }
  ValueId pick_float() {
    return pick([&](ValueId v) { return is_float(type(v).dtype); });
  }
  ValueId pick_like(ValueId other) {
    return pick([&](ValueId v) { return type(v).dtype == type(other).dtype; });
  }
  bool exact(ValueId v) const { return !is_float(type(v).dtype) || bounds_[v].exact; }

  ValueId add_input(DType dtype, const Shape& shape, bool weight = false) {
    const ValueId id = graph_->add_input({dtype, shape}, "x", weight ? InputRole::kWeight : InputRole::kData);
    Bounds bounds;
    if (!is_float(dtype)) bounds = {.magnitude = dtype == DType::kBool ? 1.0 : 9.0, .fraction_bits = 0};
    return keep(id, bounds);
  }

  ValueId keep(ValueId id, Bounds bounds) {
    bounds_.resize(std::max<std::size_t>(bounds_.size(), id + 1));
    bounds_[id] = bounds;
    values_.push_back(id);
    return id;
  }

  // Appends the op if its bounds are tame and the builder takes it. `rounds`: floats are rounded unless the bits fit.
  ValueId op(Op op, std::vector<ValueId> inputs, Attrs attrs, Bounds bounds, bool rounds = true) {
    for (ValueId input : inputs) {
      if (input == kNoValue) return kNoValue;
    }
    auto made = builder_.op(op, std::move(inputs), std::move(attrs));
    if (!made.ok()) return kNoValue;
    const ValueId id = (*made)[0];
    settle(type(id).dtype, bounds, rounds);
    const bool wild = is_float(type(id).dtype) && (bounds.magnitude > range_of(type(id).dtype) ||
                                                   bounds.error > 0.2 * std::max(1.0, bounds.magnitude));
    if (!wild) return keep(id, bounds);
    bounds_.resize(std::max<std::size_t>(bounds_.size(), id + 1));  // nobody reads it
    return kNoValue;
  }

  static void settle(DType dtype, Bounds& bounds, bool rounds) {
    if (!is_float(dtype)) {
      bounds.exact = true;
      bounds.error = 0;
      bounds.fraction_bits = 0;
      if (bounds.magnitude > range_of(dtype)) bounds.magnitude = kUnknown;
      return;
    }
    const double bits = std::ceil(std::log2(bounds.magnitude + 1)) + bounds.fraction_bits;
    if (bounds.exact && (!rounds || bits <= mantissa(dtype))) return;
    bounds.exact = false;
    bounds.error += epsilon(dtype) * std::max(1.0, bounds.magnitude);
  }

  Bounds combined(ValueId a, ValueId b) const {
    const Bounds &x = bounds_[a], &y = bounds_[b];
    return {std::max(x.magnitude, y.magnitude), std::max(x.error, y.error), std::max(x.fraction_bits, y.fraction_bits),
            x.exact && y.exact};
  }
  Bounds inexact(ValueId a, double lipschitz, double magnitude) const {
    return {magnitude, lipschitz * bounds_[a].error, 0, false};
  }

  void add_node();
  void add_unary_float();
  void add_kernel();
  void add_binary();
  void add_integer();
  void add_compare();
  void add_select();
  void add_cast();
  void add_reduce();
  void add_rows();
  void add_matmul();
  void add_movement();
  void add_source();
  void finish();
  ValueId parameter(DType dtype, const Dims& shape);

  Random random_;
  double most_elements_;
  std::unique_ptr<Graph> graph_;
  Builder builder_;
  std::vector<ValueId> values_;
  std::vector<Bounds> bounds_;
  std::vector<ValueId> assigned_, assigned_values_;
};

inline void RandomProgram::add_node() {
  switch (below(14)) {
    case 0:
    case 1:
      return add_unary_float();
    case 2:
    case 3:
    case 4:
      return add_binary();
    case 5:
      return add_integer();
    case 6:
      return add_compare();
    case 7:
      return add_select();
    case 8:
      return add_cast();
    case 9:
      return add_reduce();
    case 10:
      return add_rows();
    case 11:
      return below(2) == 0 ? add_matmul() : below(3) == 0 ? add_kernel() : add_source();
    default:
      return add_movement();
  }
}

inline void RandomProgram::add_unary_float() {
  const ValueId a = pick_float();
  if (a == kNoValue) return;
  const double m = bounds_[a].magnitude;
  if (below(3) == 0) {  // exact, or jumps
    static constexpr Op kContinuous[] = {Op::kNeg, Op::kAbs, Op::kRelu};
    static constexpr Op kJumps[] = {Op::kFloor, Op::kCeil, Op::kRound, Op::kTrunc, Op::kSign};
    if (!exact(a) || below(2) == 0) {
      op(any(kContinuous), {a}, {}, bounds_[a], false);
    } else {
      op(any(kJumps), {a}, {}, {m + 1, 0, 0, true}, false);
    }
    return;
  }
  static constexpr Op kSmooth[] = {Op::kSin,         Op::kCos,       Op::kTanh, Op::kAtan,  Op::kErf,
                                   Op::kSigmoid,     Op::kSilu,      Op::kGelu, Op::kAsinh, Op::kErfc,
                                   Op::kHardSigmoid, Op::kHardSwish, Op::kMish};
  static constexpr Op kExponential[] = {Op::kExp, Op::kExpm1, Op::kExp2, Op::kSinh, Op::kCosh};
  static constexpr Op kPositive[] = {Op::kSqrt,  Op::kRsqrt, Op::kReciprocal, Op::kLog,    Op::kLog2,
                                     Op::kLog10, Op::kLog1p, Op::kLgamma,     Op::kDigamma};
  const std::int64_t kind = below(4);
  if (kind < 2) {
    op(any(kSmooth), {a}, {}, inexact(a, 2, std::max(3.0, m)));
  } else if (kind == 2) {
    if (m <= 4) op(any(kExponential), {a}, {}, inexact(a, std::exp(m), std::exp(m)));
  } else if (m < 30) {
    const ValueId square =
        op(Op::kMul, {a, a}, {}, {m * m, 2 * m * bounds_[a].error, 2 * bounds_[a].fraction_bits, bounds_[a].exact});
    const ValueId one = op(Op::kScalar, {}, {{"dtype", type(a).dtype}, {"value", Dim(1)}}, {1, 0, 0, true});
    const ValueId sum =
        square == kNoValue
            ? kNoValue
            : op(Op::kAdd, {square, one}, {},
                 {m * m + 1, bounds_[square].error, bounds_[square].fraction_bits, bounds_[square].exact});
    if (sum != kNoValue) op(any(kPositive), {sum}, {}, inexact(sum, 10, 10 * (m + 1) * (m + 1)));
  }
}

// What has a kernel of its own beside the fuser.
inline void RandomProgram::add_kernel() {
  const ValueId a = pick([&](ValueId v) { return !type(v).shape.empty(); });
  if (a == kNoValue) return;
  const auto rank = static_cast<std::int64_t>(type(a).shape.size());
  const std::int64_t axis = below(rank);
  if (below(2) == 0) {
    const ValueId b =
        pick([&](ValueId v) { return type(v).dtype == type(a).dtype && type(v).shape.size() == type(a).shape.size(); });
    if (b != kNoValue) op(Op::kConcat, {a, b}, {{"axis", axis}}, combined(a, b), false);
    return;
  }
  Dims low(static_cast<std::size_t>(rank), Dim(0)), high = low;
  low[static_cast<std::size_t>(axis)] = below(3);
  high[static_cast<std::size_t>(below(rank))] = below(2);
  op(Op::kPad, {a}, {{"low", low}, {"high", high}, {"mode", std::string("constant")}}, bounds_[a], false);
}

inline void RandomProgram::add_binary() {
  const ValueId a = pick();
  const ValueId b = pick_like(a);
  if (b == kNoValue) return;
  const Bounds &x = bounds_[a], &y = bounds_[b];
  const Bounds both = combined(a, b);
  const std::int64_t kind = below(6);
  if (kind == 0) {
    static constexpr Op kSums[] = {Op::kAdd, Op::kSub};
    op(any(kSums), {a, b}, {}, {x.magnitude + y.magnitude, x.error + y.error, both.fraction_bits, both.exact});
  } else if (kind == 1) {
    op(Op::kMul, {a, b}, {},
       {x.magnitude * y.magnitude, x.error * y.magnitude + y.error * x.magnitude, x.fraction_bits + y.fraction_bits,
        both.exact});
  } else if (kind == 2) {
    static constexpr Op kExtremes[] = {Op::kMax, Op::kMin, Op::kFmax, Op::kFmin};
    op(any(kExtremes), {a, b}, {}, both, false);
  } else if (is_float(type(a).dtype) && kind == 3) {
    op(Op::kHypot, {a, b}, {}, {2 * both.magnitude, 2 * both.error, 0, false});
  } else if (is_float(type(a).dtype) && both.exact && graph_->value(b).producer == kNoNode && kind == 4) {
    op(Op::kCopySign, {a, b}, {}, x, false);
  } else if (is_float(type(a).dtype) && both.magnitude < 30) {
    const ValueId square =
        op(Op::kMul, {b, b}, {}, {y.magnitude * y.magnitude, 2 * y.magnitude * y.error, 2 * y.fraction_bits, y.exact});
    const ValueId one = op(Op::kScalar, {}, {{"dtype", type(a).dtype}, {"value", Dim(1)}}, {1, 0, 0, true});
    const double m = bounds_[b].magnitude;
    const ValueId sum =
        square == kNoValue
            ? kNoValue
            : op(Op::kAdd, {square, one}, {},
                 {m * m + 1, bounds_[square].error, bounds_[square].fraction_bits, bounds_[square].exact});
    if (sum != kNoValue)
      op(Op::kDiv, {a, sum}, {},
         {bounds_[a].magnitude, bounds_[a].error + bounds_[a].magnitude * bounds_[sum].error, 0, false});
  }
}

inline void RandomProgram::add_integer() {
  const ValueId a = pick([&](ValueId v) { return !is_float(type(v).dtype); });
  if (a == kNoValue) return;
  if (below(3) == 0) {
    static constexpr Op kUnary[] = {Op::kNeg,        Op::kAbs,   Op::kSign,  Op::kRelu,    Op::kBitNot,
                                    Op::kLogicalNot, Op::kFloor, Op::kIsNan, Op::kIsFinite};
    op(any(kUnary), {a}, {}, {bounds_[a].magnitude + 1, 0, 0, true});
    return;
  }
  const ValueId b = pick_like(a);
  if (b == kNoValue) return;
  static constexpr Op kBinary[] = {Op::kFloorDiv, Op::kTruncDiv, Op::kMod, Op::kRem, Op::kBitAnd,
                                   Op::kBitOr,    Op::kBitXor,   Op::kAdd, Op::kMul, Op::kMax};
  static constexpr Op kWild[] = {Op::kShiftLeft, Op::kShiftRight, Op::kPow};
  if (below(4) != 0) {
    const double m = bounds_[a].magnitude + bounds_[b].magnitude + 1;
    op(any(kBinary), {a, b}, {}, {m * m, 0, 0, true});
  } else if (type(a).dtype != DType::kBool && bounds_[b].magnitude < 100) {
    op(any(kWild), {a, b}, {}, {kUnknown, 0, 0, true});
  }
}

inline void RandomProgram::add_compare() {
  const ValueId a = pick([&](ValueId v) { return exact(v); });
  if (a == kNoValue) return;
  const ValueId b = pick([&](ValueId v) { return exact(v) && type(v).dtype == type(a).dtype; });
  static constexpr Op kCompare[] = {Op::kEq, Op::kNe, Op::kLt, Op::kLe, Op::kGt, Op::kGe};
  static constexpr Op kTest[] = {Op::kIsNan, Op::kIsInf, Op::kIsFinite, Op::kLogicalNot};
  const Bounds truth{1, 0, 0, true};
  if (below(5) == 0) {
    op(any(kTest), {a}, {}, truth);
  } else {
    op(any(kCompare), {a, b}, {}, truth);
  }
}

inline void RandomProgram::add_select() {
  const ValueId condition = pick([&](ValueId v) { return type(v).dtype == DType::kBool; });
  const ValueId a = pick();
  const ValueId b = pick_like(a);
  if (condition != kNoValue && b != kNoValue) op(Op::kSelect, {condition, a, b}, {}, combined(a, b), false);
}

inline void RandomProgram::add_cast() {
  const ValueId a = pick();
  const DType to = static_cast<DType>(below(10));
  const Bounds from = bounds_[a];
  const bool to_float = is_float(to);
  if (!to_float && !exact(a)) return;
  if ((to_float || is_float(type(a).dtype)) && from.magnitude > 1e5) return;
  Bounds bounds = from;
  if (!to_float) bounds = {.magnitude = from.magnitude, .fraction_bits = 0};
  if (type(a).dtype == DType::kBool) bounds.magnitude = 1;
  op(Op::kCast, {a}, {{"dtype", to}}, bounds);
}

}  // namespace tilewright::runtime
