// Writes model files. The head is made in memory, the tensors are streamed.
#include "tilewright/runtime/model_file.h"

#include <fmt/format.h>

#include <algorithm>

#include "tilewright/base/file_writer.h"
#include "tilewright/runtime/model_file_format.h"

namespace tilewright::runtime {
namespace {

using namespace model_format;

struct Stored {
  std::string name;
  Tensor tensor;  // row-major
};

struct Image {
  std::vector<std::byte> head;
  std::vector<Stored> tensors;
  std::vector<std::uint64_t> offsets;  // of the tensors in the file
};

class HeadWriter {
 public:
  void number(std::uint64_t value) { bytes(&value, sizeof value); }
  void string(std::string_view text) {
    number(text.size());
    bytes(text.data(), text.size());
  }
  void bytes(const void* from, std::size_t count) {
    const auto* begin = static_cast<const std::byte*>(from);
    out_.insert(out_.end(), begin, begin + count);
  }
  void set(std::size_t at, std::uint64_t value) { std::memcpy(out_.data() + at, &value, sizeof value); }
  std::vector<std::byte>& out() { return out_; }

 private:
  std::vector<std::byte> out_;
};

std::span<const std::byte> bytes_of(const Tensor& tensor) {
  return {static_cast<const std::byte*>(tensor.data()), static_cast<std::size_t>(tensor.bytes())};
}

Result<std::vector<Stored>> collect_weights(const Graph& graph, const std::map<std::string, Tensor>& weights) {
  std::vector<Stored> stored;
  for (std::size_t i = 0; i < graph.inputs().size(); ++i) {
    const Value& value = graph.value(graph.inputs()[i]);
    const auto found = weights.find(value.name);
    if (found == weights.end()) {
      if (graph.role(i) == InputRole::kData) continue;
      return fail(ErrorKind::kInvalidArgument, "weight '{}' has no value", value.name);
    }
    if (!fits(found->second, value.type)) {
      return fail(ErrorKind::kShapeMismatch, "weight '{}': expected {}, got {}", value.name, value.type,
                  describe_type(found->second));
    }
    stored.push_back({value.name, found->second.contiguous()});
  }
  if (stored.size() == weights.size()) return stored;
  for (const auto& [name, tensor] : weights) {
    const auto same = [&name = name](const Stored& one) { return one.name == name; };
    if (std::none_of(stored.begin(), stored.end(), same)) {
      return fail(ErrorKind::kInvalidArgument, "the graph has no input '{}'", name);
    }
  }
  return stored;
}

void write_extras(const ModelExtras& extras, HeadWriter& head) {
  head.number(extras.metadata.size());
  for (const auto& [key, value] : extras.metadata) {
    head.string(key);
    head.string(value);
  }
  head.number(extras.output_strides.size());
  for (const std::vector<Dim>& strides : extras.output_strides) {
    head.number(strides.size());
    for (const Dim stride : strides) head.string(to_string(stride));
  }
}

Result<Image> make_image(const Graph& graph, const std::map<std::string, Tensor>& weights, const ModelExtras& extras) {
  TW_TRY(check_storable(graph));
  Image image;
  TW_ASSIGN(image.tensors, collect_weights(graph, weights));
  const std::size_t num_weights = image.tensors.size();
  std::vector<Tensor> constants;
  const std::string text = print(graph, constants);
  for (std::size_t i = 0; i < constants.size(); ++i) image.tensors.push_back({"", constants[i].contiguous()});

  HeadWriter head;
  head.bytes(kMagic, sizeof kMagic);
  head.bytes(&kVersion, sizeof kVersion);
  for (int i = 0; i < 3; ++i) head.number(0);
  write_extras(extras, head);
  head.number(image.tensors.size());
  head.number(num_weights);
  std::vector<std::size_t> offset_fields;
  for (const auto& [name, tensor] : image.tensors) {
    head.string(name);
    head.number(static_cast<std::uint64_t>(tensor.dtype()));
    head.number(tensor.rank());
    for (const std::int64_t size : tensor.sizes()) head.number(static_cast<std::uint64_t>(size));
    offset_fields.push_back(head.out().size());
    head.number(0);
    head.number(checksum(bytes_of(tensor)));
  }
  head.string(text);
  head.out().resize(aligned(head.out().size()));
  std::uint64_t at = head.out().size();
  for (std::size_t i = 0; i < image.tensors.size(); ++i) {
    head.set(offset_fields[i], aligned(at));
    image.offsets.push_back(aligned(at));
    at = aligned(at) + static_cast<std::uint64_t>(image.tensors[i].tensor.bytes());
  }
  head.set(16, head.out().size());
  head.set(24, at);
  head.set(8, checksum(std::span<const std::byte>(head.out()).subspan(kSumEnd)));
  image.head = std::move(head.out());
  return image;
}

// Calls put(bytes) with the pieces of the file in order.
template <typename Put>
Status write_image(const Image& image, Put&& put) {
  static constexpr std::byte kZeros[kAlignment] = {};
  TW_TRY(put(std::span<const std::byte>(image.head)));
  std::uint64_t at = image.head.size();
  for (std::size_t i = 0; i < image.tensors.size(); ++i) {
    TW_TRY(put(std::span(kZeros).first(image.offsets[i] - at)));
    TW_TRY(put(bytes_of(image.tensors[i].tensor)));
    at = image.offsets[i] + static_cast<std::uint64_t>(image.tensors[i].tensor.bytes());
  }
  return {};
}

}  // namespace

Status check_storable(const Graph& graph) {
  for (const NodeId id : graph.order()) {
    const Node& node = graph.node(id);
    const std::string_view name =
        node.outputs.empty() ? info(node.op).text : std::string_view(graph.value(node.outputs[0]).name);
    if (node.op == Op::kHostCall)
      return fail(ErrorKind::kUnsupported, "'{}' is a call of the host, which a file cannot hold", name);
    if (node.op == Op::kFused)
      return fail(ErrorKind::kUnsupported, "'{}' is a fused area: a file holds the graph before the passes", name);
    for (const auto& region : node.regions) TW_TRY(check_storable(*region));
  }
  return {};
}

bool fits(const Tensor& tensor, const TensorType& type) {
  if (tensor.dtype() != type.dtype || tensor.rank() != type.shape.size()) return false;
  for (std::size_t axis = 0; axis < tensor.rank(); ++axis) {
    if (type.shape[axis].constant().value_or(tensor.sizes()[axis]) != tensor.sizes()[axis]) return false;
  }
  return true;
}

std::string describe_type(const Tensor& tensor) {
  return fmt::format("{}[{}]", tensor.dtype(), fmt::join(tensor.sizes(), ", "));
}

Result<std::vector<std::byte>> encode_model(const Graph& graph, const std::map<std::string, Tensor>& weights,
                                            const ModelExtras& extras) {
  TW_ASSIGN(const Image image, make_image(graph, weights, extras));
  std::vector<std::byte> out;
  out.reserve(read_u64(image.head.data() + 24));
  TW_TRY(write_image(image, [&](std::span<const std::byte> piece) {
    out.insert(out.end(), piece.begin(), piece.end());
    return Status();
  }));
  return out;
}

Status save_model(const Graph& graph, const std::map<std::string, Tensor>& weights, const ModelExtras& extras,
                  const std::string& path) {
  TW_ASSIGN(const Image image, make_image(graph, weights, extras));
  FileWriter file(path);
  TW_TRY(write_image(image, [&](std::span<const std::byte> piece) {
    return file.put({reinterpret_cast<const char*>(piece.data()), piece.size()});
  }));
  return file.finish();
}

}  // namespace tilewright::runtime
