// Segment: a compiled piece of a stream of eager operations. Inputs and outputs are memory of torch that the caller
// holds. Calls are re-entrant; the interpreter lock is released while the graph runs. A run that fails leaves its
// inputs as they were.
#pragma once

#include <nanobind/nanobind.h>

#include "src/graph_binding.h"
#include "tilewright/runtime/session.h"

namespace tilewright::python {

namespace nb = nanobind;

class Segment {
 public:
  Segment(const PyGraph& graph, nb::list output_strides);

  // Reals and integers: the scalar inputs of each kind, in order.
  void run(std::vector<runtime::TensorArg> inputs, std::span<std::byte* const> outputs, std::span<const double> reals,
           std::span<const std::int64_t> integers);
  nb::dict explain();
  std::string plan() const { return print(*session_->plan().graph); }
  void trim() { session_->trim(); }

 private:
  std::shared_ptr<Graph> graph_;
  std::unique_ptr<runtime::Session> session_;
  std::vector<std::size_t> at_risk_;  // inputs to be restored if a run fails
  // Of the last run, for explain(); guarded by the interpreter lock.
  std::vector<runtime::TensorArg> last_inputs_;
  std::vector<DimValue> last_scalars_;
};

}  // namespace tilewright::python
