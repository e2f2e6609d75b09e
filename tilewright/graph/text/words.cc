#include "tilewright/graph/text/words.h"

#include <fmt/format.h>

#include <algorithm>

namespace tilewright::text {

bool is_identifier(std::string_view text) {
  return !text.empty() && starts_word(text[0]) && std::all_of(text.begin(), text.end(), continues_word);
}

bool is_keyword(std::string_view text) {
  static constexpr std::string_view kKeywords[] = {"graph", "weight", "scalar", "fact", "capture", "return"};
  return std::find(std::begin(kKeywords), std::end(kKeywords), text) != std::end(kKeywords);
}

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      out += fmt::format("\\x{:02x}", static_cast<unsigned>(c));
    } else {
      out += c;
    }
  }
  return out + "\"";
}

std::string word_or_quoted(std::string_view text) {
  return is_identifier(text) && !is_keyword(text) ? std::string(text) : quoted(text);
}

}  // namespace tilewright::text
