// Reads model files. Every count and length is compared with the bytes that are there before it is used.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "tilewright/isa/program.h"
#include "tilewright/runtime/model_file.h"
#include "tilewright/runtime/model_file_format.h"

namespace tilewright::runtime {
namespace {

using namespace model_format;

constexpr std::size_t kMaxExpressionBytes = 4096;  // of one output stride
constexpr std::uint64_t kNumDTypes = 0
#define DTYPE(...) +1
#include "tilewright/tensor/dtypes.def"
#undef DTYPE
    ;

template <typename... Args>
Error corrupt(fmt::format_string<Args...> text, Args&&... args) {
  return fail(ErrorKind::kCorrupt, text, std::forward<Args>(args)...);
}

// Reads the head front to back.
class HeadReader {
 public:
  explicit HeadReader(std::span<const std::byte> head) : left_(head) {}

  Result<std::uint64_t> number(const char* what) {
    if (left_.size() < 8) return corrupt("the head ends before the {}", what);
    const std::uint64_t value = read_u64(left_.data());
    left_ = left_.subspan(8);
    return value;
  }
  // The number of items of at least `least` bytes each.
  Result<std::size_t> count(const char* what, std::size_t least) {
    TW_ASSIGN(const std::uint64_t value, number(what));
    if (value > left_.size() / least) return corrupt("{} of {}, {} bytes are left", value, what, left_.size());
    return static_cast<std::size_t>(value);
  }
  Result<std::string_view> string(const char* what) {
    TW_ASSIGN(const std::size_t length, count(what, 1));
    const std::string_view text(reinterpret_cast<const char*>(left_.data()), length);
    left_ = left_.subspan(length);
    return text;
  }
  std::span<const std::byte> left() const { return left_; }

 private:
  std::span<const std::byte> left_;
};

bool all_zero(std::span<const std::byte> bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](std::byte byte) { return byte == std::byte{0}; });
}

class ModelReader {
 public:
  ModelReader(std::span<const std::byte> bytes, std::shared_ptr<void> owner, const ReadOptions& options)
      : bytes_(bytes), owner_(std::move(owner)), options_(options), head_(bytes) {}

  Result<ModelContents> read() {
    TW_TRY(open());
    TW_TRY(read_metadata());
    TW_TRY(read_strides());
    TW_TRY(read_tensors());
    TW_TRY(read_graph());
    TW_TRY(check_weights());
    TW_TRY(check_strides());
    return std::move(out_);
  }

 private:
  Status open() {
    if (!is_model_file(bytes_)) return corrupt("not a model file");
    if (bytes_.size() < kHeadStart) return corrupt("{} bytes, a model file has more", bytes_.size());
    std::uint32_t version;
    std::memcpy(&version, bytes_.data() + 4, sizeof version);
    if (version != kVersion)
      return fail(ErrorKind::kUnsupported, "model file of version {}, known is {}", version, kVersion);
    const std::uint64_t head = read_u64(&bytes_[16]), total = read_u64(&bytes_[24]);
    if (total != bytes_.size()) return corrupt("the file has {} bytes, its head says {}", bytes_.size(), total);
    if (head < kHeadStart || head > total || head % kAlignment != 0)
      return corrupt("a head of {} bytes in {}", head, total);
    if (checksum(bytes_.subspan(kSumEnd, head - kSumEnd)) != read_u64(&bytes_[8]))
      return corrupt("the checksum of the head differs");
    head_ = HeadReader(bytes_.subspan(kHeadStart, head - kHeadStart));
    end_ = head;
    return {};
  }

  Status read_metadata() {
    TW_ASSIGN(const std::size_t count, head_.count("metadata", 16));
    for (std::size_t i = 0; i < count; ++i) {
      TW_ASSIGN(const std::string_view key, head_.string("key"));
      TW_ASSIGN(const std::string_view value, head_.string("value"));
      out_.metadata[std::string(key)] = value;
    }
    return {};
  }

