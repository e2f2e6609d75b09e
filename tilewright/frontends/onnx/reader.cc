#include "tilewright/frontends/onnx/reader.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace tilewright::onnx {
namespace {

constexpr int kMaxStringDepth = 128;  // of subgraphs

Status check_path(std::string_view location) {
  if (location.empty() || location.front() == '/' || location.find('\0') != std::string_view::npos) {
    return fail(ErrorKind::kCorrupt, "external data at '{}', which is no path relative to the model", location);
  }
  for (std::size_t at = 0; at <= location.size();) {
    const std::size_t end = std::min(location.find('/', at), location.size());
    if (location.substr(at, end - at) == "..") {
      return fail(ErrorKind::kCorrupt, "external data at '{}', which leaves the folder of the model", location);
    }
    at = end + 1;
  }
  return {};
}

Result<std::uint64_t> parse_number(std::string_view key, std::string_view text) {
  std::uint64_t value = 0;
  for (const char c : text) {
    if (c < '0' || c > '9' || value > (UINT64_MAX - 9) / 10) {
      return fail(ErrorKind::kCorrupt, "'{}' of external data is no number: '{}'", key, text.substr(0, 40));
    }
    value = value * 10 + static_cast<std::uint64_t>(c - '0');
  }
  return value;
}

}  // namespace

Result<Bytes> map_file(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) {
    const ErrorKind kind = errno == ENOENT ? ErrorKind::kNotFound : ErrorKind::kInvalidArgument;
    return fail(kind, "{}: cannot read: {}", path, std::strerror(errno));
  }
  struct stat facts {};
  const bool regular = ::fstat(file, &facts) == 0 && S_ISREG(facts.st_mode);
  const auto size = static_cast<std::size_t>(facts.st_size);
  void* memory = regular && size > 0 ? ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0) : MAP_FAILED;
  ::close(file);
  if (!regular) return fail(ErrorKind::kInvalidArgument, "{}: not a file", path);
  if (size == 0) return Bytes{};
  if (memory == MAP_FAILED) return fail(ErrorKind::kOutOfMemory, "{}: cannot map {} bytes", path, size);
  std::shared_ptr<void> owner(memory, [size](void* at) { ::munmap(at, size); });
  return Bytes{{static_cast<const char*>(memory), size}, std::move(owner)};
}

Result<std::unique_ptr<Source>> Source::read(Bytes bytes, std::string directory) {
  auto source = std::unique_ptr<Source>(new Source());
  source->bytes_ = std::move(bytes);
  source->directory_ = std::move(directory);
  schema::Wire wire(source->bytes_.content);
  schema::read(wire, source->model_);
  TW_TRY(wire.status());
  if (source->model_.graph == nullptr) return fail(ErrorKind::kCorrupt, "not an ONNX model: it has no graph");
  source->collect_strings(*source->model_.graph, 0);
  for (const schema::FunctionProto& function : source->model_.functions) {
    for (const schema::NodeProto& node : function.node) source->collect_strings(node, 0);
  }
  return source;
}

// Texts that become elements of tensors: those of string tensors, and the lists of texts of attributes.
void Source::collect_strings(const schema::GraphProto& graph, int depth) {
  for (const schema::TensorProto& tensor : graph.initializer) {
    for (const std::string_view text : tensor.string_data) strings_->number_of(text);
  }
  for (const schema::NodeProto& node : graph.node) collect_strings(node, depth);
}

void Source::collect_strings(const schema::NodeProto& node, int depth) {
  if (depth > kMaxStringDepth) return;  // the import refuses such a model
  for (const schema::AttributeProto& attribute : node.attribute) {
    for (const std::string_view text : attribute.strings) strings_->number_of(text);
    const std::string_view name = attribute.name.value_or("");
    if (name == "keys_strings" || name == "values_strings")
      strings_->number_of("_Unused");  // a default of LabelEncoder
    if (name == "value_string" || name == "default_string") strings_->number_of(attribute.s.value_or(""));
    if (attribute.t != nullptr) {
      for (const std::string_view text : attribute.t->string_data) strings_->number_of(text);
    }
    if (attribute.g != nullptr) collect_strings(*attribute.g, depth + 1);
    for (const schema::GraphProto& graph : attribute.graphs) collect_strings(graph, depth + 1);
  }
}

Result<Bytes> Source::external(const schema::TensorProto& proto) {
  std::string location;
  std::uint64_t offset = 0;
  std::optional<std::uint64_t> length;
  for (const schema::StringStringEntryProto& entry : proto.external_data) {
    const std::string_view key = entry.key.value_or("");
    const std::string_view value = entry.value.value_or("");
    if (key == "location") location = value;
    if (key == "offset") {
      TW_ASSIGN(offset, parse_number(key, value));
    }
    if (key == "length") {
      TW_ASSIGN(length, parse_number(key, value));
    }
  }
  TW_TRY(check_path(location));
  if (directory_.empty()) {
    return fail(ErrorKind::kNotFound, "external data in '{}', but the model was not read from a file", location);
  }
  auto found = files_.find(location);
  if (found == files_.end()) {
    TW_ASSIGN(Bytes mapped, map_file(directory_ + "/" + location));
    found = files_.emplace(location, std::move(mapped)).first;
  }
  const std::string_view content = found->second.content;
  if (offset > content.size() || length.value_or(0) > content.size() - offset) {
    return fail(ErrorKind::kCorrupt, "external data from {} of length {} in '{}', which has {} bytes", offset,
                length.value_or(0), location, content.size());
  }
  return Bytes{content.substr(offset, length.value_or(content.size() - offset)), found->second.owner};
}

bool looks_like_model(std::string_view bytes) {
  // ir_version, a varint, is the first field that writers put out; producer_name where it is left out.
  return bytes.size() >= 2 && (bytes[0] == 0x08 || bytes[0] == 0x12 || bytes[0] == 0x3A || bytes[0] == 0x42);
}

}  // namespace tilewright::onnx
