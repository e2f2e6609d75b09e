#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <limits>

#include "tilewright/graph/text/values.h"
#include "tilewright/graph/text/words.h"

namespace tilewright::text {
namespace {

constexpr std::size_t kMaxList = 65536;                       // entries of a list
constexpr std::int64_t kMaxElements = std::int64_t{1} << 40;  // keeps sizes and strides far from overflow

bool is_number_character(char c) {
  return continues_word(c) || c == '+' || c == '-';
}
bool is_hex_digit(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

template <typename Number>
Result<Number> parse_number(Scanner& in) {
  in.skip_blanks();
  const std::string found = in.found();
  const std::string_view text = in.digits(is_number_character);
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) {
    return in.fail("a number that fits expected, found {}", text.empty() ? found : fmt::format("'{}'", text));
  }
  return value;
}

template <typename T>
Result<T> parse_element(Scanner& in) {
  if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) {
    TW_ASSIGN(const float value, parse_number<float>(in));
    return T(value);
  } else if constexpr (std::is_same_v<T, bool>) {
    if (in.accept(std::string_view("true"))) return true;
    if (in.accept(std::string_view("false"))) return false;
    TW_ASSIGN(const std::int64_t value, parse_number<std::int64_t>(in));
    if (value != 0 && value != 1) return in.fail("a bool expected, found {}", value);
    return value == 1;
  } else {
    return parse_number<T>(in);
  }
}

template <typename T>
Status parse_elements(Scanner& in, Tensor& out) {
  for (std::int64_t i = 0; i < out.count(); ++i) {
    if (i != 0) TW_TRY(in.expect(','));
    TW_ASSIGN(out.data_as<T>()[i], parse_element<T>(in));
  }
  return {};
}

unsigned hex_value(char c) {
  return static_cast<unsigned>(c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10);
}

Status parse_bytes(Scanner& in, std::string_view digits, Tensor& out) {
  if (digits.size() != 2 * static_cast<std::size_t>(out.bytes())) {
    return in.fail("{} bytes expected, {} hexadecimal digits given", out.bytes(), digits.size());
  }
  auto* bytes = out.data_as<unsigned char>();
  for (std::size_t i = 0; i < digits.size(); i += 2) {
    bytes[i / 2] = static_cast<unsigned char>(hex_value(digits[i]) * 16 + hex_value(digits[i + 1]));
    // A bool with another byte than 0 or 1 is no value of its type.
    if (out.dtype() == DType::kBool && bytes[i / 2] > 1) return in.fail("a bool byte must be 00 or 01");
  }
  return {};
}

// "[a, b, c]": calls `entry` for each.
template <typename Entry>
Status parse_list(Scanner& in, Entry entry) {
  TW_TRY(in.expect('['));
  if (in.accept(']')) return {};
  for (std::size_t count = 0;; ++count) {
    if (count == kMaxList) return in.fail("a list exceeds {} entries", kMaxList);
    TW_TRY(entry());
    if (in.accept(']')) return {};
    TW_TRY(in.expect(','));
  }
}

Result<std::vector<Dim>> parse_dims(Scanner& in) {
  std::vector<Dim> dims;
  TW_TRY(parse_list(in, [&]() -> Status {
    TW_ASSIGN(const Dim dim, parse_expression(in, true));
    dims.push_back(dim);
    return {};
  }));
  return dims;
}

Result<Ints> parse_ints(Scanner& in) {
  Ints ints;
  TW_TRY(parse_list(in, [&]() -> Status {
    TW_ASSIGN(const std::int64_t value, parse_integer(in));
    ints.push_back(value);
    return {};
  }));
  return ints;
}

Result<DType> parse_dtype_word(Scanner& in) {
  const std::string_view word = in.word();
  const std::optional<DType> dtype = parse_dtype(word);
  if (!dtype) return in.fail("a dtype expected, found {}", word.empty() ? in.found() : fmt::format("'{}'", word));
  return *dtype;
}

// Sizes of a constant: numbers, and few enough elements for the rest of the text to hold.
Result<std::vector<std::int64_t>> constant_sizes(Scanner& in, const TensorType& type) {
  std::vector<std::int64_t> sizes;
  std::int64_t extent = 1;
  bool empty = false;
  for (const Dim dim : type.shape) {
    const std::optional<std::int64_t> size = dim.constant();
    if (!size || *size < 0 || *size > kMaxElements) {
      return in.fail("the sizes of a constant are numbers: {}", to_string(type));
    }
    empty = empty || *size == 0;
    if (__builtin_mul_overflow(extent, std::max<std::int64_t>(*size, 1), &extent) || extent > kMaxElements) {
      return in.fail("a constant is too large: {}", to_string(type));
    }
    sizes.push_back(*size);
  }
  if (!empty && static_cast<std::size_t>(extent) > in.remaining()) {
    return in.fail("the text ends before the elements of {}", to_string(type));
  }
  return sizes;
}

// "@2": the third of the tensors that came with the text.
Result<Tensor> parse_reference(Scanner& in, const TensorType& type) {
  TW_ASSIGN(const std::int64_t number, parse_integer(in));
  if (number < 0 || static_cast<std::size_t>(number) >= in.tensors().size()) {
    return in.fail("tensor {} is not there, {} are", number, in.tensors().size());
  }
  const Tensor& tensor = in.tensors()[static_cast<std::size_t>(number)];
  const TensorType actual{tensor.dtype(), Shape(tensor.sizes().begin(), tensor.sizes().end())};
  if (!(actual == type))
    return in.fail("tensor {} is {}, the text says {}", number, to_string(actual), to_string(type));
  return tensor;
}

}  // namespace

