// The order of steps. Stacking puts steps that do not depend on each other side by side, so that they share a launch
// (launches.h): the experts of a mixture, the branches of a block, the parameters of an optimiser step.
#pragma once

#include "tilewright/passes/pass.h"
#include "tilewright/runtime/plan.h"

namespace tilewright::runtime {

// Reorders the steps of every segment; before views, lifetimes and launches are settled. A step comes forward only to
// stand beside one of its own kind and depth, and by a bounded distance: what it computes lives longer by no more.
void stack_steps(Plan& plan);

// A view stands right before its first reader: a reshape that has to copy holds memory no longer than it must.
void order_views(Plan& plan);

struct StepGroup {
  std::vector<NodeId> nodes;
  const passes::SpeculativeArea* area = nullptr;  // the nodes are its parts
};
// The nodes, assigns left out, in the order of the graph, but that the parts of a speculation stand together.
std::vector<StepGroup> group_steps(const Graph& graph, const PlanOptions& options);

}  // namespace tilewright::runtime
