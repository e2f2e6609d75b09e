// The protobuf wire format: walks the fields of a message in bytes that stay where they are. Everything read is a view
// of them. A reader never allocates for what the bytes do not hold: lengths are checked against what is left, and the
// numbers of nested messages and of levels are limited. The first error stays; after it, next_field() is false.
#pragma once

#include <cstdint>
#include <string_view>

#include "tilewright/base/result.h"

namespace tilewright::onnx::schema {

struct WireLimits {
  int depth = 256;                       // of messages in messages: an `If` in an `If` takes four
  std::int64_t messages = 16'000'000;    // in all
  std::int64_t scalars = 1'000'000'000;  // in repeated fields
};

enum class WireType : std::uint8_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

class Wire {
 public:
  explicit Wire(std::string_view bytes, WireLimits limits = {}) : rest_(bytes), size_(bytes.size()), limits_(limits) {}

  bool next_field();  // false at the end of the message, or after an error
  int field() const { return field_; }
  WireType type() const { return type_; }

  std::uint64_t varint();
  std::uint32_t fixed32();
  std::uint64_t fixed64();
  std::string_view bytes();
  void skip();

  // Reads a nested message with `read`, which walks its fields.
  template <typename Read>
  void message(Read read) {
    const std::string_view content = bytes();
    if (failed() || !enter()) return;
    const std::string_view after = rest_;
    rest_ = content;
    read();
    if (!failed()) rest_ = after;
    --depth_;
  }
  bool count_scalars(std::size_t count);
  void fail(const char* what);
  bool failed() const { return error_ != nullptr; }
  Status status() const;
  std::string_view rest() const { return rest_; }

 private:
  bool enter();

  std::string_view rest_;
  std::size_t size_;
  WireLimits limits_;
  int field_ = 0;
  WireType type_ = WireType::kVarint;
  int depth_ = 0;
  std::int64_t messages_ = 0;
  std::int64_t scalars_ = 0;
  const char* error_ = nullptr;
};

}  // namespace tilewright::onnx::schema
