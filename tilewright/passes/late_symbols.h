// Late symbols: sizes that a node binds when it has run. A node that uses one depends on the node that binds it, even
// if it reads none of its values.
#pragma once

#include "tilewright/graph/graph.h"

namespace tilewright::passes {

// Per node, the nodes that bind late symbols it uses in attributes, result types or regions. Empty if no node binds
// any.
std::vector<std::vector<NodeId>> late_dependencies(const Graph& graph);

}  // namespace tilewright::passes
