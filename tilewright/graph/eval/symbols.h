// Symbols: the values that symbols have at one point of an evaluation. Copied when a region is entered, so that what a
// region binds ends with it.
#pragma once

#include <unordered_map>

#include "tilewright/graph/graph.h"
#include "tilewright/tensor/dim_program.h"

namespace tilewright {

// The value of a dim: an integer or a float, as the dim's own kind says.
struct HostValue {
  bool is_float = false;
  std::int64_t integer = 0;
  double real = 0;

  static HostValue of(std::int64_t value) { return {false, value, 0}; }
  static HostValue of(double value) { return {true, 0, value}; }
  double as_real() const { return is_float ? real : static_cast<double>(integer); }
};
std::string to_string(const HostValue& value);

class Symbols {
 public:
  bool knows(Dim symbol) const { return values_.contains(symbol); }
  void bind(Dim symbol, HostValue value) { values_[symbol] = value; }
  void forget(Dim symbol) { values_.erase(symbol); }
  Result<HostValue> value(Dim dim) const;
  Result<std::int64_t> integer(Dim dim) const;
  Result<Ints> integers(const Dims& dims) const;

  // `dim` is found to be `actual`: an unknown symbol takes the value, anything else must be equal to it.
  // `where` names the place: "input 'x', axis 1".
  Status meet(Dim dim, HostValue actual, std::string_view where);
  // The dtype, rank and sizes of `tensor` meet `type`.
  Status meet(const TensorType& type, const Tensor& tensor, std::string_view where);

 private:
  std::unordered_map<Dim, HostValue> values_;
};

}  // namespace tilewright
