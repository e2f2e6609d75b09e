#include "tilewright/frontends/onnx/texts/pattern.h"

#include <algorithm>
#include <memory>
#include <span>

#include "tilewright/frontends/onnx/texts/unicode.h"

namespace tilewright::onnx {
namespace {

using Kind = Pattern::Kind;
using Range = Pattern::Range;
using State = Pattern::State;

constexpr std::size_t kMaxLength = 10'000, kMaxStates = 100'000;
constexpr int kMaxNesting = 200, kMaxRepeats = 1000;
constexpr int kForever = -1;

struct Node {
  enum class Type { kState, kConcat, kEither, kRepeat } type = Type::kConcat;
  State state{Kind::kSet};
  std::vector<std::unique_ptr<Node>> parts;
  int low = 1, high = 1;  // of kRepeat; kForever
};
using NodePtr = std::unique_ptr<Node>;

bool is_word(char32_t c) {
  return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_';
}

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(decode_utf8(text)) {}

  Result<NodePtr> all() {
    TW_ASSIGN(NodePtr out, either(0));
    if (at_ < text_.size()) return wrong("a ')' without its '('");
    return out;
  }

 private:
  Error wrong(const char* what) const {
    return fail(ErrorKind::kInvalidArgument, "the pattern is wrong at character {}: {}", at_, what);
  }
  bool has(char32_t c) const { return at_ < text_.size() && text_[at_] == c; }
  bool take(char32_t c) {
    if (!has(c)) return false;
    ++at_;
    return true;
  }

  Result<NodePtr> either(int depth) {
    if (depth > kMaxNesting) return wrong("nested too deep");
    auto out = std::make_unique<Node>();
    out->type = Node::Type::kEither;
    do {
      TW_ASSIGN(NodePtr branch, concat(depth));
      out->parts.push_back(std::move(branch));
    } while (take('|'));
    return out;
  }

  Result<NodePtr> concat(int depth) {
    auto out = std::make_unique<Node>();
    while (at_ < text_.size() && !has('|') && !has(')')) {
      TW_ASSIGN(NodePtr part, repeated(depth));
      out->parts.push_back(std::move(part));
    }
    return out;
  }

  Result<NodePtr> repeated(int depth) {
    TW_ASSIGN(NodePtr part, atom(depth));
    while (at_ < text_.size()) {
      int low = 0, high = kForever;
      if (take('*')) {
      } else if (take('+')) {
        low = 1;
      } else if (take('?')) {
        high = 1;
      } else if (!has('{') || !counts(low, high)) {
        break;
      }
      if (low > kMaxRepeats || high > kMaxRepeats || (high != kForever && high < low)) return wrong("a bad repetition");
      take('?');  // what is preferred does not change whether all of it matches
      auto out = std::make_unique<Node>();
      out->type = Node::Type::kRepeat;
      out->low = low;
      out->high = high;
      out->parts.push_back(std::move(part));
      part = std::move(out);
    }
    return part;
  }

  // {n}, {n,} or {n,m}; anything else is text.
  bool counts(int& low, int& high) {
    std::size_t at = at_ + 1;
    const auto number = [&](int& out) {
      const std::size_t first = at;
      out = 0;
      for (; at < text_.size() && text_[at] >= '0' && text_[at] <= '9' && at - first < 6; ++at) {
        out = out * 10 + static_cast<int>(text_[at] - '0');
      }
      return at > first;
    };
    if (!number(low)) return false;
    high = low;
    if (at < text_.size() && text_[at] == ',') {
      ++at;
      if (!number(high)) high = kForever;
    }
    if (at >= text_.size() || text_[at] != '}') return false;
    at_ = at + 1;
    return true;
  }

  Result<NodePtr> atom(int depth) {
    const char32_t c = text_[at_++];
    if (c == '(') return group(depth);
    if (c == '[') return set();
    if (c == '\\') return escape();
    if (c == '*' || c == '+' || c == '?') return wrong("nothing to repeat");
    if (c == '^') return place(Kind::kBegin);
    if (c == '$') return place(Kind::kEnd);
    if (c == '.') return dot_all_ ? of({{0, 0x10FFFF}}) : of({{'\n', '\n'}}, true);
    return character(c);
  }

