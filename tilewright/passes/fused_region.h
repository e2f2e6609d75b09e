// Moving the nodes of areas into the regions of `fused` nodes.
#pragma once

#include "tilewright/passes/fuse_rules.h"

namespace tilewright::passes {

struct OutlinedArea {
  std::vector<NodeId> nodes;  // in the order of the graph
  AreaKind kind;
};

// Replaces the nodes of each area by one fused node; no node is in two areas, and merging them makes no cycle. Scalars,
// iotas and expands are copied into every region that reads them; a matmul reads its operands from outside. What only
// regions read is erased, and the graph sorted.
void outline_areas(Graph& graph, const std::vector<OutlinedArea>& areas);

// Scalars and iotas that something outside of areas reads become areas of their own.
bool outline_sources(Graph& graph);

}  // namespace tilewright::passes