  Status read_strides() {
    TW_ASSIGN(const std::size_t outputs, head_.count("outputs", 8));
    for (std::size_t i = 0; i < outputs; ++i) {
      TW_ASSIGN(const std::size_t rank, head_.count("strides", 8));
      std::vector<Dim> strides;
      for (std::size_t axis = 0; axis < rank; ++axis) {
        TW_ASSIGN(const std::string_view text, head_.string("stride"));
        if (text.size() > kMaxExpressionBytes) return corrupt("a stride of {} characters", text.size());
        auto stride = parse_dim(text);
        if (!stride.ok()) return fail(ErrorKind::kParse, "stride of an output: {}", stride.error().message);
        strides.push_back(*stride);
      }
      out_.output_strides.push_back(std::move(strides));
    }
    return {};
  }

  Status read_tensors() {
    TW_ASSIGN(const std::size_t count, head_.count("tensors", 40));
    TW_ASSIGN(const std::uint64_t weights, head_.number("weights"));
    if (weights > count) return corrupt("{} weights, {} tensors", weights, count);
    for (std::size_t i = 0; i < count; ++i) {
      TW_ASSIGN(const std::string_view name, head_.string("name"));
      auto tensor = read_tensor();
      if (!tensor.ok()) return std::move(tensor).error().in(fmt::format("tensor {} '{}'", i, name));
      if (i >= weights) {
        constants_.push_back(std::move(*tensor));
      } else if (!out_.weights.emplace(name, std::move(*tensor)).second) {
        return corrupt("two weights '{}'", name);
      }
    }
    if (end_ != bytes_.size()) return corrupt("{} bytes behind the last tensor", bytes_.size() - end_);
    return {};
  }

  Result<Tensor> read_tensor() {
    TW_ASSIGN(const std::uint64_t dtype, head_.number("dtype"));
    TW_ASSIGN(const std::size_t rank, head_.count("sizes", 8));
    if (dtype >= kNumDTypes) return corrupt("unknown dtype {}", dtype);
    if (rank > static_cast<std::size_t>(isa::kMaxRank)) return corrupt("{} axes", rank);
    std::vector<std::int64_t> sizes;
    std::uint64_t bytes = static_cast<std::uint64_t>(byte_size(static_cast<DType>(dtype)));
    bool empty = false;
    for (std::size_t axis = 0; axis < rank; ++axis) {
      TW_ASSIGN(const std::uint64_t size, head_.number("size"));
      empty = empty || size == 0;
      if (size > INT64_MAX || __builtin_mul_overflow(bytes, std::max<std::uint64_t>(size, 1), &bytes) ||
          bytes > INT64_MAX) {
        return corrupt("axis {} has size {}", axis, size);
      }
      sizes.push_back(static_cast<std::int64_t>(size));
    }
    if (empty) bytes = 0;
    TW_ASSIGN(const std::uint64_t offset, head_.number("offset"));
    TW_ASSIGN(const std::uint64_t sum, head_.number("checksum"));
    if (offset != aligned(end_)) return corrupt("at {}, expected at {}", offset, aligned(end_));
    if (offset > bytes_.size() || bytes > bytes_.size() - offset) {
      return corrupt("{} bytes at {}, the file has {}", bytes, offset, bytes_.size());
    }
    if (!all_zero(bytes_.subspan(end_, offset - end_))) return corrupt("the bytes before it are not zero");
    end_ = offset + bytes;
    const std::span<const std::byte> data = bytes_.subspan(offset, bytes);
    if (options_.check_weights && checksum(data) != sum) return corrupt("the checksum differs");
    return make_tensor(static_cast<DType>(dtype), std::move(sizes), data);
  }

  Result<Tensor> make_tensor(DType dtype, std::vector<std::int64_t> sizes, std::span<const std::byte> data) const {
    const bool in_place = owner_ != nullptr && reinterpret_cast<std::uintptr_t>(data.data()) % 16 == 0;
    if (in_place) {
      std::vector<std::int64_t> strides = contiguous_strides(sizes);
      return Tensor(dtype, std::move(sizes), std::move(strides), const_cast<std::byte*>(data.data()), owner_);
    }
    Tensor copy(dtype, std::move(sizes));
    if (!data.empty()) std::memcpy(copy.data(), data.data(), data.size());
    return copy;
  }