  Result<NodePtr> group(int depth) {
    const bool ignore_case = ignore_case_, dot_all = dot_all_;
    if (take('?')) {
      if (take('P') || has('<')) {
        if (!take('<')) return wrong("an unknown group");
        while (at_ < text_.size() && !has('>')) ++at_;
        if (!take('>')) return wrong("a name without its '>'");
      } else {
        bool on = true;
        for (; at_ < text_.size() && !has(':') && !has(')'); ++at_) {
          if (text_[at_] == '-')
            on = false;
          else if (text_[at_] == 'i')
            ignore_case_ = on;
          else if (text_[at_] == 's')
            dot_all_ = on;
          else if (text_[at_] != 'm' && text_[at_] != 'U')
            return wrong("an unknown flag of a group");
        }
        if (take(')')) return std::make_unique<Node>();  // flags hold from here on
        if (!take(':')) return wrong("a group without its ')'");
      }
    }
    TW_ASSIGN(NodePtr out, either(depth + 1));
    if (!take(')')) return wrong("a '(' without its ')'");
    ignore_case_ = ignore_case;
    dot_all_ = dot_all;
    return out;
  }

  static NodePtr place(Kind kind) {
    auto out = std::make_unique<Node>();
    out->type = Node::Type::kState;
    out->state.kind = kind;
    return out;
  }
  static NodePtr of(std::vector<Range> ranges, bool negated = false) {
    NodePtr out = place(Kind::kSet);
    out->state.ranges = std::move(ranges);
    out->state.negated = negated;
    return out;
  }
  NodePtr character(char32_t c) const {
    std::vector<Range> ranges{{c, c}};
    add_case(ranges);
    return of(std::move(ranges));
  }
  void add_case(std::vector<Range>& ranges) const {
    if (!ignore_case_) return;
    const std::size_t count = ranges.size();
    for (std::size_t i = 0; i < count; ++i) {
      const Range small{std::max<char32_t>(ranges[i].low, 'a'), std::min<char32_t>(ranges[i].high, 'z')};
      const Range big{std::max<char32_t>(ranges[i].low, 'A'), std::min<char32_t>(ranges[i].high, 'Z')};
      if (small.low <= small.high) ranges.push_back({small.low - 32, small.high - 32});
      if (big.low <= big.high) ranges.push_back({big.low + 32, big.high + 32});
    }
  }

  // The characters of \d \w \s and their opposites.
  static bool named_class(char32_t c, std::vector<Range>& out) {
    static const std::vector<Range> digits{{'0', '9'}}, words{{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}},
        spaces{{'\t', '\n'}, {'\f', '\r'}, {' ', ' '}};
    const char32_t small = c | 0x20;
    if (small != 'd' && small != 'w' && small != 's') return false;
    const auto& ranges = small == 'd' ? digits : small == 'w' ? words : spaces;
    if (c == small) {
      out.insert(out.end(), ranges.begin(), ranges.end());
      return true;
    }
    char32_t low = 0;
    for (const Range& range : ranges) {
      if (range.low > low) out.push_back({low, range.low - 1});
      low = range.high + 1;
    }
    out.push_back({low, 0x10FFFF});
    return true;
  }

  Result<char32_t> escaped_character() {
    if (at_ == text_.size()) return wrong("a '\\' at the end");
    const char32_t c = text_[at_++];
    static constexpr std::string_view kNames = "ntrfva", kCodes = "\n\t\r\f\v\a";
    if (c < 0x80 && kNames.find(static_cast<char>(c)) != std::string_view::npos) {
      return static_cast<char32_t>(kCodes[kNames.find(static_cast<char>(c))]);
    }
    if (c == 'x') return hexadecimal();
    if (is_word(c) && c != '_') return wrong("an unknown escape");
    return c;
  }

