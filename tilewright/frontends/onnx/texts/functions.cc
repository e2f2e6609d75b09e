#include "tilewright/frontends/onnx/texts/functions.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "tilewright/frontends/onnx/texts/pattern.h"
#include "tilewright/frontends/onnx/texts/unicode.h"

namespace tilewright::onnx {
namespace {

// Parts between runs of white space; at most `most` cuts, the rest stays whole.
std::vector<std::string> split_at_space(std::string_view text, std::int64_t most) {
  std::vector<std::string> parts;
  const auto is_space = [](char c) { return c == ' ' || (c >= '\t' && c <= '\r'); };
  while (true) {
    while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
    if (text.empty()) return parts;
    const auto end = static_cast<std::size_t>(std::ranges::find_if(text, is_space) - text.begin());
    if (std::ssize(parts) == most) {
      while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
      parts.emplace_back(text);
      return parts;
    }
    parts.emplace_back(text.substr(0, end));
    text.remove_prefix(end);
  }
}

std::vector<std::string> split_at(std::string_view text, std::string_view delimiter, std::int64_t most) {
  std::vector<std::string> parts;
  if (text.empty()) return parts;
  for (std::size_t end = 0; (end = text.find(delimiter)) != std::string_view::npos && std::ssize(parts) < most;) {
    parts.emplace_back(text.substr(0, end));
    text.remove_prefix(end + delimiter.size());
  }
  parts.emplace_back(text);
  return parts;
}

}  // namespace

Result<std::vector<std::string>> texts_of(const Tensor& numbers, const StringTable& texts) {
  const Tensor dense = numbers.contiguous();
  std::vector<std::string> out;
  out.reserve(static_cast<std::size_t>(dense.count()));
  for (std::int64_t i = 0; i < dense.count(); ++i) {
    const std::string* text = texts.text_of(dense.data_as<std::int64_t>()[i]);
    if (text == nullptr) {
      return fail(ErrorKind::kInvalidArgument, "{} stands for no text", dense.data_as<std::int64_t>()[i]);
    }
    out.push_back(*text);
  }
  return out;
}

Tensor numbers_of(std::span<const std::string> strings, StringTable& texts) {
  Tensor out(DType::kI64, {std::ssize(strings)});
  for (std::size_t i = 0; i < strings.size(); ++i) out.data_as<std::int64_t>()[i] = texts.number_of(strings[i]);
  return out;
}

Tensors join_texts(const TextAttributes&, StringTable& texts, std::span<const Tensor> inputs) {
  TW_ASSIGN(std::vector<std::string> left, texts_of(inputs[0], texts));
  TW_ASSIGN(const std::vector<std::string> right, texts_of(inputs[1], texts));
  for (std::size_t i = 0; i < left.size(); ++i) left[i] += right[i];
  return std::vector{numbers_of(left, texts)};
}

Tensors split_texts(const TextAttributes& a, StringTable& texts, std::span<const Tensor> inputs) {
  TW_ASSIGN(const std::vector<std::string> strings, texts_of(inputs[0], texts));
  const std::string_view delimiter = a.text("delimiter", "");
  const std::int64_t most = a.integer("maxsplit", INT64_MAX);
  std::vector<std::vector<std::string>> rows;
  std::size_t width = 0;
  for (const std::string& text : strings) {
    rows.push_back(delimiter.empty() ? split_at_space(text, most) : split_at(text, delimiter, most));
    width = std::max(width, rows.back().size());
  }
  Tensor parts(DType::kI64, {std::ssize(rows), static_cast<std::int64_t>(width)});
  Tensor counts(DType::kI64, {std::ssize(rows)});
  for (std::size_t row = 0; row < rows.size(); ++row) {
    counts.data_as<std::int64_t>()[row] = std::ssize(rows[row]);
    rows[row].resize(width);
    for (std::size_t i = 0; i < width; ++i) {
      parts.data_as<std::int64_t>()[row * width + i] = texts.number_of(rows[row][i]);
    }
  }
  return std::vector{std::move(parts), std::move(counts)};
}

Tensors match_texts(const TextAttributes& a, StringTable& texts, std::span<const Tensor> inputs) {
  TW_ASSIGN(const Pattern pattern, Pattern::parse(a.text("pattern", "")));
  TW_ASSIGN(const std::vector<std::string> strings, texts_of(inputs[0], texts));
  Tensor out(DType::kBool, {std::ssize(strings)});
  for (std::size_t i = 0; i < strings.size(); ++i) out.data_as<bool>()[i] = pattern.matches(strings[i]);
  return std::vector{std::move(out)};
}

Tensors normalize_texts(const TextAttributes& a, StringTable& texts, std::span<const Tensor> inputs) {
  TW_ASSIGN(const std::vector<std::string> strings, texts_of(inputs[0], texts));
  const std::string_view action = a.text("case_change_action", "NONE");
  const bool sensitive = a.integer("is_case_sensitive", 0) != 0;
  const auto compared = [&](const std::string& text) { return sensitive ? text : to_lower(text); };
  std::vector<std::string> stops, kept;
  for (const std::string& word : a.texts_of("stopwords")) stops.push_back(compared(word));
  for (const std::string& text : strings) {
    if (std::ranges::find(stops, compared(text)) != stops.end()) continue;
    kept.push_back(action == "LOWER" ? to_lower(text) : action == "UPPER" ? to_upper(text) : text);
  }
  if (kept.empty()) kept.emplace_back();
  return std::vector{numbers_of(kept, texts)};
}

Tensors parse_numbers(const TextAttributes&, StringTable& texts, std::span<const Tensor> inputs) {
  TW_ASSIGN(const std::vector<std::string> strings, texts_of(inputs[0], texts));
  Tensor reals(DType::kF64, {std::ssize(strings)}), integers(DType::kI64, {std::ssize(strings)});
  for (std::size_t i = 0; i < strings.size(); ++i) {
    std::string_view text = strings[i];
    if (text.starts_with('+')) text.remove_prefix(1);
    double real = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), real);
    if (error == std::errc::invalid_argument || end != text.data() + text.size()) {
      return fail(ErrorKind::kInvalidArgument, "'{}' is not a number", strings[i].substr(0, 40));
    }
    std::int64_t whole = 0;
    const auto parsed = std::from_chars(text.data(), text.data() + text.size(), whole);
    const bool is_whole = parsed.ec == std::errc() && parsed.ptr == text.data() + text.size();
    if (!is_whole) whole = std::abs(real) < 0x1p63 ? static_cast<std::int64_t>(real) : INT64_MIN;
    reals.data_as<double>()[i] = real;
    integers.data_as<std::int64_t>()[i] = whole;
  }
  return std::vector{std::move(reals), std::move(integers)};
}

namespace {

// As numpy prints a float of so many significant digits at most: the shortest text that reads back, with a point.
std::string print_real(double value, std::int64_t digits) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value < 0 ? "-INF" : "INF";
  std::string out = digits <= 9 ? fmt::format("{}", static_cast<float>(value)) : fmt::format("{}", value);
  return out;
}

}  // namespace

Tensors print_numbers(const TextAttributes& a, StringTable& texts, std::span<const Tensor> inputs) {
  const std::int64_t digits = a.integer("digits", 0);
  const Tensor dense = inputs[0].contiguous();
  std::vector<std::string> out;
  for (std::int64_t i = 0; i < dense.count(); ++i) {
    if (dense.dtype() == DType::kI64) {
      const std::int64_t value = dense.data_as<std::int64_t>()[i];
      out.push_back(digits < 0 ? (value != 0 ? "True" : "False") : std::to_string(value));
    } else {
      out.push_back(print_real(dense.data_as<double>()[i], digits));
    }
  }
  return std::vector{numbers_of(out, texts)};
}

}  // namespace tilewright::onnx
