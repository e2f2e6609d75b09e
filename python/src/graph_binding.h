// PyGraph: a graph as Python holds it.
#pragma once

#include <memory>

#include "tilewright/graph/graph.h"

namespace tilewright::python {

struct PyGraph {
  std::shared_ptr<Graph> graph;
};

}  // namespace tilewright::python
