#include "tilewright/runtime/model.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstring>

#include "tilewright/runtime/model_source.h"
#include "tilewright/runtime/model_variants.h"
#include "tilewright/runtime/result_memory.h"
#include "tilewright/runtime/text_calls.h"

namespace tilewright::runtime {
namespace {

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

std::shared_ptr<const onnx::StringTable> texts_in(const std::map<std::string, std::string>& metadata) {
  auto texts = std::make_shared<onnx::StringTable>();
  for (std::int64_t number = 1;; ++number) {
    const auto found = metadata.find(fmt::format("{}{}", onnx::kString, number));
    if (found == metadata.end()) return texts;
    texts->number_of(found->second);
  }
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
  model->asked_input_ = contents.asked_input;
  model->forms_ = std::move(contents.forms);
  model->text_operators_ = std::move(contents.text_operators);
  model->texts_ = contents.texts != nullptr ? std::move(contents.texts) : texts_in(model->metadata_);
  model->random_ = contents.random != nullptr ? std::move(contents.random) : std::make_shared<RandomKeys>();
  model->find_random_inputs();
  model->describe(std::move(contents.declared_inputs), std::move(contents.declared_outputs));
  model->reader_ = contents.reader;
  if (contents.reader != nullptr && !model->question_.empty()) {
    model->variants_ = std::make_shared<ModelVariants>(std::move(contents.reader), *model, options);
  }
  return model;
}

void Model::describe(std::vector<onnx::Declared> inputs, std::vector<onnx::Declared> outputs) {
  inputs_ = std::move(inputs);
  outputs_ = std::move(outputs);
  const Graph& graph = source();
  const auto declare = [&](ValueId id, const std::string& name) {
    return onnx::Declared{name, graph.type(id).dtype, graph.type(id).shape};
  };
  if (inputs_.empty()) {
    for (const std::size_t i : data_inputs_) {
      inputs_.push_back(declare(graph.inputs()[i], graph.value(graph.inputs()[i]).name));
    }
  }
  const bool is_simple = std::ranges::all_of(forms_, [](const onnx::Form& form) { return form == onnx::Form{}; });
  if (!question_.empty() || !is_simple) return;
  outputs_.clear();
  forms_.clear();
  for (std::size_t i = 0; i < graph.outputs().size(); ++i) {
    const auto& names = graph.output_names();
    const ValueId id = graph.outputs()[i];
    outputs_.push_back(declare(id, i < names.size() ? names[i] : graph.value(id).name));
  }
}

// Weights that hold the keys of random numbers of a call.
void Model::find_random_inputs() {
  const Graph& graph = source();
  for (std::size_t i = 0; i < graph.inputs().size(); ++i) {
    const std::string& name = graph.value(graph.inputs()[i]).name;
    const auto found = metadata_.find(name);
    if (!name.starts_with(onnx::kRandomKey) || found == metadata_.end()) continue;
    if (graph.type(graph.inputs()[i]) != TensorType{DType::kI64, {Dim(2)}}) continue;
    random_inputs_.push_back({i, std::hash<std::string>()(name), found->second});
  }
}

bool Model::is_random(std::size_t input) const {
  return std::ranges::any_of(random_inputs_, [&](const RandomInput& row) { return row.input == input; });
}

std::uint64_t Model::identity_of(const std::string& weight) {
  std::uint64_t& identity = (*identities_)[weight];
  if (identity == 0) identity = new_weight_identity();
  return identity;
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
  if (variants_ != nullptr) return reader_->weight_names();
  std::vector<std::string> names;
  const Graph& graph = source();
  for (std::size_t i = 0; i < graph.inputs().size(); ++i) {
    if (!std::binary_search(data_inputs_.begin(), data_inputs_.end(), i) && !is_random(i))
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
  if (reader_ != nullptr) {
    TW_TRY(reader_->set_weights(weights));
  }
  if (variants_ != nullptr) variants_->forget(weights);
  const Graph& graph = source();
  std::vector<std::pair<std::size_t, Tensor>> changes;
  for (const auto& [name, value] : weights) {
    if (variants_ != nullptr && !weight_index(name).ok()) continue;  // not in the graph of the question
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
  if (variants_ != nullptr) return reader_->weight(name);
  TW_ASSIGN(const std::size_t index, weight_index(name));
  const std::unique_lock<std::mutex> alone = alone_if_stateful();
  const Tensor value = weights()->tensors[index];
  return written_[index] ? copy_of(value) : value;
}

std::map<std::string, Tensor> Model::named_weights() const {
  const Graph& graph = source();
  const std::shared_ptr<const Weights> now = weights();
  std::map<std::string, Tensor> named;
  for (std::size_t i = 0; i < graph.inputs().size(); ++i) {
    if (!std::binary_search(data_inputs_.begin(), data_inputs_.end(), i)) {
      named.emplace(graph.value(graph.inputs()[i]).name, now->tensors[i]);
    }
  }
  return named;
}

Status Model::save(const std::string& path) const {
  if (reader_ != nullptr) return reader_->write(path);
  const std::unique_lock<std::mutex> alone = alone_if_stateful();
  return save_model(source(), named_weights(), {output_strides_, metadata_}, path);
}

Result<OnnxExportReport> Model::export_onnx(const std::string& path, const OnnxExportOptions& options) const {
  if (variants_ != nullptr) {
    return fail(ErrorKind::kUnsupported, "the structure of the model depends on {}, so that it is no one graph",
                question_);
  }
  const std::unique_lock<std::mutex> alone = alone_if_stateful();
  return save_onnx(source(), named_weights(), metadata_, path, options);
}

Status Model::run(std::span<const TensorArg> inputs, std::span<const DimValue> scalars, OutputSink& sink,
                  HostCalls* host, CallExtras* extras) {
  std::optional<onnx::StringTable> own_texts;
  CallState call{extras == nullptr ? std::span<const onnx::Form>() : extras->inputs, host,
                 extras == nullptr ? nullptr : extras->texts, random_->next_call()};
  if (call.texts == nullptr && reader_ != nullptr) call.texts = &own_texts.emplace(texts_);
  TW_TRY(check_forms(inputs.size(), call.forms));
  if (variants_ == nullptr) {
    if (extras != nullptr) extras->outputs = forms_;
    return run_graph(inputs, scalars, sink, call);
  }
  TW_ASSIGN(const std::shared_ptr<Model> model, variants_->choose(*this, inputs, scalars, call));
  if (extras != nullptr) extras->outputs = model->forms_;
  return model->run_graph(inputs, scalars, sink, call);
}

Status Model::check_forms(std::size_t given, std::span<const onnx::Form> forms) const {
  std::size_t wanted = inputs_.size();
  if (!forms.empty()) {
    TW_CHECK(forms.size() == inputs_.size(), "a call gives the form of every input");
    wanted = 0;
    for (const onnx::Form& form : forms) wanted += static_cast<std::size_t>(std::max<std::int64_t>(form.count, 0));
  }
  if (given == wanted) return {};
  std::string names;
  for (const onnx::Declared& input : inputs_) names += fmt::format("{}'{}'", names.empty() ? "" : ", ", input.name);
  return fail(ErrorKind::kInvalidArgument, "the model takes {} inputs ({}), {} given", wanted, names, given);
}

Status Model::run_graph(std::span<const TensorArg> inputs, std::span<const DimValue> scalars, OutputSink& sink,
                        const CallState& call) {
  const std::unique_lock<std::mutex> alone = alone_if_stateful();
  const std::shared_ptr<const Weights> held = weights();
  std::vector<TensorArg> all(held->inputs);
  for (std::size_t i = 0; i < inputs.size(); ++i) all[data_inputs_[i]] = inputs[i];
  std::vector<std::array<std::int64_t, 2>> keys(random_inputs_.size());
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const RandomInput& row = random_inputs_[i];
    keys[i] = random_->key(call.number, row.seed, row.node);
    all[row.input].data = reinterpret_cast<std::byte*>(keys[i].data());
    all[row.input].identity = 0;
  }
  if (text_operators_.empty()) {
    TW_TRY(session_->run(all, scalars, sink, call.host));
  } else {
    TextCalls calls(text_operators_, *call.texts);
    TW_TRY(session_->run(all, scalars, sink, &calls));
  }
  if (mapping_ != nullptr && !released_packed_.exchange(true, std::memory_order_relaxed)) release_packed(*held);
  return {};
}

// A weight is read from its file once more only if it is packed again, so its pages need not stay beside the packed
// ones.
void Model::release_packed(const Weights& weights) {
  const Plan& plan = session_->plan();
  for (const PackPlan& pack : plan.packs) {
    const auto at = std::find(plan.inputs.begin(), plan.inputs.end(), pack.root);
    const auto input = static_cast<std::size_t>(at - plan.inputs.begin());
    if (input >= weights.tensors.size()) continue;  // a constant, or prepared
    if (weights.tensors[input].owner() == mapping_) release_pages(weights.tensors[input]);
  }
  for (const PreparedPlan& prepared : plan.prepared) {
    for (const std::size_t input : prepared.inputs) {
      if (weights.tensors[input].owner() == mapping_) release_pages(weights.tensors[input]);
    }
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
                                       HostCalls* host, CallExtras* extras) {
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
  CallExtras own;
  if (extras == nullptr) extras = &own;
  TW_TRY(run(args, scalars, sink, host, extras));
  std::size_t count = outputs_.size();
  if (!extras->outputs.empty()) {
    count = 0;
    for (const onnx::Form& form : extras->outputs)
      count += static_cast<std::size_t>(std::max<std::int64_t>(form.count, 0));
  }
  sink.tensors().resize(count);
  return std::move(sink.tensors());
}

}  // namespace tilewright::runtime
