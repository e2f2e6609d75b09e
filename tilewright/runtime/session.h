// Session: a compiled graph that can be called. Compiling runs the passes and builds the plan once; every call binds,
// encodes (or finds) programs and runs them. run() is re-entrant and thread-safe.
#pragma once

#include <memory>

#include "tilewright/passes/pass.h"
#include "tilewright/runtime/runner.h"

namespace tilewright::runtime {

struct SessionOptions {
  std::vector<std::vector<Dim>> output_strides;  // per output, in elements; empty: row-major
  passes::PipelineOptions pipeline;
  RunnerOptions runner;
  vm::Machine* machine = nullptr;  // null: the machine of the process
};

class Session {
 public:
  static Result<std::unique_ptr<Session>> compile(std::unique_ptr<Graph> graph, const SessionOptions& options = {});

  Status run(std::span<const TensorArg> inputs, std::span<const DimValue> scalars, OutputSink& sink,
             HostCalls* host = nullptr) {
    return runner_->run(inputs, scalars, sink, host);
  }
  // Tensors in, tensors out; scalars in the order of the graph's scalar inputs.
  Result<std::vector<Tensor>> run(std::span<const Tensor> inputs, std::span<const DimValue> scalars = {},
                                  HostCalls* host = nullptr);

  // The bytecode for inputs of these sizes (row-major), without running it: all of a plan without host steps, else the
  // part before the first of them.
  Result<std::vector<isa::Program>> encode(std::span<const std::vector<std::int64_t>> sizes,
                                           std::span<const DimValue> scalars = {});

  const Graph& source() const { return *source_; }  // as given
  const Plan& plan() const { return *plan_; }
  const std::vector<passes::PassReport>& passes() const { return reports_; }
  void trim() { runner_->trim(); }

 private:
  Session() = default;
  std::unique_ptr<Graph> source_;
  std::unique_ptr<Plan> plan_;
  std::unique_ptr<Runner> runner_;
  std::vector<passes::PassReport> reports_;
};

// The CPU machine that sessions share; made at first use. An error if TILEWRIGHT_ISA asks for a level that is not
// there.
Result<vm::Machine*> default_machine();

}  // namespace tilewright::runtime
