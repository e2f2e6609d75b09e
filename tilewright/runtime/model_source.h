// A model in any form that can be read: a stored model, an ONNX model, or a graph in text form. The form is found in
// the first bytes.
#pragma once

#include <span>
#include <string>

#include "tilewright/runtime/model_file.h"

namespace tilewright::runtime {

enum class SourceKind { kModelFile, kOnnx, kGraphText, kUnknown };
SourceKind source_kind(std::span<const std::byte> bytes);

Result<ModelContents> read_source(const std::string& path, const ReadOptions& options = {});
// `owner` keeps the bytes alive as long as a weight is in use; null: the weights are copied.
Result<ModelContents> read_source(std::span<const std::byte> bytes, std::shared_ptr<void> owner = nullptr,
                                  const ReadOptions& options = {});

// What an ONNX model is with these answers to its questions; neither reader nor mapping are set.
Result<ModelContents> import_contents(onnx::ModelReader& reader, std::span<const Tensor> answers = {});

}  // namespace tilewright::runtime
