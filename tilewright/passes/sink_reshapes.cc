// Moves reshapes behind elementwise consumers, so that these become part of the area in front of the reshape: of a
// reduction, where the reshape only drops or adds axes of size 1, of a matmul, whatever it does, and of elementwise
// operations, softmax and norms whose result nobody else reads, if no other operand has to be reshaped for it.
//   sqrt(reshape(reduce_sum(x) keepdim=1))       ->  reshape(sqrt(reduce_sum(x) keepdim=1))
//   gelu(reshape(add(matmul(a, b), bias)))       ->  reshape(gelu(add(matmul(a, b), bias)))
//   add(reshape(matmul(a, b)), y)                ->  reshape(add(matmul(a, b), reshape(y)))
//   tanh(reshape(exp(x)))                        ->  reshape(tanh(exp(x)))
#include <algorithm>

#include "tilewright/passes/fuse_rules.h"
#include "tilewright/passes/pass.h"
#include "tilewright/passes/pattern.h"
#include "tilewright/passes/replacements.h"

namespace tilewright::passes {
namespace {

class Sink {
 public:
  explicit Sink(Graph& graph) : graph_(graph), uses_(graph.num_values(), 0) {
    for (NodeId id : graph.order()) {
      for (ValueId input : graph.node(id).inputs) ++uses_[input];
      for (const auto& region : graph.node(id).regions) {
        for (const Graph::Capture& capture : region->captures()) ++uses_[capture.outer];
      }
    }
    for (ValueId output : graph.outputs()) ++uses_[output];
  }

  std::optional<ValueId> rewrite(Builder& builder, NodeId id) {
    const Node& node = graph_.node(id);
    if (!is_elementwise(node.op) && node.op != Op::kGelu && node.op != Op::kSilu) return std::nullopt;
    const Shape result = graph_.type(node.outputs[0]).shape;
    const std::optional<ValueId> kept = reduced_behind(node, result);
    if (!kept) return std::nullopt;
    const Shape shape = graph_.type(*kept).shape;
    std::vector<ValueId> inputs = node.inputs;
    for (ValueId input : inputs) {
      const Shape& given = graph_.type(input).shape;
      if (!given.empty() && !same_shape(given, result, graph_.facts)) return std::nullopt;
    }
    const Op op = node.op;
    const Attrs attrs = node.attrs;
    for (ValueId& input : inputs) input = reshaped(builder, input, shape);
    const ValueId sunk = builder.must(op, std::move(inputs), attrs);
    sunk_.resize(graph_.num_values(), 0);
    sunk_[sunk] = 1;
    return builder.must(Op::kReshape, {sunk}, {{"shape", result}});
  }

 private:
  static constexpr int kMaxEpilogue = 8;  // operations looked through on the way to a matmul

  // The reduction, or what was computed from it alone, behind a reshape among the inputs.
  std::optional<ValueId> reduced_behind(const Node& node, const Shape& result) const {
    for (ValueId input : node.inputs) {
      const Node* reshape = made_by(graph_, input, Op::kReshape);
      if (reshape == nullptr) continue;
      const ValueId value = reshape->inputs[0];
      const NodeId producer = graph_.value(value).producer;
      if (producer == kNoNode) continue;
      const bool is_reduced =
          info(graph_.node(producer).op).op_class == OpClass::kReduce || (value < sunk_.size() && sunk_[value] != 0);
      if (!is_reduced || graph_.type(value).shape.empty()) continue;
      if (same_but_for_units(graph_.type(value).shape, result, graph_.facts)) return value;
    }
    for (ValueId input : node.inputs) {
      const Node* reshape = made_by(graph_, input, Op::kReshape);
      if (reshape != nullptr && is_matmul_result(reshape->inputs[0], kMaxEpilogue)) return reshape->inputs[0];
    }
    for (ValueId input : node.inputs) {
      if (is_reshape_of_area(input) && others_fit(node, made_by(graph_, input, Op::kReshape)->inputs[0]))
        return made_by(graph_, input, Op::kReshape)->inputs[0];
    }
    return std::nullopt;
  }

  // A reshape, with one reader, of what an area computes for this reshape alone.
  bool is_reshape_of_area(ValueId value) const {
    const Node* reshape = made_by(graph_, value, Op::kReshape);
    if (reshape == nullptr || !has_one_reader(value) || !has_one_reader(reshape->inputs[0])) return false;
    const NodeId producer = graph_.value(reshape->inputs[0]).producer;
    if (producer == kNoNode || graph_.type(reshape->inputs[0]).shape.empty()) return false;
    switch (const Op op = graph_.node(producer).op) {
      case Op::kGelu:
      case Op::kSilu:
      case Op::kSoftmax:
      case Op::kLogSoftmax:
      case Op::kLayerNorm:
      case Op::kRmsNorm:
        return true;
      default:
        return is_elementwise(op);
    }
  }

  // Values that this pass made have one.
  bool has_one_reader(ValueId value) const { return value >= uses_.size() || uses_[value] == 1; }

  // Whether the operands are numbers or reshapes of the same shape, so that none has to be reshaped.
  bool others_fit(const Node& node, ValueId kept) const {
    return std::all_of(node.inputs.begin(), node.inputs.end(), [&](ValueId input) {
      if (graph_.type(input).shape.empty()) return true;
      const Node* reshape = made_by(graph_, input, Op::kReshape);
      return reshape != nullptr &&
             same_shape(graph_.type(reshape->inputs[0]).shape, graph_.type(kept).shape, graph_.facts);
    });
  }

  // A matmul, or elementwise operations on its result.
  bool is_matmul_result(ValueId value, int depth) const {
    const NodeId producer = graph_.value(value).producer;
    if (producer == kNoNode || depth == 0) return false;
    const Node& node = graph_.node(producer);
    if (is_product(node.op)) return true;
    if (!is_elementwise(node.op) && node.op != Op::kGelu && node.op != Op::kSilu) return false;
    for (ValueId input : node.inputs) {
      if (graph_.type(input).shape == graph_.type(value).shape && is_matmul_result(input, depth - 1)) return true;
    }
    return false;
  }

  ValueId reshaped(Builder& builder, ValueId value, const Shape& shape) const {
    if (const Node* reshape = made_by(graph_, value, Op::kReshape)) {
      if (same_shape(graph_.type(reshape->inputs[0]).shape, shape, graph_.facts)) return reshape->inputs[0];
    }
    if (graph_.type(value).shape.empty()) return value;  // broadcasts
    return builder.must(Op::kReshape, {value}, {{"shape", shape}});
  }

  Graph& graph_;
  std::vector<std::uint32_t> uses_;  // by value, before the pass
  std::vector<char> sunk_;           // by value
};

}  // namespace

bool sink_reshapes(Graph& graph) {
  Sink sink(graph);
  return rewrite_nodes(graph, [&](Builder& builder, NodeId id) { return sink.rewrite(builder, id); });
}

}  // namespace tilewright::passes
