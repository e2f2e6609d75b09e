// Moving nodes of an area into the region of one `fused` node.
#pragma once

#include "tilewright/passes/fuse_rules.h"

namespace tilewright::passes {

// Replaces `nodes` (in order) by one fused node. Free producers (scalars, iota, expand) are copied into the region. The new
// node is appended at the end of the order.
void outline_area(Graph& graph, const std::vector<NodeId>& nodes, AreaKind kind);

// Scalars and iotas that something outside of areas reads become areas of their own.
bool outline_sources(Graph& graph);

}  // namespace tilewright::passes
