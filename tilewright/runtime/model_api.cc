// The public classes of tilewright.h over the runtime's.
#include <algorithm>

#include "tilewright/runtime/model.h"
#include "tilewright/tilewright.h"
#include "tilewright/vm/cpu/pool.h"

namespace tilewright {
namespace {

TensorInfo tensor_info(std::string name, const TensorType& type) {
  TensorInfo out{std::move(name), type.dtype, {}};
  for (const Dim dim : type.shape) out.dims.push_back(to_string(dim));
  return out;
}

std::string scalar_name(Dim symbol) {
  return symbol.name();
}

class CallbackSink final : public runtime::OutputSink {
 public:
  explicit CallbackSink(const OutputAllocator& allocate) : allocate_(allocate) {}
  Result<std::byte*> allocate(std::size_t output, DType dtype, std::span<const std::int64_t> sizes,
                              std::span<const std::int64_t> strides) override {
    TW_ASSIGN(void* const memory, allocate_(output, dtype, sizes, strides));
    return static_cast<std::byte*>(memory);
  }

 private:
  const OutputAllocator& allocate_;
};

Result<std::vector<DimValue>> bind_scalars(const Graph& graph, std::span<const Scalar> scalars) {
  const std::vector<Dim>& symbols = graph.scalar_inputs();
  if (scalars.size() != symbols.size()) {
    return fail(ErrorKind::kInvalidArgument, "the model takes {} scalars, {} given", symbols.size(), scalars.size());
  }
  std::vector<DimValue> out(scalars.size());
  for (std::size_t i = 0; i < scalars.size(); ++i) {
    const auto* integer = std::get_if<std::int64_t>(&scalars[i]);
    if (symbols[i].is_float()) {
      out[i].real = integer != nullptr ? static_cast<double>(*integer) : std::get<double>(scalars[i]);
    } else if (integer != nullptr) {
      out[i].integer = *integer;
    } else {
      return fail(ErrorKind::kDTypeMismatch, "scalar '{}': expected an integer, got {}", scalar_name(symbols[i]),
                  std::get<double>(scalars[i]));
    }
  }
  return out;
}

Result<std::vector<runtime::TensorArg>> bind_tensors(std::span<const Tensor> tensors) {
  std::vector<runtime::TensorArg> out;
  for (const Tensor& tensor : tensors) {
    if (tensor.rank() > static_cast<std::size_t>(compiler::kMaxTensorRank)) {
      return fail(ErrorKind::kShapeMismatch, "input {} has {} axes, at most {} are possible", out.size(), tensor.rank(),
                  compiler::kMaxTensorRank);
    }
    out.push_back(runtime::TensorArg::of(tensor));
  }
  return out;
}

// The values of `given` in the order of `wanted`; an error names what is missing or unknown.
template <typename T>
Result<std::vector<T>> in_order(const std::vector<std::string>& wanted, const std::map<std::string, T>& given,
                                const char* what) {
  std::vector<T> out;
  for (const std::string& name : wanted) {
    const auto found = given.find(name);
    if (found == given.end()) return fail(ErrorKind::kInvalidArgument, "{} '{}' is missing", what, name);
    out.push_back(found->second);
  }
  for (const auto& entry : given) {
    if (std::find(wanted.begin(), wanted.end(), entry.first) == wanted.end()) {
      return fail(ErrorKind::kInvalidArgument, "the model has no {} '{}'", what, entry.first);
    }
  }
  return out;
}

runtime::ModelOptions runtime_options(const LoadOptions& options) {
  return {.runner = {.cache_bytes = options.program_cache_bytes}, .check_weights = options.check_weights};
}

}  // namespace

Result<Model> Model::load(const std::string& path, const LoadOptions& options) {
  TW_ASSIGN(auto model, runtime::Model::load(path, runtime_options(options)));
  return Model(std::move(model));
}

Result<Model> Model::load(std::span<const std::byte> bytes, const LoadOptions& options) {
  TW_ASSIGN(auto model, runtime::Model::load(bytes, runtime_options(options)));
  return Model(std::move(model));
}

std::vector<TensorInfo> Model::inputs() const {
  std::vector<TensorInfo> out;
  for (const onnx::Declared& input : model_->inputs()) {
    out.push_back(tensor_info(input.name, {input.dtype.value_or(DType::kF32), input.shape.value_or(Shape())}));
  }
  return out;
}

std::vector<TensorInfo> Model::outputs() const {
  std::vector<TensorInfo> out;
  for (const onnx::Declared& output : model_->outputs()) {
    // What an ONNX model leaves open until a call reads as a float of rank 0.
    out.push_back(tensor_info(output.name, {output.dtype.value_or(DType::kF32), output.shape.value_or(Shape())}));
  }
  return out;
}

std::vector<TensorInfo> Model::weights() const {
  const Graph& graph = model_->source();
  const std::vector<std::size_t>& data = model_->data_inputs();
  std::vector<TensorInfo> out;
  for (std::size_t i = 0; i < graph.inputs().size(); ++i) {
    const Value& value = graph.value(graph.inputs()[i]);
    if (!std::binary_search(data.begin(), data.end(), i)) out.push_back(tensor_info(value.name, value.type));
  }
  return out;
}

std::vector<ScalarInfo> Model::scalars() const {
  std::vector<ScalarInfo> out;
  for (const Dim symbol : model_->source().scalar_inputs()) out.push_back({scalar_name(symbol), symbol.is_float()});
  return out;
}

std::map<std::string, std::string> Model::metadata() const {
  return model_->metadata();
}

Result<std::vector<Tensor>> Model::run(std::span<const Tensor> inputs, std::span<const Scalar> scalars) const {
  TW_ASSIGN(const std::vector<DimValue> values, bind_scalars(model_->source(), scalars));
  return model_->run(inputs, values);
}

Status Model::run(std::span<const Tensor> inputs, std::span<const Scalar> scalars,
                  const OutputAllocator& allocate) const {
  TW_ASSIGN(const std::vector<DimValue> values, bind_scalars(model_->source(), scalars));
  TW_ASSIGN(const std::vector<runtime::TensorArg> args, bind_tensors(inputs));
  CallbackSink sink(allocate);
  return model_->run(args, values, sink);
}

Result<Model::Named> Model::run(const Named& inputs, const std::map<std::string, Scalar>& scalars) const {
  std::vector<std::string> names, scalar_names;
  for (const TensorInfo& input : this->inputs()) names.push_back(input.name);
  for (const ScalarInfo& scalar : this->scalars()) scalar_names.push_back(scalar.name);
  TW_ASSIGN(const std::vector<Tensor> tensors, in_order(names, inputs, "input"));
  TW_ASSIGN(const std::vector<Scalar> values, in_order(scalar_names, scalars, "scalar"));
  TW_ASSIGN(std::vector<Tensor> results, run(tensors, values));
  Named out;
  for (std::size_t i = 0; i < results.size(); ++i) out[model_->outputs()[i].name] = std::move(results[i]);
  return out;
}

Status Model::set_weights(const Named& weights) {
  return model_->set_weights(weights);
}
Result<Tensor> Model::weight(const std::string& name) const {
  return model_->weight(name);
}
Status Model::save(const std::string& path) const {
  return model_->save(path);
}
Result<std::vector<std::string>> Model::export_onnx(const std::string& path, const OnnxOptions& options) const {
  runtime::OnnxExportOptions all;
  all.onnx.opset = options.opset;
  all.onnx.standard_only = options.standard_only;
  all.simplify = options.simplify;
  TW_ASSIGN(const runtime::OnnxExportReport report, model_->export_onnx(path, all));
  return report.notes;
}
void Model::trim() {
  model_->trim();
}

void set_num_threads(int count) {
  vm::cpu::set_num_threads(count);
}
int num_threads() {
  return vm::cpu::num_threads();
}

}  // namespace tilewright
