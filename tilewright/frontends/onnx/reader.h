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

// Numbers that stand for the texts of a model; 0 is the empty text.
class StringTable {
 public:
  std::int64_t number_of(std::string_view text) {
    const auto [found, is_new] = numbers_.emplace(text, std::ssize(texts_));
    if (is_new) texts_.emplace_back(text);
    return found->second;
  }
  const std::vector<std::string>& texts() const { return texts_; }

 private:
  std::map<std::string, std::int64_t, std::less<>> numbers_{{"", 0}};
  std::vector<std::string> texts_{""};
};

// A model as it lies in its bytes.
class Source {
 public:
  // `directory` holds the files of external data; empty: there may be none.
  static Result<std::unique_ptr<Source>> read(Bytes bytes, std::string directory = {});

  const schema::ModelProto& model() const { return model_; }
  StringTable& strings() { return strings_; }
  // The value of a tensor, of the dtype that carries its elements: a view of the file where its bytes are aligned, else
  // a copy. The same memory each time.
  Result<Tensor> tensor(const schema::TensorProto& proto);

 private:
  Source() = default;
  Result<Tensor> read_tensor(const schema::TensorProto& proto);
  Result<Bytes> external(const schema::TensorProto& proto);
  Result<Tensor> carried_tensor(const schema::TensorProto& proto, const CarriedRow& row);
  Result<Tensor> from_raw(const schema::TensorProto& proto, DType dtype, std::vector<std::int64_t> sizes, Bytes raw);

  Bytes bytes_;
  std::string directory_;
  schema::ModelProto model_;
  std::map<std::string, Bytes> files_;
  StringTable strings_;
  std::unordered_map<const schema::TensorProto*, Tensor> copies_;
};

}  // namespace tilewright::onnx
