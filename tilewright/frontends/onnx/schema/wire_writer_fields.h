// How a field of each C++ type is written: the overloads that the generated writers call. What is not set is not
// written; repeated numbers are packed, as readers of both forms take them.
#pragma once

#include <bit>
#include <memory>
#include <optional>
#include <type_traits>
#include <vector>

#include "tilewright/frontends/onnx/schema/wire_fields.h"
#include "tilewright/frontends/onnx/schema/wire_writer.h"

namespace tilewright::onnx::schema {

template <typename T>
void write_number(WireWriter& wire, T value) {
  if constexpr (std::is_same_v<T, float>) {
    wire.fixed32(std::bit_cast<std::uint32_t>(value));
  } else if constexpr (std::is_same_v<T, double>) {
    wire.fixed64(std::bit_cast<std::uint64_t>(value));
  } else {
    wire.varint(static_cast<std::uint64_t>(static_cast<std::int64_t>(value)));
  }
}

template <typename T>
void write_field(WireWriter& wire, int field, const std::optional<T>& value) {
  if (!value) return;
  if constexpr (std::is_same_v<T, std::string_view>) {
    wire.bytes(*value);
  } else {
    write_number(wire, *value);
  }
  wire.tag(field, wire_type<T>());
}

template <typename T>
void write_field(WireWriter& wire, int field, const std::vector<T>& values) {
  if (values.empty()) return;
  if constexpr (std::is_arithmetic_v<T>) {
    wire.message([&] {
      for (auto value = values.rbegin(); value != values.rend(); ++value) write_number(wire, *value);
    });
    wire.tag(field, WireType::kBytes);
  } else {
    for (auto value = values.rbegin(); value != values.rend(); ++value) {
      if constexpr (std::is_same_v<T, std::string_view>) {
        wire.bytes(*value);
      } else {
        wire.message([&] { write(wire, *value); });
      }
      wire.tag(field, WireType::kBytes);
    }
  }
}

template <typename T>
void write_field(WireWriter& wire, int field, const std::unique_ptr<T>& value) {
  if (value == nullptr) return;
  wire.message([&] { write(wire, *value); });
  wire.tag(field, WireType::kBytes);
}

}  // namespace tilewright::onnx::schema
