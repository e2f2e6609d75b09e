// Operators of the graph on values whose element type is carried by another dtype: OnnxNode::ops comes here when a
// graph has such values.
#pragma once

#include "tilewright/frontends/onnx/node.h"

namespace tilewright::onnx {

Result<std::vector<ValueId>> carried_ops(OnnxNode& n, Op op, const std::vector<ValueId>& inputs, Attrs attrs,
                                         std::vector<std::unique_ptr<Graph>> regions);

// `value`, numbers of the carrier's dtype, as elements of the type: wrapped to its bits or rounded to its format.
Maybe to_elements(OnnxNode& n, const Maybe& value, Carried carried, const CastRules& rules = {});
// The elements of a carried type as a dtype of the graph.
Maybe from_elements(OnnxNode& n, ValueId value, DType dtype);

}  // namespace tilewright::onnx