  Status read_graph() {
    TW_ASSIGN(const std::string_view text, head_.string("graph"));
    if (head_.left().size() >= kAlignment || !all_zero(head_.left())) return corrupt("bytes behind the graph");
    auto graph = parse_graph(text, constants_);
    if (!graph.ok()) return fail(ErrorKind::kParse, "graph: {}", graph.error().message);
    out_.graph = std::move(*graph);
    if (Status good = check_storable(*out_.graph); !good.ok()) return corrupt("graph: {}", good.error().message);
    return {};
  }

  // Names, dtypes and sizes of weights agree with the graph's inputs.
  Status check_weights() {
    const Graph& graph = *out_.graph;
    std::size_t found = 0;
    for (std::size_t i = 0; i < graph.inputs().size(); ++i) {
      const Value& value = graph.value(graph.inputs()[i]);
      const auto weight = out_.weights.find(value.name);
      if (weight == out_.weights.end()) {
        if (graph.role(i) == InputRole::kWeight) return corrupt("weight '{}' has no value", value.name);
        continue;
      }
      ++found;
      if (fits(weight->second, value.type)) continue;
      return corrupt("weight '{}' is {}, the graph says {}", value.name, describe_type(weight->second), value.type);
    }
    if (found != out_.weights.size())
      return corrupt("{} weights, the graph has inputs for {}", out_.weights.size(), found);
    return {};
  }

  Status check_strides() {
    const Graph& graph = *out_.graph;
    std::vector<Dim> known(graph.scalar_inputs());
    for (const ValueId input : graph.inputs()) {
      for (const Dim dim : graph.type(input).shape) collect_symbols(dim, known);
    }
    if (out_.output_strides.size() > graph.outputs().size()) {
      return corrupt("strides of {} outputs, the graph has {}", out_.output_strides.size(), graph.outputs().size());
    }
    for (std::size_t i = 0; i < out_.output_strides.size(); ++i) {
      const Shape& shape = graph.type(graph.outputs()[i]).shape;
      const std::vector<Dim>& strides = out_.output_strides[i];
      if (!strides.empty() && strides.size() != shape.size()) {
        return corrupt("{} strides for output {} of rank {}", strides.size(), i, shape.size());
      }
      std::vector<Dim> usable = known, used;
      for (const Dim dim : shape) collect_symbols(dim, usable);
      for (const Dim stride : strides) collect_symbols(stride, used);
      for (const Dim symbol : used) {
        if (std::find(usable.begin(), usable.end(), symbol) == usable.end())
          return corrupt("strides of output {}: unknown symbol {}", i, symbol);
      }
    }
    return {};
  }

  std::span<const std::byte> bytes_;
  std::shared_ptr<void> owner_;
  const ReadOptions& options_;
  HeadReader head_;
  std::uint64_t end_ = 0;  // of what has been read of the tensors
  std::vector<Tensor> constants_;
  ModelContents out_;
};

}  // namespace

bool is_model_file(std::span<const std::byte> bytes) {
  return bytes.size() >= sizeof kMagic && std::memcmp(bytes.data(), kMagic, sizeof kMagic) == 0;
}

Result<ModelContents> decode_model(std::span<const std::byte> bytes, std::shared_ptr<void> owner,
                                   const ReadOptions& options) {
  return ModelReader(bytes, std::move(owner), options).read();
}

Result<ModelContents> read_model(const std::string& path, const ReadOptions& options) {
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
  if (size == 0) return fail(ErrorKind::kCorrupt, "{}: not a model file", path);
  if (memory == MAP_FAILED) return fail(ErrorKind::kOutOfMemory, "{}: cannot map {} bytes", path, size);
  const std::shared_ptr<void> mapping(memory, [size](void* at) { ::munmap(at, size); });
  auto contents = decode_model({static_cast<const std::byte*>(memory), size}, mapping, options);
  if (!contents.ok()) return std::move(contents).error().in(path);
  contents->mapping = mapping;
  return contents;
}

void release_pages(const Tensor& mapped) {
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto begin = reinterpret_cast<std::uintptr_t>(mapped.data());
  const std::uintptr_t first = (begin + page - 1) / page * page;
  const std::uintptr_t end = (begin + static_cast<std::uintptr_t>(mapped.bytes())) / page * page;
  if (first < end) ::madvise(reinterpret_cast<void*>(first), end - first, MADV_DONTNEED);
}

}  // namespace tilewright::runtime
