// Names and strings of the text form, shared by printer and parser: a name that is no identifier, or is a keyword, is
// written in quotes.
#pragma once

#include <string>
#include <string_view>

namespace tilewright::text {

constexpr bool starts_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
constexpr bool continues_word(char c) {
  return starts_word(c) || (c >= '0' && c <= '9') || c == '.';
}
constexpr bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

bool is_identifier(std::string_view text);
bool is_keyword(std::string_view text);  // graph weight scalar fact capture return
std::string quoted(std::string_view text);
std::string word_or_quoted(std::string_view text);

}  // namespace tilewright::text
