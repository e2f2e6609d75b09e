#include "tilewright/runtime/model.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstring>

#include "tilewright/runtime/model_source.h"
#include "tilewright/runtime/model_variants.h"
#include "tilewright/runtime/result_memory.h"

namespace tilewright::runtime {
namespace {

// Identities of weights of models; those of other borders count from 1.
std::uint64_t new_identity() {
  static std::atomic<std::uint64_t> next{std::uint64_t{1} << 63};
  return next.fetch_add(1, std::memory_order_relaxed);
}

Tensor copy_of(const Tensor& tensor) {
  const Tensor dense = tensor.contiguous();
  Tensor copy(tensor.dtype(), {tensor.sizes().begin(), tensor.sizes().end()});
  if (dense.bytes() > 0) std::memcpy(copy.data(), dense.data(), static_cast<std::size_t>(dense.bytes()));
  return copy;
}

TensorArg argument(const Tensor& tensor, std::uint64_t identity, std::uint64_t version) {
  TensorArg arg = TensorArg::of(tensor);
  arg.identity = identity;
  arg.version = version;
  return arg;
}

}  // namespace

Result<std::unique_ptr<Model>> Model::load(const std::string& path, const ModelOptions& options) {
  TW_ASSIGN(ModelContents contents, read_source(path, {options.check_weights}));
  auto model = create(std::move(contents), options);
  if (!model.ok()) return std::move(model).error().in(path);
  return model;
}

Result<std::unique_ptr<Model>> Model::load(std::span<const std::byte> bytes, const ModelOptions& options) {
  TW_ASSIGN(ModelContents contents, read_source(bytes, nullptr, {options.check_weights}));
  return create(std::move(contents), options);
}

Result<std::unique_ptr<Model>> Model::create(ModelContents contents, const ModelOptions& options) {
  auto model = std::unique_ptr<Model>(new Model());
  SessionOptions session{
      .output_strides = contents.output_strides, .runner = options.runner, .machine = options.machine};
  model->output_strides_ = std::move(contents.output_strides);
  model->metadata_ = std::move(contents.metadata);
  model->mapping_ = std::move(contents.mapping);
  TW_ASSIGN(model->session_, Session::compile(std::move(contents.graph), session));
  model->question_ = std::move(contents.question);
  model->identities_ = std::move(contents.identities);
  if (model->identities_ == nullptr) model->identities_ = std::make_shared<WeightIdentities>();
  TW_TRY(model->bind(std::move(contents.weights)));
  model->describe_outputs(std::move(contents.declared_outputs));
  if (contents.reader != nullptr) {
    model->variants_ = std::make_shared<ModelVariants>(std::move(contents.reader), *model, options);
  }
  return model;
}

void Model::describe_outputs(std::vector<onnx::DeclaredOutput> declared) {
  outputs_ = std::move(declared);
  if (!question_.empty()) return;
  const Graph& graph = source();
  for (std::size_t i = 0; i < graph.outputs().size(); ++i) {
    const auto& names = graph.output_names();
    const Value& value = graph.value(graph.outputs()[i]);
    outputs_.push_back({i < names.size() ? names[i] : value.name, value.type.dtype, value.type.shape});
  }
}

std::uint64_t Model::identity_of(const std::string& weight) {
  std::uint64_t& identity = (*identities_)[weight];
  if (identity == 0) identity = new_identity();
  return identity;
}

// What concerns one graph has no meaning for a model that has several.
Status Model::check_fixed(std::string_view what) const {
  if (variants_ == nullptr) return {};
  return fail(ErrorKind::kUnsupported, "{}: the structure of the model depends on {}, so it has more than one graph",
              what, question_);
}

Status Model::bind(std::map<std::string, Tensor> weights) {
  const Graph& graph = source();
  written_.assign(graph.inputs().size(), false);
  for (const NodeId id : graph.order()) {
    const Node& node = graph.node(id);
    if (node.op != Op::kAssign) continue;
    const auto at = std::find(graph.inputs().begin(), graph.inputs().end(), node.inputs[0]);
    if (at != graph.inputs().end()) written_[static_cast<std::size_t>(at - graph.inputs().begin())] = true;
  }
  auto bound = std::make_shared<Weights>();
  bound->tensors.resize(graph.inputs().size());
  bound->inputs.resize(graph.inputs().size());
  std::size_t used = 0;
  for (std::size_t i = 0; i < graph.inputs().size(); ++i) {
    const Value& value = graph.value(graph.inputs()[i]);
    const auto found = weights.find(value.name);
    if (found == weights.end()) {
      if (graph.role(i) == InputRole::kWeight)
        return fail(ErrorKind::kInvalidArgument, "weight '{}' has no value", value.name);
      data_inputs_.push_back(i);
      continue;
    }
    ++used;
    if (!fits(found->second, value.type)) {
      return fail(ErrorKind::kShapeMismatch, "weight '{}': expected {}, got {}", value.name, value.type,
                  describe_type(found->second));
    }
    keeps_state_ = keeps_state_ || written_[i];
    bound->tensors[i] = written_[i] ? copy_of(found->second) : found->second.contiguous();
    bound->inputs[i] = argument(bound->tensors[i], written_[i] ? 0 : identity_of(value.name), 1);
  }
  if (used != weights.size())
    return fail(ErrorKind::kInvalidArgument, "{} weights, the graph has inputs for {}", weights.size(), used);
  weights_ = std::move(bound);
  return {};
}

std::shared_ptr<const Model::Weights> Model::weights() const {
  const std::lock_guard lock(weights_mutex_);
  return weights_;
}

std::unique_lock<std::mutex> Model::alone_if_stateful() const {
  std::unique_lock<std::mutex> lock(state_mutex_, std::defer_lock);
  if (keeps_state_) lock.lock();
  return lock;
}

std::vector<std::string> Model::weight_names() const {
  std::vector<std::string> names;
  const Graph& graph = source();
  for (std::size_t i = 0; i < graph.inputs().size(); ++i) {
    if (!std::binary_search(data_inputs_.begin(), data_inputs_.end(), i))
      names.push_back(graph.value(graph.inputs()[i]).name);
  }
  return names;
}

Result<std::size_t> Model::weight_index(const std::string& name) const {
  const Graph& graph = source();
  for (std::size_t i = 0; i < graph.inputs().size(); ++i) {
    if (graph.value(graph.inputs()[i]).name != name) continue;
    if (!std::binary_search(data_inputs_.begin(), data_inputs_.end(), i)) return i;
  }
  return fail(ErrorKind::kInvalidArgument, "the model has no weight '{}'", name);
}

Status Model::set_weights(const std::map<std::string, Tensor>& weights) {
  TW_TRY(check_fixed("weights cannot be replaced"));
  const Graph& graph = source();
  std::vector<std::pair<std::size_t, Tensor>> changes;
  for (const auto& [name, value] : weights) {
    TW_ASSIGN(const std::size_t index, weight_index(name));
    const TensorType& type = graph.type(graph.inputs()[index]);
    if (!fits(value, type)) {
      return fail(ErrorKind::kShapeMismatch, "weight '{}': expected {}, got {}", name, type, describe_type(value));
    }
    changes.emplace_back(index, copy_of(value));
  }
  const std::lock_guard lock(weights_mutex_);
  auto next = std::make_shared<Weights>(*weights_);
  for (auto& [index, value] : changes) {
    const TensorArg& before = weights_->inputs[index];
    next->inputs[index] = argument(value, before.identity, before.version + 1);
    next->tensors[index] = std::move(value);
  }
  weights_ = std::move(next);
  return {};
}

Result<Tensor> Model::weight(const std::string& name) const {
  TW_ASSIGN(const std::size_t index, weight_index(name));
  const std::unique_lock<std::mutex> alone = alone_if_stateful();
  const Tensor value = weights()->tensors[index];
  return written_[index] ? copy_of(value) : value;
}

Status Model::save(const std::string& path) const {
  TW_TRY(check_fixed("the model cannot be stored"));
  const Graph& graph = source();
  const std::unique_lock<std::mutex> alone = alone_if_stateful();
  const std::shared_ptr<const Weights> now = weights();
  std::map<std::string, Tensor> named;
  for (std::size_t i = 0; i < graph.inputs().size(); ++i) {
    if (!std::binary_search(data_inputs_.begin(), data_inputs_.end(), i)) {
      named.emplace(graph.value(graph.inputs()[i]).name, now->tensors[i]);
    }
  }
  return save_model(graph, named, {output_strides_, metadata_}, path);
}

Status Model::run(std::span<const TensorArg> inputs, std::span<const DimValue> scalars, OutputSink& sink,
                  HostCalls* host) {
  if (variants_ == nullptr) return run_graph(inputs, scalars, sink, host);
  TW_TRY(check_count(inputs.size()));
  TW_ASSIGN(const std::shared_ptr<Model> model, variants_->choose(*this, inputs, scalars, host));
  return model->run_graph(inputs, scalars, sink, host);
}

Status Model::check_count(std::size_t given) const {
  if (given == data_inputs_.size()) return {};
  std::string names;
  for (const std::size_t i : data_inputs_) {
    names += fmt::format("{}'{}'", names.empty() ? "" : ", ", source().value(source().inputs()[i]).name);
  }
  return fail(ErrorKind::kInvalidArgument, "the model takes {} inputs ({}), {} given", data_inputs_.size(), names,
              given);
}

Status Model::run_graph(std::span<const TensorArg> inputs, std::span<const DimValue> scalars, OutputSink& sink,
                        HostCalls* host) {
  TW_TRY(check_count(inputs.size()));
  const std::unique_lock<std::mutex> alone = alone_if_stateful();
  const std::shared_ptr<const Weights> held = weights();
  std::vector<TensorArg> all(held->inputs);
  for (std::size_t i = 0; i < inputs.size(); ++i) all[data_inputs_[i]] = inputs[i];
  TW_TRY(session_->run(all, scalars, sink, host));
  if (mapping_ != nullptr && !released_packed_.exchange(true, std::memory_order_relaxed)) release_packed(*held);
  return {};
}

// A weight is read from its file once more only if it is packed again, so its pages need not stay beside the packed
// ones.
void Model::release_packed(const Weights& weights) {
  const Plan& plan = session_->plan();
  for (const PackPlan& pack : plan.packs) {
    const auto at = std::find(plan.inputs.begin(), plan.inputs.end(), pack.root);
    if (at == plan.inputs.end()) continue;  // a constant
    const Tensor& tensor = weights.tensors[static_cast<std::size_t>(at - plan.inputs.begin())];
    if (tensor.owner() == mapping_) release_pages(tensor);
  }
}

void Model::trim() {
  session_->trim();
  ResultMemory::of_process().trim();
  if (variants_ != nullptr) variants_->trim();
  if (mapping_ == nullptr) return;
  for (const Tensor& tensor : weights()->tensors) {
    if (tensor.owner() == mapping_) release_pages(tensor);
  }
}

Result<std::vector<Tensor>> Model::run(std::span<const Tensor> inputs, std::span<const DimValue> scalars,
                                       HostCalls* host) {
  std::vector<TensorArg> args;
  args.reserve(inputs.size());
  for (const Tensor& tensor : inputs) {
    if (tensor.rank() > static_cast<std::size_t>(compiler::kMaxTensorRank)) {
      return fail(ErrorKind::kShapeMismatch, "input {} has {} axes, at most {} are possible", args.size(),
                  tensor.rank(), compiler::kMaxTensorRank);
    }
    args.push_back(TensorArg::of(tensor));
  }
  TensorSink sink;
  TW_TRY(run(args, scalars, sink, host));
  sink.tensors().resize(outputs_.size());
  return std::move(sink.tensors());
}

}  // namespace tilewright::runtime
