// Tilewright's public C++ interface: load a model file and run it at any sizes, without Python.
//
//   auto model = tilewright::Model::load("model.tilewright");
//   if (!model.ok()) { std::puts(model.error().message.c_str()); return 1; }
//   auto results = model->run({{"x", x}});
//
// Wrong files and wrong calls come back as errors that say what was expected; nothing throws. A Model may be called
// from several threads at once. Copies of a Model are the same model. tilewright/runtime/c_api.h has the same for C.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <variant>

#include "tilewright/base/result.h"
#include "tilewright/runtime/stats_snapshot.h"
#include "tilewright/tensor/tensor.h"

namespace tilewright {

namespace runtime {
class Model;
}

struct TensorInfo {
  std::string name;
  DType dtype;
  std::vector<std::string> dims;  // a number, or an expression in the model's symbols: "B", "2*S + 1"
};

struct ScalarInfo {
  std::string name;
  bool is_float;
};
using Scalar = std::variant<std::int64_t, double>;

// Gives memory for result number `output` as soon as its sizes are known: from its first element on, for the given
// sizes and strides (in elements). May be called from the thread of the call only.
using OutputAllocator = std::function<Result<void*>(
    std::size_t output, DType dtype, std::span<const std::int64_t> sizes, std::span<const std::int64_t> strides)>;

struct LoadOptions {
  bool check_weights = true;                   // compare the checksum of each weight, which reads all of the file
  std::int64_t program_cache_bytes = 1 << 20;  // encoded programs to keep; 0: encode at every call
};

struct OnnxOptions {
  int opset = 20;              // from 13 on
  bool standard_only = false;  // no operators of com.microsoft
  bool simplify = true;        // false: the operators of the graph as it was read
};

class Model {
 public:
  using Named = std::map<std::string, Tensor>;

  static Result<Model> load(const std::string& path, const LoadOptions& options = {});  // weights stay in the file
  static Result<Model> load(std::span<const std::byte> bytes, const LoadOptions& options = {});  // weights are copied

  std::vector<TensorInfo> inputs() const;
  std::vector<TensorInfo> outputs() const;
  std::vector<TensorInfo> weights() const;
  std::vector<ScalarInfo> scalars() const;
  std::map<std::string, std::string> metadata() const;

  // By position, in the order of inputs() and scalars().
  Result<std::vector<Tensor>> run(std::span<const Tensor> inputs, std::span<const Scalar> scalars = {}) const;
  Status run(std::span<const Tensor> inputs, std::span<const Scalar> scalars, const OutputAllocator& allocate) const;
  // By name.
  Result<Named> run(const Named& inputs, const std::map<std::string, Scalar>& scalars = {}) const;

  // Calls that begin later see all of the new values. The content is copied.
  Status set_weights(const Named& weights);
  Status set_weight(const std::string& name, const Tensor& value) { return set_weights({{name, value}}); }
  Result<Tensor> weight(const std::string& name) const;
  Status save(const std::string& path) const;
  // Writes an ONNX model; constants of more than 1 GiB go to PATH.data. Gives notes of what ONNX has no way to say.
  Result<std::vector<std::string>> export_onnx(const std::string& path, const OnnxOptions& options = {}) const;
  void trim();  // gives memory of idle calls and encoded programs back

 private:
  explicit Model(std::shared_ptr<runtime::Model> model) : model_(std::move(model)) {}
  std::shared_ptr<runtime::Model> model_;
};

void set_num_threads(int count);  // that work on a call, the caller included
int num_threads();

}  // namespace tilewright
