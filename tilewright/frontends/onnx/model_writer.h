// Writes an ONNX model as it was read, with the tensors of other files inside and other values in the place of some of
// its initializers. The file appears whole or not at all.
#pragma once

#include "tilewright/frontends/onnx/reader.h"

namespace tilewright::onnx {

Status write_source(Source& source, const std::string& path);

}  // namespace tilewright::onnx
