// Reads an ONNX file: maps it, walks its messages with bounds, and finds the values of its tensors, which may lie in
// other files beside it. Nothing is copied that can be used where it lies.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "messages.h"
#include "tilewright/frontends/onnx/carriers.h"
#include "tilewright/frontends/onnx/load.h"

namespace tilewright::onnx {

// A model as it lies in its bytes.
class Source {
 public:
  // `directory` holds the files of external data; empty: there may be none.
  static Result<std::unique_ptr<Source>> read(Bytes bytes, std::string directory = {});

  const schema::ModelProto& model() const { return model_; }
  const StringTable& strings() const { return *strings_; }
  std::shared_ptr<const StringTable> shared_strings() const { return strings_; }
  // The value of a tensor, of the dtype that carries its elements: a view of the file where its bytes are aligned, else
  // a copy. The same memory each time.
  Result<Tensor> tensor(const schema::TensorProto& proto);
  // The bytes of a tensor that lie in another file.
  Result<Bytes> external(const schema::TensorProto& proto);
  std::string_view content() const { return bytes_.content; }
  // Values that stand in the place of initializers of the model's graph, by their names.
  std::map<std::string, Tensor, std::less<>>& replaced() { return replaced_; }

 private:
  Source() = default;
  void collect_strings(const schema::GraphProto& graph, int depth);
  void collect_strings(const schema::NodeProto& node, int depth);
  Result<Tensor> read_tensor(const schema::TensorProto& proto);
  Result<Tensor> carried_tensor(const schema::TensorProto& proto, const CarriedRow& row);
  Result<Tensor> from_raw(const schema::TensorProto& proto, DType dtype, std::vector<std::int64_t> sizes, Bytes raw);

  Bytes bytes_;
  std::string directory_;
  schema::ModelProto model_;
  std::map<std::string, Bytes> files_;
  std::shared_ptr<StringTable> strings_ = std::make_shared<StringTable>();  // all of them from the beginning
  std::unordered_map<const schema::TensorProto*, Tensor> copies_;
  std::map<std::string, Tensor, std::less<>> replaced_;
};

}  // namespace tilewright::onnx
