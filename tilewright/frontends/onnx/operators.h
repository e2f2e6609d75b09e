// The table of operators that have an importer; operators.def has the rows.
#pragma once

#include "tilewright/frontends/onnx/node.h"

namespace tilewright::onnx {

// How a node becomes results. One of the two functions is set, or the operator of the graph that does just the same.
struct Handler {
  Maybe (*one)(OnnxNode&) = nullptr;
  Result<Results> (*many)(OnnxNode&) = nullptr;
  Op op{};

  Result<Results> operator()(OnnxNode& node) const;
};

// Of the newest row that is not above `version`; null if there is none.
const Handler* find_handler(std::string_view domain, std::string_view name, std::int64_t version);

#define ONNX_OP(domain, Name, since, function) Maybe function(OnnxNode& n);
#define ONNX_OPS(domain, Name, since, function) Result<Results> function(OnnxNode& n);
#define ONNX_SAME(...)
#include "tilewright/frontends/onnx/operators.def"
#undef ONNX_OP
#undef ONNX_OPS
#undef ONNX_SAME

}  // namespace tilewright::onnx
