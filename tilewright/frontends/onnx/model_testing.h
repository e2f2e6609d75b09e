// Small ONNX models for tests, written by hand in the wire format: what the importer is asked of a node, without
// Python.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

namespace tilewright::onnx::testing {

inline std::string varint(std::uint64_t value) {
  std::string out;
  for (; value > 0x7f; value >>= 7) out.push_back(static_cast<char>((value & 0x7f) | 0x80));
  out.push_back(static_cast<char>(value));
  return out;
}
inline std::string field(int number, std::string_view content) {
  return varint(static_cast<std::uint64_t>(number) << 3 | 2) + varint(content.size()) + std::string(content);
}
inline std::string field(int number, std::int64_t value) {
  return varint(static_cast<std::uint64_t>(number) << 3) + varint(static_cast<std::uint64_t>(value));
}

using Names = std::initializer_list<std::string_view>;

inline std::string attribute(std::string_view name, std::int64_t value) {
  return field(5, field(1, name) + field(3, value) + field(20, std::int64_t{2}));
}
inline std::string node(std::string_view op, Names inputs, Names outputs, std::string_view attributes = "") {
  std::string out;
  for (const std::string_view input : inputs) out += field(1, input);
  for (const std::string_view output : outputs) out += field(2, output);
  return field(1, out + field(4, op) + std::string(attributes));
}
// A size: a number, or a name.
inline std::string dim(std::int64_t value) {
  return field(1, field(1, value));
}
inline std::string dim(std::string_view name) {
  return field(1, field(2, name));
}
inline std::string value_info(std::string_view name, std::int64_t elem_type, std::string_view dims) {
  return field(1, name) + field(2, field(1, field(1, elem_type) + field(2, dims)));
}
inline std::string input(std::string_view name, std::int64_t elem_type, std::string_view dims) {
  return field(11, value_info(name, elem_type, dims));
}
inline std::string output(std::string_view name) {
  return field(12, field(1, name));
}
inline std::string initializer(std::string_view name, std::initializer_list<std::int64_t> values) {
  std::string out = field(1, static_cast<std::int64_t>(values.size())) + field(2, std::int64_t{7}) + field(8, name);
  for (const std::int64_t value : values) out += field(7, value);
  return field(5, out);
}
inline std::string model(std::string_view graph, std::int64_t opset = 18) {
  return field(1, std::int64_t{10}) + field(8, field(2, opset)) + field(7, graph);
}

}  // namespace tilewright::onnx::testing
