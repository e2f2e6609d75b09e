#include "tilewright/frontends/onnx/model_writer.h"

#include "message_writers.h"
#include "tilewright/base/file_writer.h"

namespace tilewright::onnx {
namespace {

// Puts the values of tensors into a copy of the messages, which are views.
class Filler {
 public:
  explicit Filler(Source& source) : source_(source) {}

  Status graph(schema::GraphProto& graph, bool is_main) {
    for (schema::TensorProto& tensor : graph.initializer) TW_TRY(fill(tensor, is_main));
    return nodes(graph.node);
  }

  Status nodes(std::vector<schema::NodeProto>& nodes) {
    for (schema::NodeProto& node : nodes) {
      for (schema::AttributeProto& attribute : node.attribute) {
        if (attribute.t != nullptr) TW_TRY(fill(*attribute.t, false));
        for (schema::TensorProto& tensor : attribute.tensors) TW_TRY(fill(tensor, false));
        if (attribute.g != nullptr) TW_TRY(graph(*attribute.g, false));
        for (schema::GraphProto& inner : attribute.graphs) TW_TRY(graph(inner, false));
      }
    }
    return {};
  }

 private:
  Status fill(schema::TensorProto& tensor, bool may_be_replaced) {
    const auto replaced = source_.replaced().find(tensor.name.value_or(""));
    if (may_be_replaced && replaced != source_.replaced().end()) {
      const Tensor dense = replaced->second.contiguous();
      put(tensor, {{static_cast<const char*>(dense.data()), static_cast<std::size_t>(dense.bytes())},
                   std::make_shared<Tensor>(dense)});
    } else if (tensor.data_location.value_or(0) == 1) {
      TW_ASSIGN(Bytes raw, source_.external(tensor));
      put(tensor, std::move(raw));
    }
    return {};
  }

  void put(schema::TensorProto& tensor, Bytes raw) {
    tensor.raw_data = raw.content;
    kept_.push_back(std::move(raw));
    tensor.external_data.clear();
    tensor.data_location.reset();
    tensor.float_data.clear();
    tensor.double_data.clear();
    tensor.int32_data.clear();
    tensor.int64_data.clear();
    tensor.uint64_data.clear();
  }

  Source& source_;
  std::vector<Bytes> kept_;  // until the model is written
};

}  // namespace

Status write_source(Source& source, const std::string& path) {
  schema::ModelProto model;
  schema::Wire wire(source.content());
  schema::read(wire, model);
  TW_TRY(wire.status());
  Filler filler(source);
  if (model.graph != nullptr) TW_TRY(filler.graph(*model.graph, true));
  for (schema::FunctionProto& function : model.functions) TW_TRY(filler.nodes(function.node));
  schema::WireWriter written;
  schema::write(written, model);
  FileWriter file(path);
  for (const std::string_view piece : written.pieces()) TW_TRY(file.put(piece));
  return file.finish();
}

}  // namespace tilewright::onnx
