#include "cli/model.h"

#include <algorithm>

#include "tilewright/runtime/model_source.h"

namespace tilewright::cli {

Result<runtime::ModelContents> read_contents(const std::string& path) {
  return runtime::read_source(path);
}

Result<Model> Model::open(const std::string& path, const runtime::SessionOptions& options) {
  TW_ASSIGN(runtime::ModelContents contents, read_contents(path));
  for (const onnx::Declared& input : contents.declared_inputs) {
    if (!input.is_sequence && !input.is_optional && input.shape) continue;
    return fail(ErrorKind::kUnsupported,
                "{}: input '{}' is a sequence, optional or of any rank, which the command cannot give", path,
                input.name);
  }
  runtime::SessionOptions with_strides = options;
  with_strides.output_strides = contents.output_strides;
  Model model;
  model.weights_ = contents.weights;
  model.metadata_ = contents.metadata;
  const bool draws = std::ranges::any_of(contents.weights,
                                         [](const auto& weight) { return weight.first.starts_with(onnx::kRandomKey); });
  if (contents.reader != nullptr || draws) {
    auto whole = runtime::Model::create(std::move(contents), {.machine = options.machine});
    if (!whole.ok()) return std::move(whole).error().in(path);
    model.model_ = std::move(whole).value();
    return model;
  }
  auto session = runtime::Session::compile(std::move(contents.graph), with_strides);
  if (!session.ok()) return std::move(session).error().in(path);
  model.session_ = std::move(session).value();
  return model;
}

std::vector<std::string> Model::output_names() const {
  std::vector<std::string> names;
  if (model_ != nullptr) {
    for (const onnx::Declared& output : model_->outputs()) names.push_back(output.name);
  } else {
    for (const ValueId output : graph().outputs()) names.push_back(graph().value(output).name);
  }
  return names;
}

Result<std::vector<Tensor>> Model::run(std::span<const Tensor> inputs, std::span<const DimValue> scalars) {
  if (model_ != nullptr) {
    std::vector<Tensor> data;
    for (const std::size_t i : model_->data_inputs()) data.push_back(inputs[i]);
    texts_ = std::make_unique<onnx::StringTable>(model_->texts());
    runtime::CallExtras extras;
    extras.texts = texts_.get();
    TW_ASSIGN(std::vector<Tensor> results, model_->run(data, scalars, nullptr, &extras));
    const bool is_plain = std::ranges::all_of(extras.outputs, [](onnx::Form form) { return form == onnx::Form{}; });
    if (!is_plain) return fail(ErrorKind::kUnsupported, "a result is a sequence or has no value");
    return results;
  }
  std::vector<runtime::TensorArg> arguments;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    arguments.push_back(runtime::TensorArg::of(inputs[i]));
    if (graph().role(i) == InputRole::kWeight) {
      arguments.back().identity = reinterpret_cast<std::uintptr_t>(inputs[i].data());
      arguments.back().version = 1;
    }
  }
  runtime::TensorSink sink;
  TW_TRY(session_->run(arguments, scalars, sink));
  sink.tensors().resize(graph().outputs().size());
  return std::move(sink.tensors());
}

}  // namespace tilewright::cli
