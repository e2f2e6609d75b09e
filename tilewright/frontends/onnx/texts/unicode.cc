#include "tilewright/frontends/onnx/texts/unicode.h"

namespace tilewright::onnx {
namespace {

// Capital letters from `first` to `last`, in steps of `step`; the small one of each lies `shift` behind it. The facts
// are those of UnicodeData.txt.
struct CaseRange {
  char32_t first, last;
  int step, shift;
};
constexpr CaseRange kCases[] = {
    {'A', 'Z', 1, 32},     {0xC0, 0xD6, 1, 32},    {0xD8, 0xDE, 1, 32},    {0x100, 0x12E, 2, 1},
    {0x132, 0x136, 2, 1},  {0x139, 0x147, 2, 1},   {0x14A, 0x176, 2, 1},   {0x178, 0x178, 1, -121},
    {0x179, 0x17D, 2, 1},  {0x386, 0x386, 1, 38},  {0x388, 0x38A, 1, 37},  {0x38C, 0x38C, 1, 64},
    {0x38E, 0x38F, 1, 63}, {0x391, 0x3A1, 1, 32},  {0x3A3, 0x3AB, 1, 32},  {0x400, 0x40F, 1, 80},
    {0x410, 0x42F, 1, 32}, {0x460, 0x480, 2, 1},   {0x48A, 0x4BE, 2, 1},   {0x4D0, 0x52E, 2, 1},
    {0x531, 0x556, 1, 48}, {0x1E00, 0x1E94, 2, 1}, {0x1EA0, 0x1EFE, 2, 1},
};

char32_t lower_of(char32_t code) {
  for (const CaseRange& row : kCases) {
    if (code < row.first || code > row.last || (code - row.first) % static_cast<char32_t>(row.step) != 0) continue;
    return static_cast<char32_t>(static_cast<int>(code) + row.shift);
  }
  return code;
}

char32_t upper_of(char32_t code) {
  for (const CaseRange& row : kCases) {
    const auto capital = static_cast<char32_t>(static_cast<int>(code) - row.shift);
    if (capital < row.first || capital > row.last) continue;
    if ((capital - row.first) % static_cast<char32_t>(row.step) == 0) return capital;
  }
  return code;
}

template <typename Change>
std::string changed(std::string_view text, Change change) {
  std::string out;
  out.reserve(text.size());
  for (const char32_t code : decode_utf8(text)) append_utf8(out, change(code));
  return out;
}

// How many bytes the character takes that begins with this one; 1 for what cannot begin one.
std::size_t length_of(unsigned char first) {
  if (first >= 0xC2 && first < 0xE0) return 2;
  if (first >= 0xE0 && first < 0xF0) return 3;
  return first >= 0xF0 && first < 0xF5 ? 4 : 1;
}

}  // namespace

std::vector<char32_t> decode_utf8(std::string_view text) {
  std::vector<char32_t> out;
  for (std::size_t at = 0; at < text.size();) {
    const auto first = static_cast<unsigned char>(text[at]);
    std::size_t length = length_of(first);
    if (at + length > text.size()) length = 1;
    char32_t code = length == 1 ? first : first & (0xFFU >> (length + 1));
    for (std::size_t i = 1; i < length; ++i) {
      const auto next = static_cast<unsigned char>(text[at + i]);
      if ((next & 0xC0) != 0x80) {
        length = 1;
        code = first;
        break;
      }
      code = code << 6 | (next & 0x3FU);
    }
    out.push_back(length == 1 && first >= 0x80 ? 0xDC00U + first : code);
    at += length;
  }
  return out;
}

void append_utf8(std::string& out, char32_t code) {
  const auto put = [&](char32_t byte) { out.push_back(static_cast<char>(byte)); };
  if (code >= 0xDC80 && code <= 0xDCFF) return put(code - 0xDC00);  // a byte that was no UTF-8
  if (code < 0x80) return put(code);
  if (code < 0x800) {
    put(0xC0 | code >> 6);
  } else if (code < 0x10000) {
    put(0xE0 | code >> 12);
    put(0x80 | (code >> 6 & 0x3F));
  } else {
    put(0xF0 | code >> 18);
    put(0x80 | (code >> 12 & 0x3F));
    put(0x80 | (code >> 6 & 0x3F));
  }
  put(0x80 | (code & 0x3F));
}

std::string to_lower(std::string_view text) {
  return changed(text, lower_of);
}
std::string to_upper(std::string_view text) {
  return changed(text, upper_of);
}

}  // namespace tilewright::onnx
