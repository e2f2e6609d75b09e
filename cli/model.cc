#include "cli/model.h"

#include "tilewright/runtime/model_source.h"

namespace tilewright::cli {

Result<runtime::ModelContents> read_contents(const std::string& path) {
  return runtime::read_source(path);
}

Result<Model> Model::open(const std::string& path, const runtime::SessionOptions& options) {
  TW_ASSIGN(runtime::ModelContents contents, read_contents(path));
  if (!contents.question.empty()) {
    return fail(ErrorKind::kUnsupported, "{}: the structure of the model depends on {}, which only a call can tell",
                path, contents.question);
  }
  runtime::SessionOptions with_strides = options;
  with_strides.output_strides = contents.output_strides;
  Model model;
  model.weights_ = std::move(contents.weights);
  auto session = runtime::Session::compile(std::move(contents.graph), with_strides);
  if (!session.ok()) return std::move(session).error().in(path);
  model.session_ = std::move(session).value();
  return model;
}

Result<std::vector<Tensor>> Model::run(std::span<const Tensor> inputs, std::span<const DimValue> scalars) {
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
