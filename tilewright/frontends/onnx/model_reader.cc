// ModelReader: one ONNX model, imported as often as its structure comes out in another way; its weights, and writing
// it.
#include <fmt/format.h>

#include <cstring>

#include "tilewright/frontends/onnx/importer.h"
#include "tilewright/frontends/onnx/model_writer.h"

namespace tilewright::onnx {
namespace {

// Of an initializer that can be replaced; null if there is none of the name.
const schema::TensorProto* find_weight(const schema::GraphProto& graph, std::string_view name) {
  for (const schema::TensorProto& tensor : graph.initializer) {
    if (tensor.name.value_or("") == name && find_carried(tensor.data_type.value_or(0)) == nullptr) return &tensor;
  }
  return nullptr;
}

Tensor copy_of(const Tensor& tensor) {
  const Tensor dense = tensor.contiguous();
  Tensor copy(tensor.dtype(), {tensor.sizes().begin(), tensor.sizes().end()});
  if (dense.bytes() > 0) std::memcpy(copy.data(), dense.data(), static_cast<std::size_t>(dense.bytes()));
  return copy;
}

}  // namespace

ModelReader::ModelReader(std::unique_ptr<Source> source) : source_(std::move(source)) {}
ModelReader::~ModelReader() = default;

Result<std::shared_ptr<ModelReader>> ModelReader::open(Bytes bytes, const std::string& path) {
  const std::size_t slash = path.rfind('/');
  const std::string directory = path.empty() ? "" : slash == std::string::npos ? "." : path.substr(0, slash + 1);
  TW_ASSIGN(std::unique_ptr<Source> source, Source::read(std::move(bytes), directory));
  return std::shared_ptr<ModelReader>(new ModelReader(std::move(source)));
}

Result<Imported> ModelReader::import(std::span<const Tensor> answers) {
  const std::lock_guard lock(mutex_);
  return Importer(*source_, answers).run();
}

std::shared_ptr<const StringTable> ModelReader::texts() const {
  return source_->shared_strings();
}

std::vector<std::string> ModelReader::weight_names() {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> names;
  for (const schema::TensorProto& tensor : source_->model().graph->initializer) {
    const std::string name(tensor.name.value_or(""));
    if (find_weight(*source_->model().graph, name) != &tensor) continue;
    if (const auto value = source_->tensor(tensor); value.ok() && is_weight(*value)) names.push_back(name);
  }
  return names;
}

Result<Tensor> ModelReader::weight(const std::string& name) {
  const std::lock_guard lock(mutex_);
  if (const auto found = source_->replaced().find(name); found != source_->replaced().end()) return found->second;
  const schema::TensorProto* proto = find_weight(*source_->model().graph, name);
  if (proto == nullptr) return fail(ErrorKind::kInvalidArgument, "the model has no weight '{}'", name);
  return source_->tensor(*proto);
}

Status ModelReader::set_weights(const std::map<std::string, Tensor>& weights) {
  for (const auto& [name, value] : weights) {
    TW_ASSIGN(const Tensor before, weight(name));
    if (before.dtype() != value.dtype() || !std::ranges::equal(before.sizes(), value.sizes())) {
      return fail(ErrorKind::kShapeMismatch, "weight '{}': expected {}[{}], got {}[{}]", name, before.dtype(),
                  fmt::join(before.sizes(), ", "), value.dtype(), fmt::join(value.sizes(), ", "));
    }
  }
  const std::lock_guard lock(mutex_);
  for (const auto& [name, value] : weights) source_->replaced().insert_or_assign(name, copy_of(value));
  return {};
}

Status ModelReader::write(const std::string& path) {
  const std::lock_guard lock(mutex_);
  return write_source(*source_, path);
}

}  // namespace tilewright::onnx
