// Writes an ONNX model as it was read, with the tensors of other files inside and other values in the place of some of
// its initializers.
#pragma once

#include "tilewright/frontends/onnx/reader.h"

namespace tilewright::onnx {

Result<std::string> encode(Source& source);

}  // namespace tilewright::onnx
