#include "tilewright/frontends/onnx/schema/wire.h"

#include <cstring>

namespace tilewright::onnx::schema {

void Wire::fail(const char* what) {
  if (error_ != nullptr) return;
  error_ = what;
  rest_ = {};
}

Status Wire::status() const {
  if (error_ == nullptr) return {};
  return tilewright::fail(ErrorKind::kCorrupt, "not an ONNX model: {}, in field {} of {} bytes", error_, field_, size_);
}

bool Wire::next_field() {
  if (failed() || rest_.empty()) return false;
  const std::uint64_t key = varint();
  if (failed()) return false;
  const std::uint64_t number = key >> 3;
  if (number == 0 || number > 0x1FFFFFFF) {
    fail("a field has a number that does not exist");
    return false;
  }
  field_ = static_cast<int>(number);
  type_ = static_cast<WireType>(key & 7);
  return true;
}

std::uint64_t Wire::varint() {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < 10 && i < rest_.size(); ++i) {
    const auto byte = static_cast<std::uint8_t>(rest_[i]);
    value |= static_cast<std::uint64_t>(byte & 0x7F) << (7 * i);
    if ((byte & 0x80) == 0) {
      rest_.remove_prefix(i + 1);
      return value;
    }
  }
  fail("a number does not end");
  return 0;
}

std::uint32_t Wire::fixed32() {
  std::uint32_t value = 0;
  if (rest_.size() < sizeof value) {
    fail("the bytes end in a number");
    return 0;
  }
  std::memcpy(&value, rest_.data(), sizeof value);
  rest_.remove_prefix(sizeof value);
  return value;
}

std::uint64_t Wire::fixed64() {
  std::uint64_t value = 0;
  if (rest_.size() < sizeof value) {
    fail("the bytes end in a number");
    return 0;
  }
  std::memcpy(&value, rest_.data(), sizeof value);
  rest_.remove_prefix(sizeof value);
  return value;
}

std::string_view Wire::bytes() {
  if (type_ != WireType::kBytes) {
    fail("a field has another type than the schema says");
    return {};
  }
  const std::uint64_t length = varint();
  if (failed()) return {};
  if (length > rest_.size()) {
    fail("a length is larger than what is left");
    return {};
  }
  const std::string_view content = rest_.substr(0, length);
  rest_.remove_prefix(length);
  return content;
}

void Wire::skip() {
  switch (type_) {
    case WireType::kVarint:
      varint();
      return;
    case WireType::kFixed64:
      fixed64();
      return;
    case WireType::kBytes:
      bytes();
      return;
    case WireType::kFixed32:
      fixed32();
      return;
  }
  fail("a field has a type that does not exist");
}

bool Wire::enter() {
  if (++messages_ > limits_.messages) {
    fail("there are too many messages");
    return false;
  }
  if (++depth_ > limits_.depth) {
    fail("messages are nested too deep");
    return false;
  }
  return true;
}

bool Wire::count_scalars(std::size_t count) {
  scalars_ += static_cast<std::int64_t>(count);
  if (scalars_ <= limits_.scalars) return true;
  fail("there are too many numbers");
  return false;
}

}  // namespace tilewright::onnx::schema
