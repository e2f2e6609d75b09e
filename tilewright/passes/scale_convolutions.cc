// What multiplies or shifts the channels of a convolution joins its weights and its bias: batch norm, and biases that
// are nodes of their own.
//   add(mul(conv(x, w, b), s), t)  ->  conv(x, w * s, b * s + t)     s and t fixed, one element or one per channel
// The new weights depend on weights alone, so they are computed once (prepare_weights.cc). Of the outermost graph, f32.
#include "tilewright/passes/fixed_values.h"
#include "tilewright/passes/pass.h"
#include "tilewright/passes/pattern.h"
#include "tilewright/passes/replacements.h"
#include "tilewright/passes/users.h"

namespace tilewright::passes {
namespace {

class ScaleConvolutions {
 public:
  explicit ScaleConvolutions(Graph& graph) : graph_(graph), fixed_(graph), uses_(count_uses(graph)) {}

  std::optional<ValueId> rewrite(Builder& b, NodeId id) {
    const Node& node = graph_.node(id);
    if (node.op != Op::kMul && node.op != Op::kAdd && node.op != Op::kSub) return std::nullopt;
    for (std::size_t i = 0; i < (node.op == Op::kSub ? 1u : 2u); ++i) {
      const Node* conv = made_by(graph_, node.inputs[i], Op::kConv);
      if (conv == nullptr || !may_change(*conv) || !is_for_channels(node.inputs[1 - i], *conv)) continue;
      const std::uint32_t uses = uses_[node.outputs[0]];
      const ValueId joined = join(b, node.op, graph_.value(node.inputs[i]).producer, node.inputs[1 - i]);
      uses_.resize(graph_.num_values(), 0);
      uses_[joined] = uses;
      return joined;
    }
    return std::nullopt;
  }

 private:
  bool may_change(const Node& conv) const {
    const ValueId result = conv.outputs[0];
    return graph_.type(result).dtype == DType::kF32 && uses_[result] == 1 && fixed_.has(conv.inputs[1]) &&
           graph_.type(conv.inputs[1]).shape[0].constant().has_value() &&
           (conv.inputs.size() < 3 || fixed_.has(conv.inputs[2]));
  }

  // One element, or [C, 1, ..] with an axis for each spatial one, or that with a batch axis of 1.
  bool is_for_channels(ValueId value, const Node& conv) const {
    if (!fixed_.has(value)) return false;
    const Shape& shape = graph_.type(value).shape;
    const Shape& window = graph_.type(conv.inputs[1]).shape;
    if (shape.size() > window.size()) return false;
    const std::size_t lead = window.size() - shape.size();
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
      const bool is_channel = lead + axis == 1 && shape[axis] == window[0];
      if (!is_channel && shape[axis].constant() != 1) return false;
    }
    return true;
  }

  ValueId join(Builder& b, Op op, NodeId id, ValueId factor) {
    const std::vector<ValueId> inputs = graph_.node(id).inputs;
    const Attrs attrs = graph_.node(id).attrs;
    const Shape window = graph_.type(inputs[1]).shape;
    bool is_one = true;
    for (const Dim dim : graph_.type(factor).shape) is_one = is_one && dim.constant() == 1;
    const auto shaped = [&](Shape shape) {
      if (is_one) shape.clear();
      return graph_.type(factor).shape == shape ? factor : made(b.must(Op::kReshape, {factor}, {{"shape", shape}}));
    };
    ValueId weight = inputs[1];
    std::optional<ValueId> bias = inputs.size() > 2 ? std::optional(inputs[2]) : std::nullopt;
    if (op == Op::kMul) {
      Shape column(window.size(), Dim(1));
      column[0] = window[0];
      weight = made(b.must(Op::kMul, {weight, shaped(column)}));
    }
    const ValueId row = shaped({window[0]});
    if (bias) {
      bias = made(b.must(op, {*bias, row}));
    } else if (op != Op::kMul) {
      const ValueId shift = op == Op::kAdd ? row : made(b.must(Op::kNeg, {row}));
      bias = made(b.must(Op::kExpand, {shift}, {{"shape", Shape{window[0]}}}));
    }
    std::vector<ValueId> operands{inputs[0], weight};
    if (bias) operands.push_back(*bias);
    return b.must(Op::kConv, std::move(operands), attrs);
  }

  // A new value that depends on fixed ones alone.
  ValueId made(ValueId value) {
    fixed_.add(value);
    return value;
  }

  Graph& graph_;
  FixedValues fixed_;
  std::vector<std::uint32_t> uses_;  // by value
};

}  // namespace

bool scale_convolutions(Graph& graph) {
  ScaleConvolutions scale(graph);
  return rewrite_nodes(graph, [&](Builder& builder, NodeId id) { return scale.rewrite(builder, id); });
}

}  // namespace tilewright::passes
