// Writes the protobuf wire format from the end of a message to its beginning, so that the length of a nested message is
// known when it is put before it: one pass, nothing is measured twice. The generated writers therefore walk fields and
// elements backwards. Long bytes are not copied: they stay views of memory that lives until pieces() has been used.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tilewright/frontends/onnx/schema/wire.h"

namespace tilewright::onnx::schema {

class WireWriter {
 public:
  static constexpr std::size_t kViewFrom = 4096;  // bytes; shorter ones are copied

  // Each puts something before what is there.
  void tag(int field, WireType type) { varint(static_cast<std::uint64_t>(field) << 3 | static_cast<unsigned>(type)); }
  void varint(std::uint64_t value);
  void fixed32(std::uint32_t value);
  void fixed64(std::uint64_t value);
  void bytes(std::string_view content);  // with their length

  // A nested message: `write` puts its fields.
  template <typename Write>
  void message(Write write) {
    const std::uint64_t before = size_;
    write();
    varint(size_ - before);
  }

  std::uint64_t size() const { return size_; }
  // The message from its beginning. The writer is done with then.
  std::vector<std::string_view> pieces();

 private:
  void put(std::string_view content);

  struct Piece {
    std::string backwards;  // own bytes, last one first
    std::string_view view;  // before them
  };
  std::vector<Piece> pieces_{1};
  std::uint64_t size_ = 0;
};

}  // namespace tilewright::onnx::schema
