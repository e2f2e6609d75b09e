#include "tilewright/graph/builder.h"

#include "tilewright/graph/infer/infer.h"

namespace tilewright {
namespace {

std::string expected_inputs(const OpInfo& op) {
  const auto count = [](std::size_t n) { return fmt::format("{} input{}", n, n == 1 ? "" : "s"); };
  if (op.min_inputs == op.max_inputs) return count(op.min_inputs);
  if (op.max_inputs == SIZE_MAX) return "at least " + count(op.min_inputs);
  return fmt::format("{} to {} inputs", op.min_inputs, op.max_inputs);
}

Status check_inputs(const Graph& graph, const OpInfo& op, std::span<const ValueId> inputs) {
  if (inputs.size() < op.min_inputs || inputs.size() > op.max_inputs) {
    return fail(ErrorKind::kInvalidArgument, "{} expected, {} given", expected_inputs(op), inputs.size());
  }
  for (const ValueId input : inputs) {
    if (input >= graph.num_values()) {
      return fail(ErrorKind::kInvalidArgument, "input {} is not a value of the graph, which has {}", input,
                  graph.num_values());
    }
  }
  return {};
}

struct Checked {
  Attrs attrs;
  Types results;
};

Result<Checked> check(const Graph& graph, Op op, std::span<const ValueId> inputs, const Attrs& given,
                      std::span<const std::unique_ptr<Graph>> regions) {
  TW_TRY(check_inputs(graph, info(op), inputs));
  TW_ASSIGN(Attrs attrs, complete_attrs(op, given));
  Types types;
  types.reserve(inputs.size());
  for (const ValueId input : inputs) types.push_back(graph.type(input));
  TW_ASSIGN(Types results, infer({op, std::move(types), attrs, regions, graph.facts}));
  return Checked{std::move(attrs), std::move(results)};
}

}  // namespace

Result<std::vector<ValueId>> Builder::op(Op op, std::vector<ValueId> inputs, Attrs attrs,
                                         std::vector<std::unique_ptr<Graph>> regions, std::string_view name) {
  Result<Checked> checked = check(graph_, op, inputs, attrs, regions);
  if (!checked.ok()) {
    const std::string_view text = info(op).text;
    return std::move(checked).error().in(name.empty() ? std::string(text) : fmt::format("'{}' = {}", name, text));
  }
  const NodeId node = graph_.add_node(op, std::move(inputs), std::move(checked->attrs), std::move(checked->results),
                                      std::move(regions), name);
  return graph_.node(node).outputs;
}

ValueId Builder::must(Op op, std::vector<ValueId> inputs, Attrs attrs) {
  Result<std::vector<ValueId>> results = this->op(op, std::move(inputs), std::move(attrs));
  TW_CHECK(results.ok(), results.error().message);
  TW_CHECK(results->size() == 1, info(op).text);
  return results->front();
}

}  // namespace tilewright
