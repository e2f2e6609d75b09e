#include "tilewright/frontends/onnx/schema/wire_writer.h"

#include <algorithm>

namespace tilewright::onnx::schema {

void WireWriter::put(std::string_view content) {
  size_ += content.size();
  if (content.size() < kViewFrom) {
    pieces_.back().backwards.append(content.rbegin(), content.rend());
    return;
  }
  pieces_.back().view = content;
  pieces_.emplace_back();
}

void WireWriter::varint(std::uint64_t value) {
  char encoded[10];
  std::size_t length = 0;
  for (; value >= 0x80; value >>= 7) encoded[length++] = static_cast<char>((value & 0x7f) | 0x80);
  encoded[length++] = static_cast<char>(value);
  put({encoded, length});
}

void WireWriter::fixed32(std::uint32_t value) {
  char encoded[4];
  for (char& byte : encoded) {
    byte = static_cast<char>(value & 0xff);
    value >>= 8;
  }
  put({encoded, sizeof encoded});
}

void WireWriter::fixed64(std::uint64_t value) {
  fixed32(static_cast<std::uint32_t>(value >> 32));
  fixed32(static_cast<std::uint32_t>(value));
}

void WireWriter::bytes(std::string_view content) {
  put(content);
  varint(content.size());
}

std::vector<std::string_view> WireWriter::pieces() {
  std::vector<std::string_view> out;
  for (auto piece = pieces_.rbegin(); piece != pieces_.rend(); ++piece) {
    std::reverse(piece->backwards.begin(), piece->backwards.end());
    if (!piece->view.empty()) out.push_back(piece->view);
    if (!piece->backwards.empty()) out.push_back(piece->backwards);
  }
  return out;
}

}  // namespace tilewright::onnx::schema