  Result<char32_t> hexadecimal() {
    const bool braced = take('{');
    char32_t code = 0;
    int digits = 0;
    for (; at_ < text_.size() && digits < (braced ? 6 : 2); ++at_, ++digits) {
      const char32_t c = text_[at_], small = c | 0x20;
      if (c >= '0' && c <= '9')
        code = code * 16 + (c - '0');
      else if (small >= 'a' && small <= 'f')
        code = code * 16 + (small - 'a' + 10);
      else
        break;
    }
    if (digits == 0 || (braced && !take('}'))) return wrong("a bad \\x");
    return code;
  }

  Result<NodePtr> escape() {
    if (has('b') || has('B')) return place(text_[at_++] == 'b' ? Kind::kBoundary : Kind::kNoBoundary);
    if (has('A')) return ++at_, place(Kind::kBegin);
    if (has('z')) return ++at_, place(Kind::kEnd);
    std::vector<Range> ranges;
    if (at_ < text_.size() && named_class(text_[at_], ranges)) return ++at_, of(std::move(ranges));
    TW_ASSIGN(const char32_t c, escaped_character());
    return character(c);
  }

  // [:alpha:] and its like, after "[:".
  bool posix_class(std::vector<Range>& out) {
    struct Row {
      std::string_view name;
      std::vector<Range> ranges;
    };
    static const std::vector<Row> rows = {
        {"alpha", {{'A', 'Z'}, {'a', 'z'}}},
        {"digit", {{'0', '9'}}},
        {"alnum", {{'0', '9'}, {'A', 'Z'}, {'a', 'z'}}},
        {"upper", {{'A', 'Z'}}},
        {"lower", {{'a', 'z'}}},
        {"space", {{'\t', '\r'}, {' ', ' '}}},
        {"punct", {{'!', '/'}, {':', '@'}, {'[', '`'}, {'{', '~'}}},
        {"xdigit", {{'0', '9'}, {'A', 'F'}, {'a', 'f'}}},
        {"word", {{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}}},
    };
    for (const Row& row : rows) {
      const std::size_t end = at_ + row.name.size();
      if (end + 1 >= text_.size() || text_[end] != ':' || text_[end + 1] != ']') continue;
      if (!std::equal(row.name.begin(), row.name.end(), text_.begin() + static_cast<std::ptrdiff_t>(at_))) continue;
      out.insert(out.end(), row.ranges.begin(), row.ranges.end());
      at_ = end + 2;
      return true;
    }
    return false;
  }

  Result<NodePtr> set() {
    const bool negated = take('^');
    std::vector<Range> ranges;
    for (bool first = true; first || !has(']'); first = false) {
      if (at_ >= text_.size()) return wrong("a '[' without its ']'");
      if (has('[') && at_ + 1 < text_.size() && text_[at_ + 1] == ':') {
        at_ += 2;
        if (!posix_class(ranges)) return wrong("an unknown class of characters");
        continue;
      }
      if (has('\\') && at_ + 1 < text_.size() && named_class(text_[at_ + 1], ranges)) {
        at_ += 2;
        continue;
      }
      TW_ASSIGN(const char32_t low, member());
      char32_t high = low;
      if (has('-') && at_ + 1 < text_.size() && text_[at_ + 1] != ']') {
        ++at_;
        TW_ASSIGN(high, member());
      }
      if (high < low) return wrong("a range that ends before it begins");
      ranges.push_back({low, high});
    }
    ++at_;
    add_case(ranges);
    return of(std::move(ranges), negated);
  }

  Result<char32_t> member() {
    if (at_ >= text_.size()) return wrong("a '[' without its ']'");
    if (take('\\')) return escaped_character();
    return text_[at_++];
  }

  std::vector<char32_t> text_;
  std::size_t at_ = 0;
  bool ignore_case_ = false, dot_all_ = false;
};

// States for a node, from its end to its beginning: each piece gets the state that follows it.
class Builder {
 public:
  std::vector<State> states;

  int add(State state) {
    states.push_back(std::move(state));
    return static_cast<int>(states.size()) - 1;
  }

