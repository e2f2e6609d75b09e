// Reads an ONNX file: maps it, walks its messages with bounds, and finds the values of its tensors, which may lie in
// other files beside it. Nothing is copied that can be used where it lies.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>

#include "messages.h"
#include "tilewright/frontends/onnx/load.h"

namespace tilewright::onnx {

// A model as it lies in its bytes.
class Source {
 public:
  // `directory` holds the files of external data; empty: there may be none.
  static Result<std::unique_ptr<Source>> read(Bytes bytes, std::string directory = {});

  const schema::ModelProto& model() const { return model_; }
  // The value of a tensor: a view of the file where its bytes are aligned, else a copy.
  Result<Tensor> tensor(const schema::TensorProto& proto);

 private:
  Source() = default;
  Result<Bytes> external(const schema::TensorProto& proto);
  Result<Tensor> from_raw(const schema::TensorProto& proto, DType dtype, std::vector<std::int64_t> sizes, Bytes raw);

  Bytes bytes_;
  std::string directory_;
  schema::ModelProto model_;
  std::map<std::string, Bytes> files_;
};

}  // namespace tilewright::onnx
