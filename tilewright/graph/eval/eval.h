// The oracle: runs a graph naively, node by node, in obvious code. Every primitive and dtype; composites through their
// definitions. Slow by intent. Also folds constants. `random` follows Philox exactly as the VM does.
#pragma once

#include <span>
#include <unordered_map>

#include "tilewright/graph/graph.h"
#include "tilewright/tensor/dim_program.h"

namespace tilewright {

struct EvalOptions {
  // Values for scalar inputs (symbols that no input dim binds), by name.
  std::unordered_map<std::string, DimValue> scalars;
  // Runs host_call nodes: target, inputs -> results. Null: an error.
  std::function<Result<std::vector<Tensor>>(std::int64_t, std::span<const Tensor>)> host_call;
};

// `inputs` in the order of graph.inputs(). Assign writes into the given input tensors, at the end of the run. Returns
// the outputs, each in memory of its own.
Result<std::vector<Tensor>> eval(const Graph& graph, std::span<const Tensor> inputs, const EvalOptions& options = {});

}  // namespace tilewright
