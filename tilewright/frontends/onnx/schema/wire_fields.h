// How a field of each C++ type is read from the wire: the overloads that the generated readers call.
// A repeated number may come packed (one length, then the numbers) or one at a time, whatever the schema says.
#pragma once

#include <bit>
#include <memory>
#include <optional>
#include <type_traits>
#include <vector>

#include "tilewright/frontends/onnx/schema/wire.h"

namespace tilewright::onnx::schema {

template <typename T>
T read_number(Wire& wire) {
  if constexpr (std::is_same_v<T, float>) {
    return std::bit_cast<float>(wire.fixed32());
  } else if constexpr (std::is_same_v<T, double>) {
    return std::bit_cast<double>(wire.fixed64());
  } else {
    return static_cast<T>(wire.varint());
  }
}

template <typename T>
constexpr WireType wire_type() {
  if constexpr (std::is_same_v<T, std::string_view>) return WireType::kBytes;
  if constexpr (std::is_same_v<T, float>) return WireType::kFixed32;
  if constexpr (std::is_same_v<T, double>) return WireType::kFixed64;
  return WireType::kVarint;
}

template <typename T>
void read_field(Wire& wire, std::optional<T>& out) {
  if (wire.type() != wire_type<T>()) return wire.fail("a field has another type than the schema says");
  if constexpr (std::is_same_v<T, std::string_view>) {
    out = wire.bytes();
  } else {
    out = read_number<T>(wire);
  }
}

template <typename T>
void read_packed(Wire& wire, std::vector<T>& out) {
  wire.message([&] {
    while (!wire.failed() && !wire.rest().empty()) {
      if (!wire.count_scalars(1)) return;
      out.push_back(read_number<T>(wire));
    }
  });
}

template <typename T>
void read_field(Wire& wire, std::vector<T>& out) {
  if constexpr (std::is_same_v<T, std::string_view>) {
    if (wire.count_scalars(1)) out.push_back(wire.bytes());
  } else if constexpr (std::is_arithmetic_v<T>) {
    if (wire.type() == WireType::kBytes) return read_packed(wire, out);
    if (wire.type() != wire_type<T>()) return wire.fail("a field has another type than the schema says");
    if (wire.count_scalars(1)) out.push_back(read_number<T>(wire));
  } else {
    wire.message([&] { read(wire, out.emplace_back()); });
  }
}

// A message that comes twice is merged, as protobuf does.
template <typename T>
void read_field(Wire& wire, std::unique_ptr<T>& out) {
  wire.message([&] {
    if (out == nullptr) out = std::make_unique<T>();
    read(wire, *out);
  });
}

}  // namespace tilewright::onnx::schema
