// Regular expressions in the syntax of RE2, as far as a full match needs them: no captures, no back references. A
// pattern becomes a nondeterministic automaton (Thompson 1968), and a match walks all of its states side by side: its
// time is the product of both lengths, whatever the pattern. Patterns are bounded in length, nesting and states.
#pragma once

#include <string_view>
#include <vector>

#include "tilewright/base/result.h"

namespace tilewright::onnx {

class Pattern {
 public:
  static Result<Pattern> parse(std::string_view text);
  bool matches(std::string_view text) const;  // all of it

  struct Range {
    char32_t low, high;
  };
  // A state that reads one character of a set, splits without reading, or checks a place.
  enum class Kind { kSet, kSplit, kBegin, kEnd, kBoundary, kNoBoundary, kAccept };
  struct State {
    Kind kind;
    int next = -1, other = -1;
    std::vector<Range> ranges;
    bool negated = false;
  };

 private:
  std::vector<State> states_;
  int start_ = 0;
};

}  // namespace tilewright::onnx
