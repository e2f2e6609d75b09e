// Builder: appends nodes to a Graph, inferring result types. Errors name the op and the types that were given.
#pragma once

#include "tilewright/graph/graph.h"

namespace tilewright {

class Builder {
 public:
  explicit Builder(Graph& graph) : graph_(graph) {}

  // Appends `op` and returns its results. Missing optional attributes get their defaults.
  Result<std::vector<ValueId>> op(Op op, std::vector<ValueId> inputs, Attrs attrs = {},
                                  std::vector<std::unique_ptr<Graph>> regions = {}, std::string_view name = "");
  // For an op with one result whose inputs are known to be right (composite definitions, passes).
  ValueId must(Op op, std::vector<ValueId> inputs, Attrs attrs = {});

  ValueId scalar(DType dtype, Dim value) { return must(Op::kScalar, {}, {{"dtype", dtype}, {"value", value}}); }
  Graph& graph() { return graph_; }
  const TensorType& type(ValueId value) const { return graph_.type(value); }

 private:
  Graph& graph_;
};

}  // namespace tilewright
