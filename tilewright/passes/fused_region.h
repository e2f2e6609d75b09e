// Moving the nodes of areas into the regions of `fused` nodes.
#pragma once

#include "tilewright/passes/fuse_rules.h"
#include "tilewright/passes/pass.h"

namespace tilewright::passes {

struct OutlinedArea {
  std::vector<NodeId> nodes;  // in the order of the graph
  AreaKind kind;
};

// Areas of a list that are one if sizes agree.
struct JoinedAreas {
  std::vector<std::size_t> parts;  // of the list, which are the areas otherwise
  OutlinedArea whole;
  Dims equal;
};

// Replaces the nodes of each area by one fused node; no node is in two areas, and merging them makes no cycle. Scalars,
// iotas and expands are copied into every region that reads them; a matmul reads its operands from outside. What only
// regions read is erased, and the graph sorted.
// Returns what `joined` became.
std::vector<SpeculativeArea> outline_areas(Graph& graph, const std::vector<OutlinedArea>& areas,
                                           const std::vector<JoinedAreas>& joined = {});

// Scalars and iotas that something outside of areas reads become areas of their own.
bool outline_sources(Graph& graph);

}  // namespace tilewright::passes
