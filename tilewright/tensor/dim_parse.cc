// Reads the text that to_string(Dim) writes. Operators and functions are the rows of dim_ops.def; * // % bind tighter
// than
// + and -, all group from the left. The text may come from a file: its length and nesting are bounded.
#include <algorithm>
#include <charconv>
#include <limits>

#include "tilewright/tensor/dim_table.h"

namespace tilewright {
namespace {

constexpr std::size_t kLongestText = 16384;
constexpr int kDeepest = 200;

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

Dim make(DimOp op, std::vector<Dim> operands) {
  return Dim::make(op, operands);
}

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Result<Dim> whole() {
    TW_ASSIGN(const Dim dim, sum());
    skip_spaces();
    if (at_ != text_.size()) return unexpected();
    return dim;
  }

 private:
  void skip_spaces() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n')) ++at_;
  }
  char peek() {
    skip_spaces();
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool take(std::string_view token) {
    skip_spaces();
    if (!text_.substr(at_).starts_with(token)) return false;
    at_ += token.size();
    return true;
  }
  Error unexpected() const {
    if (at_ >= text_.size()) return fail(ErrorKind::kParse, "unexpected end of the expression '{}'", text_);
    return fail(ErrorKind::kParse, "unexpected '{}' at position {} of the expression '{}'", text_[at_], at_, text_);
  }

  Result<Dim> sum() {
    if (++depth_ > kDeepest) return fail(ErrorKind::kParse, "an expression is nested more than {} deep", kDeepest);
    std::vector<Dim> terms;
    TW_ASSIGN(const Dim first, product());
    terms.push_back(first);
    for (;;) {
      const bool plus = take(info(DimOp::kAdd).text);
      if (!plus && !take("-")) break;
      TW_ASSIGN(const Dim term, product());
      terms.push_back(plus ? term : -term);
    }
    --depth_;
    return make(DimOp::kAdd, std::move(terms));
  }

  // An infix operator that binds tighter than a sum.
  std::optional<DimOp> take_multiplicative() {
    for (std::size_t i = 0; i < kNumDimOps; ++i) {
      const auto op = static_cast<DimOp>(i);
      if (op != DimOp::kAdd && info(op).is_infix() && take(info(op).text)) return op;
    }
    return std::nullopt;
  }

  Result<Dim> product() {
    std::vector<Dim> factors;
    TW_ASSIGN(const Dim first, unary());
    factors.push_back(first);
    while (const std::optional<DimOp> op = take_multiplicative()) {
      TW_ASSIGN(const Dim right, unary());
      if (*op != DimOp::kMul) {
        const Dim left = make(DimOp::kMul, std::move(factors));
        factors.assign(1, make(*op, {left, right}));
      } else {
        factors.push_back(right);
      }
    }
    return make(DimOp::kMul, std::move(factors));
  }

  Result<Dim> unary() {
    bool negative = false;
    while (peek() == '-') {
      if (at_ + 1 < text_.size() && is_digit(text_[at_ + 1])) break;  // a negative number
      ++at_;
      negative = !negative;
    }
    TW_ASSIGN(const Dim value, atom());
    return negative ? -value : value;
  }

  Result<Dim> atom() {
    const char c = peek();
    if (is_digit(c) || c == '-') return number();
    if (take("(")) {
      TW_ASSIGN(const Dim inner, sum());
      if (!take(")")) return unexpected();
      return inner;
    }
    if (take("%")) {
      TW_ASSIGN(const std::string name, this->name());
      return Dim::float_symbol(name);
    }
    const bool quoted = c == '`';
    TW_ASSIGN(const std::string name, this->name());
    if (!quoted && name == "inf") return Dim::real(std::numeric_limits<double>::infinity());
    if (!quoted && name == "nan") return Dim::real(std::numeric_limits<double>::quiet_NaN());
    if (!quoted && peek() == '(') return call(name);
    return Dim::symbol(name);
  }

  Result<Dim> number() {
    const std::size_t start = at_;
    if (text_[at_] == '-') ++at_;
    bool real = false;
    while (at_ < text_.size()) {
      const char c = text_[at_];
      const bool sign = (c == '-' || c == '+') && (text_[at_ - 1] == 'e' || text_[at_ - 1] == 'E');
      if (!is_digit(c) && c != '.' && c != 'e' && c != 'E' && !sign) break;
      real = real || !is_digit(c);
      ++at_;
    }
    const std::string_view token = text_.substr(start, at_ - start);
    double value = 0;
    std::int64_t integer = 0;
    const char* end = token.data() + token.size();
    const std::from_chars_result result =
        real ? std::from_chars(token.data(), end, value) : std::from_chars(token.data(), end, integer);
    if (result.ec != std::errc() || result.ptr != end) {
      return fail(ErrorKind::kParse, "not a number that {} holds: '{}'", real ? "f64" : "i64", token);
    }
    return real ? Dim::real(value) : Dim(integer);
  }

  Result<std::string> name() {
    std::string out;
    if (take("`")) {
      for (; at_ < text_.size() && text_[at_] != '`'; ++at_) {
        if (text_[at_] == '\\' && at_ + 1 < text_.size()) ++at_;
        out += text_[at_];
      }
      if (at_ == text_.size()) return unexpected();
      ++at_;
      return out;
    }
    if (!is_letter(peek())) return unexpected();
    while (at_ < text_.size() && (is_letter(text_[at_]) || is_digit(text_[at_]) || text_[at_] == '.'))
      out += text_[at_++];
    return out;
  }

  Result<Dim> call(const std::string& name) {
    const auto row = std::find_if(std::begin(kDimOps), std::end(kDimOps),
                                  [&](const DimOpInfo& info) { return info.is_function() && info.text == name; });
    if (row == std::end(kDimOps)) return fail(ErrorKind::kParse, "no function of dims is called '{}'", name);
    take("(");
    std::vector<Dim> operands;
    do {
      TW_ASSIGN(const Dim operand, sum());
      operands.push_back(operand);
    } while (take(","));
    if (!take(")")) return unexpected();
    if (static_cast<int>(operands.size()) != row->operands) {
      return fail(ErrorKind::kParse, "'{}' takes {} operands, not {}", name, row->operands, operands.size());
    }
    for (const Dim operand : operands) {
      if (row->takes == 'i' && operand.is_float()) {
        return fail(ErrorKind::kParse, "'{}' takes integers, not {}", name, to_string(operand));
      }
    }
    return make(static_cast<DimOp>(row - std::begin(kDimOps)), std::move(operands));
  }

  std::string_view text_;
  std::size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace

Result<Dim> parse_dim(std::string_view text) {
  if (text.size() > kLongestText) {
    return fail(ErrorKind::kParse, "an expression of {} characters, the limit is {}", text.size(), kLongestText);
  }
  return Parser(text).whole();
}

}  // namespace tilewright
