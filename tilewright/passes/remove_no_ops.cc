// Removes nodes whose result is one of their inputs, bit for bit: x + 0 stays for floats, because -0 + 0 is 0.
#include <algorithm>
#include <cmath>

#include "tilewright/passes/pass.h"
#include "tilewright/passes/pattern.h"
#include "tilewright/passes/replacements.h"

namespace tilewright::passes {
namespace {

// Whether every value of `from` has an image in `to` that casts back to it.
bool widens(DType from, DType to) {
  if (from == to) return true;
  if (is_float(from)) return (is_float(to) && byte_size(to) > byte_size(from));
  if (!is_integer(from)) return false;
  if (is_float(to)) return to == DType::kF64 ? byte_size(from) <= 4 : to == DType::kF32 && byte_size(from) <= 2;
  if (kind(from) == kind(to)) return byte_size(to) > byte_size(from);
  return kind(from) == 'u' && kind(to) == 'i' && byte_size(to) > byte_size(from);
}

class NoOps {
 public:
  NoOps(const Graph& graph, const Node& node) : graph_(graph), node_(node) {}

  std::optional<ValueId> result() const {
    switch (node_.op) {
      case Op::kCast:
        return of_cast();
      case Op::kBitcast:
        return graph_.type(x()).dtype == node_.attrs.dtype("dtype") ? std::optional(x()) : std::nullopt;
      case Op::kSlice:
        return if_true(is_whole_slice());
      case Op::kUpdateSlice:
        return is_whole_update() ? keeps_shape(node_.inputs[1]) : std::nullopt;
      case Op::kPad:
        return if_true(all_zero(node_.attrs.dims("low")) && all_zero(node_.attrs.dims("high")));
      case Op::kConcat:
        return if_true(node_.inputs.size() == 1);
      case Op::kFlip:
        return if_true(all_units(node_.attrs.ints("axes")));
      case Op::kRoll:
        return if_true(all_units(node_.attrs.ints("axes")) || all_zero(node_.attrs.dims("shift")));
      case Op::kNeg:
      case Op::kLogicalNot:
      case Op::kBitNot:
        return of_twice();
      case Op::kFloor:
      case Op::kCeil:
      case Op::kRound:
      case Op::kTrunc:
        return if_true(!is_float(graph_.type(x()).dtype) || made_by(graph_, x(), node_.op) != nullptr);
      case Op::kAbs:
      case Op::kRelu:
        return if_true(made_by(graph_, x(), node_.op) != nullptr);
      case Op::kSelect:
        return node_.inputs[1] == node_.inputs[2] ? keeps_shape(node_.inputs[1]) : std::nullopt;
      case Op::kMax:
      case Op::kMin:
      case Op::kBitAnd:
      case Op::kBitOr:
        return node_.inputs[0] == node_.inputs[1] ? std::optional(x()) : of_neutral();
      default:
        return of_neutral();
    }
  }

 private:
  ValueId x() const { return node_.inputs[0]; }
  std::optional<ValueId> if_true(bool is_no_op) const { return is_no_op ? std::optional(x()) : std::nullopt; }

  std::optional<ValueId> keeps_shape(ValueId value) const {
    if (!same_shape(graph_.type(value).shape, graph_.type(node_.outputs[0]).shape, graph_.facts)) return std::nullopt;
    return value;
  }

  std::optional<ValueId> of_cast() const {
    const DType to = node_.attrs.dtype("dtype");
    if (graph_.type(x()).dtype == to) return x();
    const Node* inner = made_by(graph_, x(), Op::kCast);
    if (inner == nullptr) return std::nullopt;
    const DType from = graph_.type(inner->inputs[0]).dtype;
    return from == to && widens(from, graph_.type(x()).dtype) ? std::optional(inner->inputs[0]) : std::nullopt;
  }

  std::optional<ValueId> of_twice() const {
    const Node* inner = made_by(graph_, x(), node_.op);
    if (inner == nullptr) return std::nullopt;
    if (node_.op == Op::kLogicalNot && graph_.type(inner->inputs[0]).dtype != DType::kBool) return std::nullopt;
    return inner->inputs[0];
  }

  bool is_whole_slice() const {
    const Dims &start = node_.attrs.dims("start"), &stop = node_.attrs.dims("stop");
    const Ints& step = node_.attrs.ints("step");
    const Shape& shape = graph_.type(x()).shape;
    return all_zero(start) && same_shape(stop, shape, graph_.facts) &&
           std::all_of(step.begin(), step.end(), [](std::int64_t one) { return one == 1; });
  }

  bool is_whole_update() const {
    const Ints& step = node_.attrs.ints("step");
    return all_zero(node_.attrs.dims("start")) &&
           std::all_of(step.begin(), step.end(), [](std::int64_t one) { return one == 1; });
  }

  bool all_zero(const Dims& dims) const {
    return std::all_of(dims.begin(), dims.end(), [&](Dim dim) { return graph_.facts.is_zero(dim) == Answer::kYes; });
  }
  bool all_units(const Ints& axes) const {
    const Shape& shape = graph_.type(x()).shape;
    return std::all_of(axes.begin(), axes.end(), [&](std::int64_t axis) {
      return graph_.facts.is_one(shape[static_cast<std::size_t>(axis)]) == Answer::kYes;
    });
  }

  // The number with which op(x, number) is x.
  std::optional<double> neutral(bool on_the_right) const {
    const bool real = is_float(graph_.type(node_.outputs[0]).dtype);
    switch (node_.op) {
      case Op::kAdd:
        return real ? -0.0 : 0.0;
      case Op::kMul:
        return 1.0;
      case Op::kBitOr:
      case Op::kBitXor:
        return 0.0;
      case Op::kSub:
      case Op::kShiftLeft:
      case Op::kShiftRight:
        return on_the_right ? std::optional(0.0) : std::nullopt;
      case Op::kDiv:
        return on_the_right ? std::optional(1.0) : std::nullopt;
      case Op::kFloorDiv:
      case Op::kTruncDiv:
        return on_the_right && !real ? std::optional(1.0) : std::nullopt;
      default:
        return std::nullopt;
    }
  }

  std::optional<ValueId> of_neutral() const {
    if (node_.inputs.size() != 2 || !is_elementwise(node_.op)) return std::nullopt;
    for (std::size_t i = 0; i < 2; ++i) {
      const std::optional<double> wanted = neutral(i == 1);
      if (!wanted) continue;
      const std::optional<double> number = known_number(graph_, node_.inputs[i]);
      if (!number || *number != *wanted || std::signbit(*number) != std::signbit(*wanted)) continue;
      if (const auto kept = keeps_shape(node_.inputs[1 - i])) return kept;
    }
    return std::nullopt;
  }

  const Graph& graph_;
  const Node& node_;
};

}  // namespace

bool remove_no_ops(Graph& graph) {
  return rewrite_nodes(graph, [&](Builder&, NodeId id) { return NoOps(graph, graph.node(id)).result(); });
}

}  // namespace tilewright::passes
