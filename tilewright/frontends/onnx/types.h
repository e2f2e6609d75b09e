// Element types and types of values, from the schema's to ours.
#pragma once

#include "messages.h"
#include "tilewright/graph/graph.h"

namespace tilewright::onnx {

Result<DType> to_dtype(std::int64_t elem_type);  // an error names the type that has no counterpart
std::optional<std::int64_t> elem_type_of(DType dtype);

}  // namespace tilewright::onnx
