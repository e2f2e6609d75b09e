// The value of a TensorProto: from its raw bytes, its typed fields, or another file. The number of elements is checked
// against what is there before anything is allocated.
#include <fmt/format.h>

#include <cstring>

#include "tilewright/frontends/onnx/reader.h"
#include "tilewright/frontends/onnx/types.h"

namespace tilewright::onnx {
namespace {

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

}  // namespace

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
