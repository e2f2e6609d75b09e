// Prepared values: what a plan computes from weights alone, computed again only when a weight has changed. To the plan
// they are weights among its inputs, with an identity of their own for each time they were computed, so that what is
// packed of them is packed anew as well. Thread-safe; a call holds what it reads.
#pragma once

#include <mutex>

#include "tilewright/runtime/arguments.h"
#include "tilewright/runtime/plan.h"
#include "tilewright/vm/machine.h"

namespace tilewright::runtime {

class Runner;
struct RunnerOptions;

struct PreparedValues {
  std::vector<TensorArg> sources;    // the weights
  std::vector<Tensor> tensors;       // computed from them
  std::vector<TensorArg> arguments;  // the same
};

class Prepared {
 public:
  Prepared(const PreparedPlan& plan, vm::Machine& machine, const RunnerOptions& options);
  ~Prepared();

  // `inputs` of the graph that the values belong to.
  Result<std::shared_ptr<const PreparedValues>> values(std::span<const TensorArg> inputs);

 private:
  bool are_current(std::span<const TensorArg> inputs) const;

  const PreparedPlan& plan_;
  std::unique_ptr<Runner> runner_;
  std::mutex mutex_;
  std::shared_ptr<const PreparedValues> held_;
};

// Whether the node is a call whose results can be prepared: it reads weights of the outermost graph, has no effect, and
// all sizes are known.
bool is_prepared(const Graph& graph, const Node& node);

// Arguments for the results of such a plan, without data.
void add_arguments(const Plan& prepared, std::vector<TensorArg>& arguments);

}  // namespace tilewright::runtime
