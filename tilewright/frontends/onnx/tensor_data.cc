// The value of a TensorProto: from its raw bytes, its typed fields, or another file. The number of elements is checked
// against what is there before anything is allocated.
#include <fmt/format.h>

#include <cstring>

#include "tilewright/frontends/onnx/carriers.h"
#include "tilewright/frontends/onnx/reader.h"
#include "tilewright/frontends/onnx/types.h"

namespace tilewright::onnx {
namespace {

constexpr std::int64_t kKeptBytes = 1024;  // of copies that every import of the model uses

constexpr std::size_t kMaxRank = 64;

Result<std::int64_t> count_elements(const schema::TensorProto& proto, std::int64_t bytes_each) {
  if (proto.dims.size() > kMaxRank) return fail(ErrorKind::kCorrupt, "a tensor of {} axes", proto.dims.size());
  std::int64_t count = 1;
  for (const std::int64_t dim : proto.dims) {
    if (dim < 0 || __builtin_mul_overflow(count, dim, &count)) {
      return fail(ErrorKind::kCorrupt, "sizes [{}] of a tensor are not possible", fmt::join(proto.dims, ", "));
    }
  }
  std::int64_t bytes = 0;
  if (__builtin_mul_overflow(count, bytes_each, &bytes)) {
    return fail(ErrorKind::kCorrupt, "sizes [{}] of a tensor are not possible", fmt::join(proto.dims, ", "));
  }
  return count;
}

// From a field of numbers to the dtype of the tensor; halves are stored as their bits.
template <typename From>
Result<Tensor> from_field(const std::vector<From>& field, DType dtype, std::int64_t count,
                          std::vector<std::int64_t> sizes) {
  if (static_cast<std::int64_t>(field.size()) != count) {
    return fail(ErrorKind::kCorrupt, "a tensor of {} elements has values for {}", count, field.size());
  }
  Tensor out(dtype, std::move(sizes));
  visit(dtype, [&]<typename T>() {
    for (std::size_t i = 0; i < field.size(); ++i) {
      if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) {
        out.data_as<T>()[i].bits = static_cast<std::uint16_t>(field[i]);
      } else if constexpr (std::is_same_v<T, bool>) {
        out.data_as<T>()[i] = field[i] != 0;
      } else {
        out.data_as<T>()[i] = static_cast<T>(field[i]);
      }
    }
  });
  return out;
}

// Elements of a carried type, each as its bits.
template <typename Bits>
void from_bits(Tensor& out, const CarriedRow& row, const Bits& bits) {
  visit(out.dtype(), [&]<typename T>() {
    for (std::int64_t i = 0; i < out.count(); ++i) {
      T& element = out.data_as<T>()[i];
      const std::uint64_t word = bits(i);
      if (row.kind == 'f') {
        element = T(element_of_bits(row.carried, static_cast<std::uint32_t>(word & ((1U << row.bits) - 1))));
      } else if constexpr (std::is_integral_v<T>) {
        const int spare = 64 - row.bits;
        element = row.kind == 'i' ? static_cast<T>(static_cast<std::int64_t>(word << spare) >> spare)
                                  : static_cast<T>(word << spare >> spare);
      }
    }
  });
}

std::uint64_t packed(std::string_view bytes, int width, std::int64_t at) {
  const std::int64_t bit = at * width;
  if (width < 8) return static_cast<std::uint8_t>(bytes[static_cast<std::size_t>(bit / 8)]) >> (bit % 8);
  std::uint64_t word = 0;
  std::memcpy(&word, bytes.data() + bit / 8, static_cast<std::size_t>(width / 8));
  return word;
}

}  // namespace

