#include <fmt/format.h>

#include <cmath>
#include <cstring>

#include "tilewright/graph/text/values.h"
#include "tilewright/graph/text/words.h"

namespace tilewright::text {
namespace {

constexpr std::int64_t kMaxInline = 32;  // elements; larger tensors are written as bytes

template <typename T>
std::string print_number(T value) {
  if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) {
    return fmt::format("{}", static_cast<float>(value));
  } else if constexpr (std::is_floating_point_v<T>) {
    return fmt::format("{}", value);
  } else {
    return fmt::format("{}", static_cast<std::int64_t>(value));
  }
}

// A nan whose sign or payload the word "nan" would lose.
template <typename T>
bool is_odd_nan(T value) {
  if constexpr (std::is_integral_v<T>) {
    return false;
  } else {
    const T plain(std::numeric_limits<float>::quiet_NaN());
    return std::isnan(static_cast<double>(value)) && std::memcmp(&value, &plain, sizeof(T)) != 0;
  }
}

std::string print_bytes(const Tensor& tensor) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string out = "0x";
  const auto* bytes = tensor.data_as<unsigned char>();
  for (std::int64_t i = 0; i < tensor.bytes(); ++i) {
    out += kDigits[bytes[i] >> 4];
    out += kDigits[bytes[i] & 15];
  }
  return out;
}

template <typename T>
std::string print_elements(const Tensor& tensor) {
  const T* values = tensor.data_as<T>();
  std::string out;
  for (std::int64_t i = 0; i < tensor.count(); ++i) {
    if (is_odd_nan(values[i])) return print_bytes(tensor);
    if (i != 0) out += ", ";
    out += print_number(values[i]);
  }
  return out;
}

// An expression with blanks stands in brackets where a blank would end it.
std::string print_dim(Dim dim) {
  const std::string out = to_string(dim);
  return out.find(' ') == std::string::npos ? out : fmt::format("({})", out);
}

std::string print_one(std::int64_t value) {
  return fmt::format("{}", value);
}
std::string print_one(double value) {
  return fmt::format("{}", value);
}
std::string print_one(bool value) {
  return value ? "true" : "false";
}
std::string print_one(const std::string& value) {
  return word_or_quoted(value);
}
std::string print_one(const Ints& value) {
  return fmt::format("[{}]", fmt::join(value, ","));
}
std::string print_one(DType value) {
  return std::string(to_string(value));
}
std::string print_one(Dim value) {
  return print_dim(value);
}
std::string print_one(const Tensor& value) {
  return print_tensor(value);
}
std::string print_one(const Dims& value) {
  std::string out = "[";
  for (std::size_t i = 0; i < value.size(); ++i) out += fmt::format("{}{}", i == 0 ? "" : ", ", to_string(value[i]));
  return out + "]";
}

}  // namespace

std::string print_value(const AttrValue& value) {
  return std::visit([](const auto& one) { return print_one(one); }, value);
}

bool is_long(const Tensor& tensor) {
  return tensor.count() > kMaxInline;
}

std::string print_reference(const Tensor& tensor, std::size_t number) {
  return fmt::format("{}[{}]{{@{}}}", to_string(tensor.dtype()), fmt::join(tensor.sizes(), ", "), number);
}

std::string print_tensor(const Tensor& given) {
  const Tensor tensor = given.contiguous();
  std::string out = fmt::format("{}[{}]{{", to_string(tensor.dtype()), fmt::join(tensor.sizes(), ", "));
  if (is_long(tensor)) {
    out += print_bytes(tensor);
  } else {
    out += visit(tensor.dtype(), [&]<typename T>() { return print_elements<T>(tensor); });
  }
  return out + "}";
}

}  // namespace tilewright::text
