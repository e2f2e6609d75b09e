// Attributes of a node: few named values, kept in the order of the op's row in ops.def. The row says which names exist,
// their kinds and defaults; verify() checks it. `int` also reads a missing optional attribute's default.
#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "tilewright/tensor/dim.h"
#include "tilewright/tensor/tensor.h"

namespace tilewright {

using Ints = std::vector<std::int64_t>;
using Dims = std::vector<Dim>;
using AttrValue = std::variant<std::int64_t, double, bool, std::string, Ints, DType, Dim, Dims, Tensor>;

class Attrs {
 public:
  struct Entry {
    std::string name;
    AttrValue value;
  };
  Attrs() = default;
  Attrs(std::initializer_list<Entry> entries) : entries_(entries) {}

  const AttrValue* find(std::string_view name) const;
  void set(std::string_view name, AttrValue value);
  const std::vector<Entry>& entries() const { return entries_; }

  // Typed reads. The attribute exists with this kind: verify() has seen the node.
  std::int64_t integer(std::string_view name) const { return get<std::int64_t>(name); }
  bool flag(std::string_view name) const { return get<bool>(name); }
  const std::string& text(std::string_view name) const { return get<std::string>(name); }
  const Ints& ints(std::string_view name) const { return get<Ints>(name); }
  DType dtype(std::string_view name) const { return get<DType>(name); }
  Dim dim(std::string_view name) const { return get<Dim>(name); }
  const Dims& dims(std::string_view name) const { return get<Dims>(name); }
  const Tensor& tensor(std::string_view name) const { return get<Tensor>(name); }

 private:
  template <typename T>
  const T& get(std::string_view name) const {
    const AttrValue* value = find(name);
    TW_CHECK(value != nullptr && std::holds_alternative<T>(*value), name);
    return std::get<T>(*value);
  }
  std::vector<Entry> entries_;
};

}  // namespace tilewright
