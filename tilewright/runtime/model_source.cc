#include "tilewright/runtime/model_source.h"

#include <algorithm>
#include <cstring>

#include "tilewright/frontends/onnx/load.h"

namespace tilewright::runtime {
namespace {

std::string_view text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

bool is_text(std::string_view bytes) {
  const std::string_view start = bytes.substr(0, 4096);
  return std::all_of(start.begin(), start.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte >= 0x20 || byte == '\n' || byte == '\t' || byte == '\r';
  });
}

Result<ModelContents> read_onnx(onnx::Bytes bytes, const std::string& path, std::shared_ptr<void> mapping) {
  TW_ASSIGN(std::shared_ptr<onnx::ModelReader> reader, onnx::ModelReader::open(std::move(bytes), path));
  TW_ASSIGN(ModelContents contents, import_contents(*reader));
  contents.mapping = std::move(mapping);
  if (!contents.question.empty() || !contents.text_operators.empty()) contents.reader = std::move(reader);
  return contents;
}

Result<ModelContents> read_text(std::string_view text) {
  ModelContents contents;
  TW_ASSIGN(contents.graph, parse_graph(text));
  TW_TRY(verify(*contents.graph));
  return contents;
}

Error not_readable() {
  return fail(ErrorKind::kUnsupported, "neither a stored model, nor an ONNX model, nor a graph in text form");
}

}  // namespace

Result<ModelContents> import_contents(onnx::ModelReader& reader, std::span<const Tensor> answers) {
  TW_ASSIGN(onnx::Imported imported, reader.import(answers));
  ModelContents contents;
  contents.texts = reader.texts();
  contents.graph = std::move(imported.graph);
  contents.weights = std::move(imported.weights);
  contents.metadata = std::move(imported.metadata);
  contents.question = std::move(imported.question);
  contents.asked_input = imported.asked_input;
  contents.declared_inputs = std::move(imported.inputs);
  contents.declared_outputs = std::move(imported.outputs);
  contents.forms = std::move(imported.forms);
  contents.text_operators = std::move(imported.text_operators);
  return contents;
}

SourceKind source_kind(std::span<const std::byte> bytes) {
  if (is_model_file(bytes)) return SourceKind::kModelFile;
  if (onnx::looks_like_model(text_of(bytes))) return SourceKind::kOnnx;
  return !bytes.empty() && is_text(text_of(bytes)) ? SourceKind::kGraphText : SourceKind::kUnknown;
}

Result<ModelContents> read_source(const std::string& path, const ReadOptions& options) {
  TW_ASSIGN(const onnx::Bytes file, onnx::map_file(path));
  const auto bytes = std::as_bytes(std::span(file.content));
  switch (source_kind(bytes)) {
    case SourceKind::kModelFile:
      return read_model(path, options);
    case SourceKind::kOnnx: {
      auto contents = read_onnx(file, path, file.owner);
      if (!contents.ok()) return std::move(contents).error().in(path);
      return contents;
    }
    case SourceKind::kGraphText: {
      auto contents = read_text(file.content);
      if (!contents.ok()) return std::move(contents).error().in(path);
      return contents;
    }
    case SourceKind::kUnknown:
      return not_readable().in(path);
  }
  __builtin_unreachable();
}

Result<ModelContents> read_source(std::span<const std::byte> bytes, std::shared_ptr<void> owner,
                                  const ReadOptions& options) {
  switch (source_kind(bytes)) {
    case SourceKind::kModelFile:
      return decode_model(bytes, std::move(owner), options);
    case SourceKind::kOnnx: {
      if (owner == nullptr) {
        const auto copy = std::make_shared<std::vector<std::byte>>(bytes.begin(), bytes.end());
        bytes = *copy;
        owner = copy;
      }
      return read_onnx({text_of(bytes), std::move(owner)}, {}, nullptr);
    }
    case SourceKind::kGraphText:
      return read_text(text_of(bytes));
    case SourceKind::kUnknown:
      return not_readable();
  }
  __builtin_unreachable();
}

}  // namespace tilewright::runtime