Result<std::int64_t> parse_integer(Scanner& in) {
  return parse_number<std::int64_t>(in);
}

Result<Dim> parse_expression(Scanner& in, bool in_list) {
  TW_ASSIGN(const std::string_view text, in.expression(in_list));
  Result<Dim> dim = parse_dim(text);
  if (!dim.ok()) return in.fail("{}", dim.error().message);
  return *dim;
}

Result<TensorType> parse_type(Scanner& in) {
  TW_ASSIGN(const DType dtype, parse_dtype_word(in));
  TW_ASSIGN(std::vector<Dim> shape, parse_dims(in));
  for (const Dim dim : shape) {
    if (dim.is_float()) return in.fail("a size is an integer: {}", to_string(dim));
  }
  return TensorType{dtype, std::move(shape)};
}

Result<Tensor> parse_tensor(Scanner& in) {
  TW_ASSIGN(const TensorType type, parse_type(in));
  TW_TRY(in.expect('{'));
  if (in.accept('@')) {
    TW_ASSIGN(Tensor known, parse_reference(in, type));
    TW_TRY(in.expect('}'));
    return known;
  }
  TW_ASSIGN(std::vector<std::int64_t> sizes, constant_sizes(in, type));
  Tensor out(type.dtype, std::move(sizes));
  if (in.accept(std::string_view("0x"))) {
    TW_TRY(parse_bytes(in, in.digits(is_hex_digit), out));
  } else {
    TW_TRY(visit(type.dtype, [&]<typename T>() { return parse_elements<T>(in, out); }));
  }
  TW_TRY(in.expect('}'));
  return out;
}

Result<AttrValue> parse_value(Scanner& in, AttrKind kind) {
  switch (kind) {
    case AttrKind::kInt: {
      TW_ASSIGN(const std::int64_t value, parse_integer(in));
      return AttrValue(value);
    }
    case AttrKind::kFloat: {
      TW_ASSIGN(const double value, parse_number<double>(in));
      return AttrValue(value);
    }
    case AttrKind::kBool: {
      TW_ASSIGN(const bool value, parse_element<bool>(in));
      return AttrValue(value);
    }
    case AttrKind::kStr: {
      TW_ASSIGN(std::string value, in.name());
      return AttrValue(std::move(value));
    }
    case AttrKind::kInts: {
      TW_ASSIGN(Ints value, parse_ints(in));
      return AttrValue(std::move(value));
    }
    case AttrKind::kDType: {
      TW_ASSIGN(const DType value, parse_dtype_word(in));
      return AttrValue(value);
    }
    case AttrKind::kDim: {
      TW_ASSIGN(const Dim value, parse_expression(in, false));
      return AttrValue(value);
    }
    case AttrKind::kDims: {
      TW_ASSIGN(Dims value, parse_dims(in));
      return AttrValue(std::move(value));
    }
    case AttrKind::kTensor: {
      TW_ASSIGN(Tensor value, parse_tensor(in));
      return AttrValue(std::move(value));
    }
  }
  check_failed("the kind of an attribute exists", __FILE__, __LINE__, "");
}

}  // namespace tilewright::text
