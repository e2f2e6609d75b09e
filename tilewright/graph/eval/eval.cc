// The walk: binds inputs, runs nodes in order, compares each result with its inferred type and says which node failed.
#include "tilewright/graph/eval/eval.h"

#include <fmt/format.h>

#include "tilewright/graph/eval/evaluator.h"

namespace tilewright {
namespace {

using Family = Results (*)(const EvalCall&);

Family contraction_family(Op op) {
  if (op == Op::kMatMul) return eval_matmul;
  return op == Op::kConv || op == Op::kConvTranspose ? eval_convolution : eval_pooling;
}

// Control and effects are the Evaluator's own (control.cc).
Family family_of(Op op) {
  switch (info(op).op_class) {
    case OpClass::kElementwise:
      return eval_elementwise;
    case OpClass::kReduce:
      return eval_reduce;
    case OpClass::kMovement:
      return eval_movement;
    case OpClass::kContraction:
      return contraction_family(op);
    case OpClass::kIndexing:
      return eval_indexing;
    case OpClass::kCreate:
      return eval_create;
    case OpClass::kScan:
      return eval_scan;
    case OpClass::kOrder:
      return eval_order;
    case OpClass::kRandom:
      return eval_random;
    case OpClass::kLate:
      return eval_late;
    case OpClass::kComposite:
      return eval_composite;
    case OpClass::kControl:
    case OpClass::kEffect:
      break;
  }
  return nullptr;
}

std::string node_text(const Graph& graph, const Node& node) {
  if (node.outputs.empty()) return std::string(info(node.op).text);
  return fmt::format("'{}' = {}", graph.value(node.outputs[0]).name, info(node.op).text);
}

}  // namespace

Results Evaluator::run(const Graph& graph, std::span<const Tensor> inputs) {
  Frame frame{graph, std::vector<Tensor>(graph.num_values()), {}};
  for (const Dim symbol : graph.scalar_inputs()) {
    const auto given = options_.scalars.find(symbol.name());
    if (given == options_.scalars.end()) continue;
    frame.symbols.bind(symbol,
                       symbol.is_float() ? HostValue::of(given->second.real) : HostValue::of(given->second.integer));
  }
  TW_TRY(bind(frame, inputs, "input"));
  for (const Dim symbol : graph.scalar_inputs()) {
    if (frame.symbols.knows(symbol)) continue;
    return fail(ErrorKind::kInvalidArgument, "scalar input '{}' has no value", symbol.name());
  }
  TW_ASSIGN(std::vector<Tensor> outputs, run_nodes(frame));
  for (Tensor& output : outputs) output = clone(output);
  return outputs;
}

// First every bare symbol takes its size, then every other dim is checked against what they are: an input may use a
// symbol that a later one binds.
Status Evaluator::bind(Frame& frame, std::span<const Tensor> inputs, std::string_view kind) {
  const Graph& graph = frame.graph;
  if (inputs.size() != graph.inputs().size()) {
    return fail(ErrorKind::kInvalidArgument, "expected {} inputs, got {}", graph.inputs().size(), inputs.size());
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const TensorType& type = graph.type(graph.inputs()[i]);
    for (std::size_t axis = 0; axis < std::min(type.shape.size(), inputs[i].rank()); ++axis) {
      const Dim dim = type.shape[axis];
      if (dim.is_symbol() && !frame.symbols.knows(dim)) frame.symbols.bind(dim, HostValue::of(inputs[i].sizes()[axis]));
    }
    frame.values[graph.inputs()[i]] = inputs[i];
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const Value& value = graph.value(graph.inputs()[i]);
    TW_TRY(frame.symbols.meet(value.type, inputs[i], fmt::format("{} '{}'", kind, value.name)));
  }
  return {};
}

Results Evaluator::run_nodes(Frame& frame) {
  const Graph& graph = frame.graph;
  for (const NodeId id : graph.order()) {
    const Node& node = graph.node(id);
    if (node.dead) continue;
    Results results = run_node(node, frame);
    if (!results.ok()) return std::move(results).error().in(node_text(graph, node));
    for (std::size_t i = 0; i < node.outputs.size(); ++i) frame.values[node.outputs[i]] = std::move((*results)[i]);
  }
  std::vector<Tensor> outputs;
  for (const ValueId output : graph.outputs()) outputs.push_back(frame.values[output]);
  return outputs;
}

Results Evaluator::run_node(const Node& node, Frame& frame) {
  TW_ASSIGN(const Attrs attrs, complete_attrs(node.op, node.attrs));
  const Family family = family_of(node.op);
  std::vector<Tensor> in;
  for (const ValueId input : node.inputs) {
    const Tensor& value = frame.values[input];
    in.push_back(family != nullptr ? value.contiguous() : value);
  }
  Results results = family != nullptr
                        ? family(EvalCall{node.op, in, attrs, frame.symbols})
                        : (info(node.op).op_class == OpClass::kControl ? run_control(node, attrs, in, frame)
                                                                       : run_effect(node, attrs, in, frame));
  if (!results.ok()) return results;
  if (results->size() != node.outputs.size()) {
    return fail(ErrorKind::kInternal, "expected {} results, got {}", node.outputs.size(), results->size());
  }
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    const Value& value = frame.graph.value(node.outputs[i]);
    TW_TRY(frame.symbols.meet(value.type, (*results)[i], fmt::format("result '{}'", value.name)));
  }
  return results;
}

Result<std::vector<Tensor>> eval(const Graph& graph, std::span<const Tensor> inputs, const EvalOptions& options) {
  Evaluator evaluator(options);
  Results outputs = evaluator.run(graph, inputs);
  if (outputs.ok()) evaluator.apply_writes();
  return outputs;
}

}  // namespace tilewright
