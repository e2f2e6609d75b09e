// If. A condition that is known imports one branch only, in place. Otherwise both become regions, and a size in which
// the branches differ is a symbol bound when one of them has run. Branches that one node cannot hold (their results
// differ in rank or dtype, or they can only be built in place) make the model depend on the condition: it is imported
// once for each branch.
#include "tilewright/frontends/onnx/operators.h"

namespace tilewright::onnx {
namespace {

Status check_alike(const Graph& yes, const Graph& no) {
  if (yes.outputs().size() != no.outputs().size()) {
    return fail(ErrorKind::kInvalidArgument, "the branches have {} and {} results", yes.outputs().size(),
                no.outputs().size());
  }
  for (std::size_t i = 0; i < yes.outputs().size(); ++i) {
    const TensorType& a = yes.type(yes.outputs()[i]);
    const TensorType& b = no.type(no.outputs()[i]);
    if (a.dtype != b.dtype) return fail(ErrorKind::kDTypeMismatch, "result {} of the branches: {} and {}", i, a, b);
    if (a.shape.size() != b.shape.size()) {
      return fail(ErrorKind::kUnsupported, "result {} has another rank in each branch: {} and {}", i, a, b);
    }
  }
  return {};
}

Dims differing_sizes(OnnxNode& n, const Graph& yes, const Graph& no) {
  Dims late;
  for (std::size_t i = 0; i < yes.outputs().size(); ++i) {
    const Shape& a = yes.type(yes.outputs()[i]).shape;
    const Shape& b = no.type(no.outputs()[i]).shape;
    for (std::size_t axis = 0; axis < a.size(); ++axis) {
      if (n.facts().same(a[axis], b[axis]) != Answer::kYes) late.push_back(n.fresh_symbol("n"));
    }
  }
  return late;
}

std::optional<bool> known_condition(OnnxNode& n) {
  const HostTensor* known = n.known(0);
  if (known == nullptr || known->elements.size() != 1 || !known->elements[0].constant()) return std::nullopt;
  return known->elements[0].constant() != 0;
}

Result<Results> in_place(OnnxNode& n, bool condition) {
  return n.inline_subgraph(condition ? "then_branch" : "else_branch", {});
}

Result<Results> at_run_time(OnnxNode& n) {
  const Maybe condition = n.reshape(n.input(0), {});
  TW_ASSIGN(const ValueId scalar, Maybe(condition));
  TW_ASSIGN(Region yes, n.region("then_branch", {}));
  TW_ASSIGN(Region no, n.region("else_branch", {}));
  TW_TRY(n.finish_region(yes));
  TW_TRY(n.finish_region(no));
  TW_TRY(check_alike(*yes.graph, *no.graph));
  Dims late = differing_sizes(n, *yes.graph, *no.graph);
  std::vector<std::unique_ptr<Graph>> regions;
  regions.push_back(std::move(yes.graph));
  regions.push_back(std::move(no.graph));
  TW_ASSIGN(const std::vector<ValueId> values,
            n.ops(Op::kIf, {scalar}, {{"late", std::move(late)}}, std::move(regions)));
  Results results;
  for (std::size_t i = 0; i < values.size(); ++i) {
    n.scope().set_carried(values[i], yes.results[i]->carried);
    results.push_back(n.result(values[i]));
  }
  return results;
}

}  // namespace

Result<Results> import_if(OnnxNode& n) {
  if (n.subgraph("then_branch") == nullptr || n.subgraph("else_branch") == nullptr || !n.has(0)) {
    return fail(ErrorKind::kInvalidArgument, "needs a condition and two branches");
  }
  TW_ASSIGN(const TensorType type, n.type(0));
  if (type.dtype != DType::kBool) return fail(ErrorKind::kDTypeMismatch, "the condition must be bool: {}", type);
  if (const auto condition = known_condition(n)) return in_place(n, *condition);
  auto results = at_run_time(n);
  if (results.ok() || n.asks()) return results;
  if (const Status learnt = n.learn(0); !learnt.ok()) {
    if (n.asks()) return Error(learnt.error());
    return results;
  }
  const auto condition = known_condition(n);
  if (!condition) return fail(ErrorKind::kShapeMismatch, "the condition must have one element");
  return in_place(n, *condition);
}

}  // namespace tilewright::onnx
