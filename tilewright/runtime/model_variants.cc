#include "tilewright/runtime/model_variants.h"

#include <fmt/format.h>

#include <algorithm>

#include "tilewright/frontends/onnx/load.h"
#include "tilewright/runtime/model_source.h"

namespace tilewright::runtime {
namespace {

// An answer as bytes: dtype, rank, sizes, elements. Answers one after the other cannot be mistaken for others.
void append_key(std::string& key, const Tensor& answer) {
  const auto append = [&](std::int64_t number) { key.append(reinterpret_cast<const char*>(&number), sizeof number); };
  append(static_cast<std::int64_t>(answer.dtype()));
  append(static_cast<std::int64_t>(answer.rank()));
  for (const std::int64_t size : answer.sizes()) append(size);
  key.append(static_cast<const char*>(answer.data()), static_cast<std::size_t>(answer.bytes()));
}

std::string shown(const Tensor& answer) {
  constexpr std::int64_t kMost = 16;
  std::string out;
  visit(answer.dtype(), [&]<typename T>() {
    for (std::int64_t i = 0; i < std::min(answer.count(), kMost); ++i) {
      if (i > 0) out += ", ";
      const T element = answer.data_as<T>()[i];
      if constexpr (std::is_integral_v<T>) {
        out += std::to_string(static_cast<std::int64_t>(element));
      } else {
        out += fmt::format("{}", static_cast<double>(static_cast<float>(element)));
      }
    }
  });
  if (answer.count() > kMost) out += ", ..";
  return answer.rank() == 0 ? out : fmt::format("[{}]", out);
}

Error too_long(const std::string& question, std::int64_t count) {
  return fail(ErrorKind::kUnsupported, "{} has {} elements, the structure of a model can depend on at most {}",
              question, count, ModelVariants::kMaxAnswerElements);
}

// The input that is the answer itself, as a tensor of its own.
Result<std::optional<Tensor>> from_input(const Model& model, std::span<const TensorArg> inputs) {
  const Graph& graph = model.source();
  for (std::size_t i = 0; i < inputs.size() && i < model.data_inputs().size(); ++i) {
    const ValueId id = graph.inputs()[model.data_inputs()[i]];
    if (id != graph.outputs()[0]) continue;
    const TensorArg& given = inputs[i];
    const auto rank = static_cast<std::size_t>(given.rank);
    const Tensor view(given.dtype, {given.sizes.begin(), given.sizes.begin() + rank},
                      {given.strides.begin(), given.strides.begin() + rank}, given.data, nullptr);
    if (!fits(view, graph.type(id))) {
      return fail(ErrorKind::kShapeMismatch, "input '{}': expected {}, got {}", graph.value(id).name, graph.type(id),
                  describe_type(view));
    }
    if (view.count() > ModelVariants::kMaxAnswerElements) return too_long(model.question(), view.count());
    Tensor copy(given.dtype, {view.sizes().begin(), view.sizes().end()});
    const Tensor dense = view.contiguous();
    if (copy.bytes() > 0)
      std::copy_n(static_cast<const std::byte*>(dense.data()), copy.bytes(), static_cast<std::byte*>(copy.data()));
    return std::optional(std::move(copy));
  }
  return std::optional<Tensor>();
}

// How many tensors an input is, and their ranks.
Result<Tensor> form_of(const Model& model, std::size_t input, std::span<const TensorArg> inputs,
                       std::span<const onnx::Form> forms) {
  std::size_t first = 0;
  for (std::size_t i = 0; i < input; ++i) {
    first += forms.empty() ? 1 : static_cast<std::size_t>(std::max<std::int64_t>(forms[i].count, 0));
  }
  const onnx::Declared& declared = model.inputs()[input];
  const onnx::Form form = forms.empty() ? onnx::Form{} : forms[input];
  if (form.count != onnx::Form::kNothing && form.is_sequence != declared.is_sequence) {
    return fail(ErrorKind::kInvalidArgument, "input '{}' must be {}", declared.name,
                declared.is_sequence ? "a sequence" : "a tensor");
  }
  if (form.count == onnx::Form::kNothing && !declared.is_optional) {
    return fail(ErrorKind::kInvalidArgument, "input '{}' has no value and is not optional", declared.name);
  }
  if (form.count > ModelVariants::kMaxAnswerElements) return too_long(model.question(), form.count);
  Tensor out(DType::kI64, {1 + std::max<std::int64_t>(form.count, 0)});
  out.data_as<std::int64_t>()[0] = form.count;
  for (std::int64_t i = 0; i < form.count; ++i) {
    const TensorArg& given = inputs[first + static_cast<std::size_t>(i)];
    if (given.dtype != declared.dtype) {
      return fail(ErrorKind::kDTypeMismatch, "input '{}': expected {}, got {}", declared.name, *declared.dtype,
                  given.dtype);
    }
    out.data_as<std::int64_t>()[1 + i] = given.rank;
  }
  return out;
}

}  // namespace

ModelVariants::ModelVariants(std::shared_ptr<onnx::ModelReader> reader, const Model& first, const ModelOptions& options)
    : options_(options),
      mapping_(first.mapping_),
      identities_(first.identities_),
      random_(first.random_),
      reader_(std::move(reader)) {}

void ModelVariants::forget(const std::map<std::string, Tensor>& weights) {
  const std::lock_guard importing(import_mutex_);
  for (const auto& [name, value] : weights) identities_->erase(name);
  const std::lock_guard lock(mutex_);
  entries_.clear();
}

Result<Tensor> ModelVariants::answer_of(Model& model, std::span<const TensorArg> inputs,
                                        std::span<const DimValue> scalars, const Model::CallState& call) {
  if (model.asked_input_ >= 0) return form_of(model, static_cast<std::size_t>(model.asked_input_), inputs, call.forms);
  TW_ASSIGN(std::optional<Tensor> input, from_input(model, inputs));
  if (input) return std::move(*input);
  TensorSink sink;
  TW_TRY(model.run_graph(inputs, scalars, sink, call));
  sink.tensors().resize(1);
  Tensor answer = sink.tensors()[0].contiguous();
  if (answer.count() > kMaxAnswerElements) return too_long(model.question(), answer.count());
  return answer;
}

Result<std::shared_ptr<Model>> ModelVariants::choose(Model& first, std::span<const TensorArg> inputs,
                                                     std::span<const DimValue> scalars, const Model::CallState& call) {
  Model* asked = &first;
  std::shared_ptr<Model> model;
  std::vector<Tensor> answers;
  std::string key, described;
  while (!asked->question().empty()) {
    if (answers.size() == kMaxQuestions) {
      return fail(ErrorKind::kUnsupported, "the structure of the model depends on more than {} values", kMaxQuestions);
    }
    auto answer = answer_of(*asked, inputs, scalars, call);
    if (!answer.ok()) return std::move(answer).error();
    append_key(key, *answer);
    described = fmt::format("where {} is {}", asked->question(), shown(*answer));
    answers.push_back(std::move(*answer));
    auto next = find_or_import(key, answers);
    if (!next.ok()) return std::move(next).error().in(described);
    model = std::move(*next);
    asked = model.get();
  }
  return model;
}

std::shared_ptr<Model> ModelVariants::find(const std::string& key) {
  const std::lock_guard lock(mutex_);
  const auto found = entries_.find(key);
  if (found == entries_.end()) return nullptr;
  found->second.last_used = ++clock_;
  return found->second.model;
}

Result<std::shared_ptr<Model>> ModelVariants::find_or_import(const std::string& key, std::span<const Tensor> answers) {
  if (auto found = find(key)) return found;
  const std::lock_guard lock(import_mutex_);
  if (auto found = find(key)) return found;  // another call made it meanwhile
  TW_ASSIGN(ModelContents contents, import_contents(*reader_, answers));
  contents.mapping = mapping_;
  contents.identities = identities_;
  contents.random = random_;
  TW_ASSIGN(std::shared_ptr<Model> model, Model::create(std::move(contents), options_));
  keep(key, model);
  return model;
}

void ModelVariants::keep(const std::string& key, std::shared_ptr<Model> model) {
  const std::lock_guard lock(mutex_);
  if (entries_.size() >= kMaxVariants) {
    entries_.erase(std::ranges::min_element(entries_, {}, [](const auto& row) { return row.second.last_used; }));
  }
  entries_[key] = {std::move(model), ++clock_};
}

void ModelVariants::trim() {
  std::vector<std::shared_ptr<Model>> models;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [key, entry] : entries_) models.push_back(entry.model);
  }
  for (const auto& model : models) model->trim();
}

std::size_t ModelVariants::size() const {
  const std::lock_guard lock(mutex_);
  return entries_.size();
}

}  // namespace tilewright::runtime
