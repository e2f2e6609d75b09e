// A file as something that can be called: a graph in text form, or a stored or ONNX model with its weights.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "tilewright/runtime/model.h"
#include "tilewright/runtime/model_file.h"
#include "tilewright/runtime/session.h"

namespace tilewright::cli {

// The contents of a graph text file, a model file or an ONNX file; a graph text has no weights.
Result<runtime::ModelContents> read_contents(const std::string& path);

class Model {
 public:
  static Result<Model> open(const std::string& path, const runtime::SessionOptions& options = {});

  const Graph& graph() const { return session_ != nullptr ? session_->source() : model_->source(); }
  const std::map<std::string, Tensor>& weights() const { return weights_; }
  const std::map<std::string, std::string>& metadata() const { return metadata_; }
  std::vector<std::string> output_names() const;
  // The text that a number of a string tensor stands for, after a call; null: none.
  const std::string* text_of(std::int64_t number) const { return texts_ ? texts_->text_of(number) : nullptr; }
  Result<std::vector<isa::Program>> encode(std::span<const std::vector<std::int64_t>> sizes,
                                           std::span<const DimValue> scalars) {
    if (session_ != nullptr) return session_->encode(sizes, scalars);
    return fail(ErrorKind::kUnsupported, "a model whose structure depends on a call has no program before it");
  }
  // One tensor for each input of the graph; inputs of role weight count as unchanged from call to call.
  Result<std::vector<Tensor>> run(std::span<const Tensor> inputs, std::span<const DimValue> scalars);

 private:
  std::unique_ptr<runtime::Session> session_;
  std::unique_ptr<runtime::Model> model_;  // of an ONNX model that no one graph holds, or that draws random numbers
  std::map<std::string, Tensor> weights_;
  std::map<std::string, std::string> metadata_;
  std::unique_ptr<onnx::StringTable> texts_;
};

}  // namespace tilewright::cli
