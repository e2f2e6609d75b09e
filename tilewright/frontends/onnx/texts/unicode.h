// UTF-8 and the case of letters: Latin, Greek, Cyrillic and Armenian; others have no case here.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tilewright::onnx {

// Bytes that are no UTF-8 stand for themselves.
std::vector<char32_t> decode_utf8(std::string_view text);
void append_utf8(std::string& out, char32_t code);

std::string to_lower(std::string_view text);
std::string to_upper(std::string_view text);

}  // namespace tilewright::onnx
