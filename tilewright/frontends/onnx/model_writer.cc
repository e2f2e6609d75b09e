#include "tilewright/frontends/onnx/model_writer.h"

namespace tilewright::onnx {
namespace {

using schema::Wire;
using schema::WireType;

// Fields of onnx.proto on the way from a model to its tensors.
enum class Message { kModel, kGraph, kFunction, kNode, kAttribute, kTensor, kOther };
constexpr int kTensorDataType = 2, kTensorDims = 1, kTensorName = 8, kTensorRaw = 9, kTensorDocumentation = 12;

Message inside(Message message, int field) {
  struct Row {
    Message message;
    int field;
    Message inner;
  };
  static constexpr Row kRows[] = {
      {Message::kModel, 7, Message::kGraph},       {Message::kModel, 25, Message::kFunction},
      {Message::kGraph, 1, Message::kNode},        {Message::kGraph, 5, Message::kTensor},
      {Message::kFunction, 7, Message::kNode},     {Message::kNode, 5, Message::kAttribute},
      {Message::kAttribute, 5, Message::kTensor},  {Message::kAttribute, 6, Message::kGraph},
      {Message::kAttribute, 10, Message::kTensor}, {Message::kAttribute, 11, Message::kGraph},
  };
  for (const Row& row : kRows) {
    if (row.message == message && row.field == field) return row.inner;
  }
  return Message::kOther;
}

void put_varint(std::string& out, std::uint64_t value) {
  for (; value > 0x7f; value >>= 7) out.push_back(static_cast<char>((value & 0x7f) | 0x80));
  out.push_back(static_cast<char>(value));
}

void put_tag(std::string& out, int field, WireType type) {
  put_varint(out, static_cast<std::uint64_t>(field) << 3 | static_cast<std::uint64_t>(type));
}

void put_bytes(std::string& out, int field, std::string_view content) {
  put_tag(out, field, WireType::kBytes);
  put_varint(out, content.size());
  out += content;
}

// The field that the wire stands at, as it is.
void copy_field(std::string& out, Wire& wire) {
  const auto put_fixed = [&](auto value) { out.append(reinterpret_cast<const char*>(&value), sizeof value); };
  if (wire.type() == WireType::kBytes) return put_bytes(out, wire.field(), wire.bytes());
  put_tag(out, wire.field(), wire.type());
  if (wire.type() == WireType::kVarint) put_varint(out, wire.varint());
  if (wire.type() == WireType::kFixed32) put_fixed(wire.fixed32());
  if (wire.type() == WireType::kFixed64) put_fixed(wire.fixed64());
}

class Writer {
 public:
  explicit Writer(Source& source) : source_(source) {}

  Result<std::string> message(Message kind, std::string_view content, bool in_model_graph) {
    std::string out;
    out.reserve(content.size());
    Wire wire(content);
    while (wire.next_field()) {
      const Message inner = inside(kind, wire.field());
      if (inner == Message::kOther || wire.type() != WireType::kBytes) {
        copy_field(out, wire);
        continue;
      }
      const int field = wire.field();
      const std::string_view bytes = wire.bytes();
      const bool in_graph =
          kind == Message::kModel || (in_model_graph && inner == Message::kTensor && kind == Message::kGraph);
      auto written = inner == Message::kTensor ? tensor(bytes, in_graph) : message(inner, bytes, in_graph);
      if (!written.ok()) return written;
      put_bytes(out, field, *written);
    }
    TW_TRY(wire.status());
    return out;
  }

 private:
  Result<std::string> tensor(std::string_view content, bool is_initializer) {
    schema::TensorProto proto;
    Wire wire(content);
    schema::read(wire, proto);
    TW_TRY(wire.status());
    const auto replaced = source_.replaced().find(proto.name.value_or(""));
    if (is_initializer && replaced != source_.replaced().end()) {
      const Tensor dense = replaced->second.contiguous();
      return with_raw(proto, {static_cast<const char*>(dense.data()), static_cast<std::size_t>(dense.bytes())});
    }
    if (proto.data_location.value_or(0) != 1) return std::string(content);
    TW_ASSIGN(const Bytes raw, source_.external(proto));
    return with_raw(proto, raw.content);
  }

  static std::string with_raw(const schema::TensorProto& proto, std::string_view raw) {
    std::string out;
    for (const std::int64_t size : proto.dims) {
      put_tag(out, kTensorDims, WireType::kVarint);
      put_varint(out, static_cast<std::uint64_t>(size));
    }
    put_tag(out, kTensorDataType, WireType::kVarint);
    put_varint(out, static_cast<std::uint64_t>(proto.data_type.value_or(0)));
    if (proto.name) put_bytes(out, kTensorName, *proto.name);
    put_bytes(out, kTensorRaw, raw);
    if (proto.doc_string) put_bytes(out, kTensorDocumentation, *proto.doc_string);
    return out;
  }

  Source& source_;
};

}  // namespace

Result<std::string> encode(Source& source) {
  return Writer(source).message(Message::kModel, source.content(), false);
}

}  // namespace tilewright::onnx
