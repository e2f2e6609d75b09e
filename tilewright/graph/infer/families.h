// Declares the infer functions that ops.def names, from the table itself. Arity and attributes have been checked before
// one is called, so each looks only at what its family adds: dtypes, ranks, axes and dims.
#pragma once

#include "tilewright/graph/infer/infer.h"

namespace tilewright {

#define OP(Name, text, inputs, results, Class, attrs, infer, ...) Result<Types> infer(const InferInput& in);
#include "tilewright/graph/ops.def"
#undef OP

}  // namespace tilewright
