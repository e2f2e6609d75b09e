// A file as something that can be called: a graph in text form, or a stored or ONNX model with its weights.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "tilewright/runtime/model_file.h"
#include "tilewright/runtime/session.h"

namespace tilewright::cli {

// The contents of a graph text file, a model file or an ONNX file; a graph text has no weights.
Result<runtime::ModelContents> read_contents(const std::string& path);

class Model {
 public:
  static Result<Model> open(const std::string& path, const runtime::SessionOptions& options = {});

  const Graph& graph() const { return session_->source(); }
  const std::map<std::string, Tensor>& weights() const { return weights_; }
  // One tensor for each input of the graph; inputs of role weight count as unchanged from call to call.
  Result<std::vector<Tensor>> run(std::span<const Tensor> inputs, std::span<const DimValue> scalars);

 private:
  std::unique_ptr<runtime::Session> session_;
  std::map<std::string, Tensor> weights_;
};

}  // namespace tilewright::cli
