#include "tilewright/graph/text/scanner.h"

#include <algorithm>
#include <charconv>

#include "tilewright/graph/text/words.h"

namespace tilewright::text {
namespace {

constexpr std::size_t kMaxExpression = 4096;  // characters
constexpr int kMaxBrackets = 32;              // nesting in an expression

}  // namespace

std::size_t Scanner::line() const {
  const std::string_view before = text_.substr(0, position_);
  return 1 + static_cast<std::size_t>(std::count(before.begin(), before.end(), '\n'));
}

std::string Scanner::found() const {
  if (position_ >= text_.size()) return "the end of the text";
  std::size_t length = 1;
  if (starts_word(text_[position_])) {
    while (length < 40 && position_ + length < text_.size() && continues_word(text_[position_ + length])) ++length;
  }
  const std::string text = quoted(text_.substr(position_, length));
  return fmt::format("'{}'", std::string_view(text).substr(1, text.size() - 2));
}

void Scanner::skip_blanks() {
  while (position_ < text_.size()) {
    if (text_[position_] == '#') {
      position_ = std::min(text_.find('\n', position_), text_.size());
    } else if (is_blank(text_[position_])) {
      ++position_;
    } else {
      return;
    }
  }
}

bool Scanner::at_end() {
  skip_blanks();
  return position_ == text_.size();
}

char Scanner::peek() {
  skip_blanks();
  return position_ < text_.size() ? text_[position_] : '\0';
}

char Scanner::peek_on_line() const {
  std::size_t at = position_;
  while (at < text_.size() && (text_[at] == ' ' || text_[at] == '\t')) ++at;
  return at < text_.size() && text_[at] != '#' ? text_[at] : '\n';
}

bool Scanner::accept(char wanted) {
  if (peek() != wanted) return false;
  ++position_;
  return true;
}

bool Scanner::accept(std::string_view wanted) {
  skip_blanks();
  if (!text_.substr(position_).starts_with(wanted)) return false;
  position_ += wanted.size();
  return true;
}

Status Scanner::expect(char wanted) {
  if (accept(wanted)) return {};
  return fail("'{}' expected, found {}", wanted, found());
}

std::string_view Scanner::word() {
  skip_blanks();
  if (position_ == text_.size() || !starts_word(text_[position_])) return {};
  return digits(continues_word);
}

std::string_view Scanner::digits(bool (*belongs)(char)) {
  const std::size_t start = position_;
  while (position_ < text_.size() && belongs(text_[position_])) ++position_;
  return text_.substr(start, position_ - start);
}

Result<std::string> Scanner::name() {
  if (peek() == '"') return quoted_string();
  const std::string_view text = word();
  if (text.empty()) return fail("a name expected, found {}", found());
  return std::string(text);
}

Result<std::string> Scanner::quoted_string() {
  std::string out;
  for (++position_; position_ < text_.size(); ++position_) {
    const char c = text_[position_];
    if (c == '"') {
      ++position_;
      return out;
    }
    if (c == '\n') break;
    if (c != '\\') {
      out += c;
      continue;
    }
    const char escape = ++position_ < text_.size() ? text_[position_] : '\0';
    if (escape == 'n') {
      out += '\n';
    } else if (escape == '"' || escape == '\\') {
      out += escape;
    } else if (escape == 'x' && position_ + 2 < text_.size()) {
      unsigned byte = 0;
      const char* digits = text_.data() + position_ + 1;
      const auto [end, error] = std::from_chars(digits, digits + 2, byte, 16);
      if (error != std::errc() || end != digits + 2) return fail("'\\x' needs two hexadecimal digits");
      out += static_cast<char>(byte);
      position_ += 2;
    } else {
      return fail("unknown escape in a string");
    }
  }
  return fail("a string does not end");
}

bool Scanner::starts_attribute() {
  if (!starts_word(peek_on_line())) return false;
  std::size_t at = position_;
  while (text_[at] == ' ' || text_[at] == '\t') ++at;
  while (at < text_.size() && continues_word(text_[at])) ++at;
  return at < text_.size() && text_[at] == '=' && text_.substr(at, 2) != "==";
}

Result<std::string_view> Scanner::expression(bool in_list) {
  skip_blanks();
  const std::size_t start = position_;
  int depth = 0;
  for (; position_ < text_.size(); ++position_) {
    const char c = text_[position_];
    if (depth == 0 && (c == ',' || c == ']' || c == ')' || c == '}' || c == '{' || c == '#')) break;
    if (depth == 0 && is_blank(c) && (!in_list || c == '\n')) break;
    if (c == '(' && ++depth > kMaxBrackets) return fail("brackets nest deeper than {}", kMaxBrackets);
    if (c == ')') --depth;
    if (position_ - start == kMaxExpression) return fail("an expression exceeds {} characters", kMaxExpression);
  }
  if (position_ == start) return fail("an expression expected, found {}", found());
  std::string_view out = text_.substr(start, position_ - start);
  while (!out.empty() && is_blank(out.back())) out.remove_suffix(1);
  return out;
}

}  // namespace tilewright::text
