// Which symbols a node binds when it runs: sizes and values that no expression gives before.
#pragma once

#include "tilewright/graph/graph.h"

namespace tilewright {

// Whether a carried value of a loop has a size of its own there: a symbol of the region's input that is not the size
// passed in. The loop binds it to the last size.
inline bool varies(Dim carried, Dim initial) {
  return carried.op() == DimOp::kSymbol && carried != initial;
}

// Without repeats, in the order of attributes and results. For a host call: every symbol that is a size of a result,
// also where an earlier node or an input has bound it.
std::vector<Dim> bound_symbols(const Graph& graph, const Node& node);

}  // namespace tilewright
