// The error for an operator without an importer: it names all that the model lacks, not only the first.
#pragma once

#include "messages.h"
#include "tilewright/base/result.h"

namespace tilewright::onnx {

Error missing_operators(const schema::ModelProto& model, std::string_view domain, std::string_view name,
                        std::int64_t version);

}  // namespace tilewright::onnx
