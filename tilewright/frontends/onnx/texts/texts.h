// Strings of a model and operators on them. The graph carries a string as a number of a table; what has to look at the
// text is a call of the host, of which this is the function. A table of a call stands on the table of its model, which
// stays as it is, so that numbers of one model agree in all of its graphs.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tilewright/tensor/tensor.h"

namespace tilewright::onnx {

// Numbers that stand for texts; 0 is the empty one. Equal texts have equal numbers.
class StringTable {
 public:
  explicit StringTable(std::shared_ptr<const StringTable> base = nullptr);

  std::int64_t number_of(std::string_view text);
  // The number of a text that is there; -1 if it is not.
  std::int64_t find(std::string_view text) const;
  // Null: nothing has this number.
  const std::string* text_of(std::int64_t number) const;
  std::int64_t size() const { return first_ + std::ssize(texts_); }

 private:
  std::shared_ptr<const StringTable> base_;
  std::int64_t first_ = 0;  // number of the first text of this table
  std::map<std::string, std::int64_t, std::less<>> numbers_;
  std::vector<const std::string*> texts_;  // keys of numbers_
};

// The attributes of a node as an operator on texts needs them, after the node is gone.
struct TextAttributes {
  std::map<std::string, std::vector<std::int64_t>, std::less<>> integers;
  std::map<std::string, std::vector<double>, std::less<>> reals;
  std::map<std::string, std::vector<std::string>, std::less<>> texts;

  std::int64_t integer(std::string_view name, std::int64_t missing) const;
  std::string_view text(std::string_view name, std::string_view missing) const;
  const std::vector<std::int64_t>& integers_of(std::string_view name) const;
  const std::vector<double>& reals_of(std::string_view name) const;
  const std::vector<std::string>& texts_of(std::string_view name) const;
};

using TextFunction = Result<std::vector<Tensor>> (*)(const TextAttributes& attributes, StringTable& texts,
                                                     std::span<const Tensor> inputs);

struct TextOperator {
  std::string name;
  TextFunction function = nullptr;
  TextAttributes attributes;
};

}  // namespace tilewright::onnx
