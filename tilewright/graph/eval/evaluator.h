// Evaluator: one run of the oracle over a graph and its regions. A frame holds the values and symbols of one graph
// while it runs; a region gets a frame of its own, with a copy of the symbols. Writes of `assign` wait until the run
// has succeeded.
#pragma once

#include "tilewright/graph/eval/eval.h"
#include "tilewright/graph/eval/families.h"

namespace tilewright {

Result<bool> truth(const Tensor& condition);  // one bool

class Evaluator {
 public:
  explicit Evaluator(const EvalOptions& options) : options_(options) {}

  // The outermost graph. Its outputs are copies.
  Results run(const Graph& graph, std::span<const Tensor> inputs);
  void apply_writes();

 private:
  struct Frame {
    const Graph& graph;
    std::vector<Tensor> values;  // by ValueId
    Symbols symbols;
  };
  struct Write {
    Tensor buffer;  // shares the caller's memory
    Tensor value;
  };

  Status bind(Frame& frame, std::span<const Tensor> inputs, std::string_view kind);
  Results run_nodes(Frame& frame);
  Results run_region(const Graph& region, std::span<const Tensor> inputs, const Frame& outer);
  Results run_node(const Node& node, Frame& frame);
  Results run_control(const Node& node, const Attrs& attrs, std::span<const Tensor> in, Frame& frame);
  Results run_while(const Node& node, std::span<const Tensor> in, Frame& frame);
  Results run_scan(const Node& node, const Attrs& attrs, std::span<const Tensor> in, Frame& frame);
  Results run_effect(const Node& node, const Attrs& attrs, std::span<const Tensor> in, Frame& frame);

  const EvalOptions& options_;
  std::vector<Write> writes_;
};

}  // namespace tilewright
