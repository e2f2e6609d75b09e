#include "cli/model.h"

#include "cli/command.h"

namespace tilewright::cli {

Result<runtime::ModelContents> read_contents(const std::string& path) {
  TW_ASSIGN(const std::vector<std::uint8_t> bytes, read_file(path));
  if (runtime::is_model_file(std::as_bytes(std::span(bytes)))) return runtime::read_model(path);
  if (!is_text(bytes))
    return fail(ErrorKind::kUnsupported, "{}: neither a graph in text form nor a stored model", path);
  runtime::ModelContents contents;
  auto graph = parse_graph({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  if (!graph.ok()) return std::move(graph).error().in(path);
  if (Status good = verify(**graph); !good.ok()) return Error(good.error()).in(path);
  contents.graph = std::move(graph).value();
  return contents;
}

Result<Model> Model::open(const std::string& path, const runtime::SessionOptions& options) {
  TW_ASSIGN(runtime::ModelContents contents, read_contents(path));
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
