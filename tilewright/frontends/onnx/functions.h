// Function bodies of standard operators, taken from the schemas of the installed onnx package when the library is
// built.
#pragma once

#include <string_view>

#include "messages.h"

namespace tilewright::onnx {

// A serialised model whose functions are the bodies; `overload` of each is the opset version it is since.
std::string_view operator_function_bytes();

// The body of the newest version that is not above `version`; null if there is none.
const schema::FunctionProto* operator_function(std::string_view domain, std::string_view name, std::int64_t version);

}  // namespace tilewright::onnx
