// The words of the text form that no .def table holds: spaces, buffer kinds, reductions, lanes and forms. Printer and
// parser read the same arrays.
#pragma once

#include <span>
#include <string_view>

#include "tilewright/isa/strip_facts.h"

namespace tilewright::isa {

inline constexpr std::string_view kSpaceNames[] = {"buffer", "scratch", "slot", "accumulator",
                                                   "tile",   "literal", "iota"};
inline constexpr std::string_view kBufferKindNames[] = {"arena", "input", "output", "constant", "packed"};
inline constexpr std::string_view kReduceNames[] = {"sum", "prod", "max", "min", "or", "and", "sum_square"};
inline constexpr std::string_view kLaneNames[] = {"f32", "i32", "f64", "i64"};
static_assert(std::size(kSpaceNames) == static_cast<std::size_t>(Space::kIota) + 1);
static_assert(std::size(kBufferKindNames) == static_cast<std::size_t>(BufferKind::kPacked) + 1);
static_assert(std::size(kReduceNames) == static_cast<std::size_t>(ReduceKind::kSumSquare) + 1);

// By form; "" is printed as nothing.
inline std::span<const std::string_view> form_names(StripShape shape) {
  static constexpr std::string_view kNone[] = {""};
  static constexpr std::string_view kLoad[] = {"unit", "strided", "one"};
  static constexpr std::string_view kStore[] = {"unit", "strided"};
  static constexpr std::string_view kBinary[] = {"", "one", "reversed", "one_reversed"};
  static constexpr std::string_view kTernary[] = {"", "one_strip", "strip_one", "one"};
  static constexpr std::string_view kPair[] = {"", "one_1", "one_2", "one_12", "one_3", "one_13", "one_23", "one_123"};
  switch (shape) {
    case StripShape::kLoad:
      return kLoad;
    case StripShape::kStore:
      return kStore;
    case StripShape::kBinary:
      return kBinary;
    case StripShape::kTernary:
      return kTernary;
    case StripShape::kPair:
      return kPair;
    default:
      return kNone;
  }
}

// The position of `name` in `names`, or -1.
inline int find_name(std::span<const std::string_view> names, std::string_view name) {
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i] == name) return static_cast<int>(i);
  }
  return -1;
}

// Cuts the next word off `rest`, separated by any of `separators`; "" at the end.
inline std::string_view next_word(std::string_view& rest, std::string_view separators = " ") {
  const std::size_t begin = rest.find_first_not_of(separators);
  if (begin == std::string_view::npos) return rest = {};
  const std::size_t end = rest.find_first_of(separators, begin);
  const std::string_view word = rest.substr(begin, end == std::string_view::npos ? end : end - begin);
  rest = end == std::string_view::npos ? std::string_view{} : rest.substr(end);
  return word;
}

}  // namespace tilewright::isa