Result<Tensor> Source::carried_tensor(const schema::TensorProto& proto, const CarriedRow& row) {
  TW_ASSIGN(const std::int64_t count, count_elements(proto, 64));
  const auto wrong = [&](std::size_t given) {
    return fail(ErrorKind::kCorrupt, "a tensor {}[{}] has {} words of data", row.text, fmt::join(proto.dims, ", "),
                given);
  };
  if (row.kind == 's') {
    if (std::ssize(proto.string_data) != count) return wrong(proto.string_data.size());
    Tensor out(row.dtype, proto.dims);
    for (std::size_t i = 0; i < proto.string_data.size(); ++i) {
      out.data_as<std::int64_t>()[i] = strings_->number_of(proto.string_data[i]);
    }
    return out;
  }
  const bool is_external = proto.data_location.value_or(0) == 1;
  if (is_external || proto.raw_data) {
    Bytes raw{proto.raw_data.value_or(""), bytes_.owner};
    if (is_external) {
      TW_ASSIGN(raw, external(proto));
    }
    if (std::ssize(raw.content) != (count * row.bits + 7) / 8) return wrong(raw.content.size());
    Tensor out(row.dtype, proto.dims);
    from_bits(out, row, [&](std::int64_t i) { return packed(raw.content, row.bits, i); });
    return out;
  }
  const bool is_wide = row.carried == Carried::kU32 || row.carried == Carried::kU64;
  const std::size_t words = is_wide ? proto.uint64_data.size() : proto.int32_data.size();
  const std::int64_t in_each = row.bits < 8 ? 8 / row.bits : 1;  // small elements are packed into bytes
  if (static_cast<std::int64_t>(words) != (count + in_each - 1) / in_each) return wrong(words);
  Tensor out(row.dtype, proto.dims);
  from_bits(out, row, [&](std::int64_t i) -> std::uint64_t {
    const auto place = static_cast<std::size_t>(i / in_each);
    if (is_wide) return proto.uint64_data[place];
    return static_cast<std::uint32_t>(proto.int32_data[place]) >> (row.bits * (i % in_each));
  });
  return out;
}

Result<Tensor> Source::from_raw(const schema::TensorProto&, DType dtype, std::vector<std::int64_t> sizes, Bytes raw) {
  const auto address = reinterpret_cast<std::uintptr_t>(raw.content.data());
  const bool aligned = address % static_cast<std::uintptr_t>(byte_size(dtype)) == 0;
  if (raw.owner != nullptr && aligned && dtype != DType::kBool) {
    std::vector<std::int64_t> strides = contiguous_strides(sizes);
    void* data = const_cast<char*>(raw.content.data());  // a Tensor of a constant is only read
    return Tensor(dtype, std::move(sizes), std::move(strides), data, raw.owner);
  }
  Tensor out(dtype, std::move(sizes));
  if (!raw.content.empty()) std::memcpy(out.data(), raw.content.data(), raw.content.size());
  if (dtype == DType::kBool) {  // any byte but 0 is true, and a C++ bool must be 0 or 1
    auto* bytes = static_cast<std::uint8_t*>(out.data());
    for (std::size_t i = 0; i < raw.content.size(); ++i) bytes[i] = bytes[i] != 0 ? 1 : 0;
  }
  return out;
}

Result<Tensor> Source::tensor(const schema::TensorProto& proto) {
  if (const auto found = copies_.find(&proto); found != copies_.end()) return found->second;
  TW_ASSIGN(Tensor tensor, read_tensor(proto));
  if (tensor.bytes() >= kKeptBytes && tensor.owner() != bytes_.owner) copies_.emplace(&proto, tensor);
  return tensor;
}

Result<Tensor> Source::read_tensor(const schema::TensorProto& proto) {
  if (const CarriedRow* row = find_carried(proto.data_type.value_or(0))) return carried_tensor(proto, *row);
  TW_ASSIGN(const DType dtype, to_dtype(proto.data_type.value_or(0)));
  TW_ASSIGN(const std::int64_t count, count_elements(proto, byte_size(dtype)));
  const bool is_external = proto.data_location.value_or(0) == 1;
  if (is_external || proto.raw_data) {
    Bytes raw{proto.raw_data.value_or(""), bytes_.owner};
    if (is_external) {
      TW_ASSIGN(raw, external(proto));
    }
    if (raw.content.size() != static_cast<std::size_t>(count * byte_size(dtype))) {
      return fail(ErrorKind::kCorrupt, "a tensor {}[{}] has {} bytes of data", dtype, fmt::join(proto.dims, ", "),
                  raw.content.size());
    }
    return from_raw(proto, dtype, proto.dims, std::move(raw));
  }
  if (dtype == DType::kF32) return from_field(proto.float_data, dtype, count, proto.dims);
  if (dtype == DType::kF64) return from_field(proto.double_data, dtype, count, proto.dims);
  if (dtype == DType::kI64) return from_field(proto.int64_data, dtype, count, proto.dims);
  return from_field(proto.int32_data, dtype, count, proto.dims);
}

}  // namespace tilewright::onnx
