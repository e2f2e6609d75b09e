// What became of a compiled graph, as Python values.
#pragma once

#include <nanobind/nanobind.h>

#include <vector>

#include "tilewright/runtime/session.h"

namespace tilewright::python {

// Kernels, refused merges, passes; bytes moved at the sizes of these inputs.
nanobind::dict explain_session(runtime::Session& session, const std::vector<runtime::TensorArg>& inputs,
                               const std::vector<DimValue>& scalars);

}  // namespace tilewright::python