  int build(const Node& node, int next) {
    if (states.size() > kMaxStates) return next;
    switch (node.type) {
      case Node::Type::kState: {
        State state = node.state;
        state.next = next;
        return add(std::move(state));
      }
      case Node::Type::kConcat:
        for (auto part = node.parts.rbegin(); part != node.parts.rend(); ++part) next = build(**part, next);
        return next;
      case Node::Type::kEither: {
        int start = build(*node.parts.back(), next);
        for (std::size_t i = node.parts.size() - 1; i-- > 0;) {
          const int other = build(*node.parts[i], next);
          start = add({.kind = Kind::kSplit, .next = other, .other = start});
        }
        return start;
      }
      case Node::Type::kRepeat:
        return repeat(node, next);
    }
    return next;
  }

 private:
  int repeat(const Node& node, int next) {
    const Node& part = *node.parts[0];
    if (node.high == kForever) {
      const int loop = add({.kind = Kind::kSplit, .next = -1, .other = next});
      states[static_cast<std::size_t>(loop)].next = build(part, loop);
      next = loop;
    } else {
      const int end = next;
      for (int i = node.low; i < node.high; ++i) {
        next = add({.kind = Kind::kSplit, .next = build(part, next), .other = end});
      }
    }
    for (int i = 0; i < node.low; ++i) next = build(part, next);
    return next;
  }
};

bool reads(const State& state, char32_t c) {
  const bool found = std::ranges::any_of(state.ranges, [&](const Range& r) { return c >= r.low && c <= r.high; });
  return found != state.negated;
}

bool holds(Kind kind, std::span<const char32_t> text, std::size_t at) {
  if (kind == Kind::kBegin) return at == 0;
  if (kind == Kind::kEnd) return at == text.size();
  const bool before = at > 0 && is_word(text[at - 1]), after = at < text.size() && is_word(text[at]);
  return (before != after) == (kind == Kind::kBoundary);
}

}  // namespace

Result<Pattern> Pattern::parse(std::string_view text) {
  if (text.size() > kMaxLength) {
    return fail(ErrorKind::kUnsupported, "a pattern of {} bytes, at most {} are possible", text.size(), kMaxLength);
  }
  TW_ASSIGN(const NodePtr root, Parser(text).all());
  Builder builder;
  const int accept = builder.add({.kind = Kind::kAccept});
  Pattern out;
  out.start_ = builder.build(*root, accept);
  if (builder.states.size() > kMaxStates) {
    return fail(ErrorKind::kUnsupported, "a pattern of more than {} states", kMaxStates);
  }
  out.states_ = std::move(builder.states);
  return out;
}

bool Pattern::matches(std::string_view given) const {
  const std::vector<char32_t> text = decode_utf8(given);
  std::vector<std::size_t> seen(states_.size(), SIZE_MAX);
  std::vector<int> now, pending{start_};
  for (std::size_t at = 0;; ++at) {
    now.clear();
    while (!pending.empty()) {  // everything that is reached without reading
      const int index = pending.back();
      pending.pop_back();
      if (seen[static_cast<std::size_t>(index)] == at) continue;
      seen[static_cast<std::size_t>(index)] = at;
      const State& state = states_[static_cast<std::size_t>(index)];
      if (state.kind == Kind::kSplit) {
        pending.push_back(state.other);
        pending.push_back(state.next);
      } else if (state.kind == Kind::kSet || state.kind == Kind::kAccept) {
        now.push_back(index);
      } else if (holds(state.kind, text, at)) {
        pending.push_back(state.next);
      }
    }
    if (at == text.size()) break;
    for (const int index : now) {
      const State& state = states_[static_cast<std::size_t>(index)];
      if (state.kind == Kind::kSet && reads(state, text[at])) pending.push_back(state.next);
    }
    if (pending.empty()) return false;
  }
  return std::ranges::any_of(now,
                             [&](int index) { return states_[static_cast<std::size_t>(index)].kind == Kind::kAccept; });
}

}  // namespace tilewright::onnx
