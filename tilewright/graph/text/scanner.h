// Reads the text form piece by piece. Blanks, line ends and comments (# to the end of the line) separate pieces; every
// error names the line. Holds a view of the text: the text outlives the scanner.
#pragma once

#include <span>

#include "tilewright/tensor/tensor.h"

namespace tilewright::text {

class Scanner {
 public:
  explicit Scanner(std::string_view text, std::span<const Tensor> tensors = {}) : text_(text), tensors_(tensors) {}

  void skip_blanks();
  bool at_end();
  bool accept(char wanted);  // also past line ends
  bool accept(std::string_view wanted);
  Status expect(char wanted);
  char peek();                 // next character that is not blank, '\0' at the end
  char peek_on_line() const;   // the same, but '\n' if the line ends before
  std::string_view word();     // an identifier, or nothing
  Result<std::string> name();  // an identifier or a quoted string
  bool starts_attribute();     // on this line, an identifier with '=' directly behind it
  // Text of an expression. In a list it ends at ',' or a closing bracket, elsewhere also at a blank; brackets nest.
  Result<std::string_view> expression(bool in_list);
  std::string_view digits(bool (*belongs)(char));  // the longest run of such characters, from here on
  std::size_t remaining() const { return text_.size() - position_; }
  std::span<const Tensor> tensors() const { return tensors_; }  // that the text names by number

  template <typename... Args>
  Error fail(fmt::format_string<Args...> format, Args&&... args) const {
    return {ErrorKind::kParse, fmt::format("line {}: {}", line(), fmt::format(format, std::forward<Args>(args)...))};
  }
  std::string found() const;  // what stands here, for messages

 private:
  std::size_t line() const;
  Result<std::string> quoted_string();

  std::string_view text_;
  std::span<const Tensor> tensors_;
  std::size_t position_ = 0;
};

}  // namespace tilewright::text
