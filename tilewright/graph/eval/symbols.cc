// Values of dims, and the guards that compare a declared type with an actual tensor.
#include "tilewright/graph/eval/symbols.h"

#include <fmt/format.h>

namespace tilewright {

std::string to_string(const HostValue& value) {
  return value.is_float ? fmt::format("{}", value.real) : fmt::format("{}", value.integer);
}

Result<HostValue> Symbols::value(Dim dim) const {
  if (const auto known = dim.constant()) return HostValue::of(*known);
  DimProgram program;
  const DimProgram::Slot slot = program.add(dim);
  std::vector<DimValue> values(program.size());
  for (const DimProgram::Slot symbol_slot : program.symbol_slots()) {
    const Dim symbol = program.dim(symbol_slot);
    const auto found = values_.find(symbol);
    if (found == values_.end()) return fail(ErrorKind::kInvalidArgument, "symbol '{}' has no value", symbol.name());
    if (symbol.is_float()) {
      values[symbol_slot].real = found->second.as_real();
    } else {
      values[symbol_slot].integer = found->second.integer;
    }
  }
  TW_TRY(program.run(values));
  return dim.is_float() ? HostValue::of(values[slot].real) : HostValue::of(values[slot].integer);
}

Result<std::int64_t> Symbols::integer(Dim dim) const {
  TW_ASSIGN(const HostValue value, this->value(dim));
  if (value.is_float)
    return fail(ErrorKind::kInvalidArgument, "expected an integer, got {} = {}", to_string(dim), value.real);
  return value.integer;
}

Result<Ints> Symbols::integers(const Dims& dims) const {
  Ints out;
  for (const Dim dim : dims) {
    TW_ASSIGN(const std::int64_t value, integer(dim));
    out.push_back(value);
  }
  return out;
}

Status Symbols::meet(Dim dim, HostValue actual, std::string_view where) {
  if (dim.is_symbol() && !knows(dim)) {
    bind(dim, actual);
    return {};
  }
  TW_ASSIGN(const HostValue expected, value(dim));
  const bool equal = expected.is_float || actual.is_float ? expected.as_real() == actual.as_real()
                                                          : expected.integer == actual.integer;
  if (equal) return {};
  if (dim.constant()) {
    return fail(ErrorKind::kShapeMismatch, "{}: expected {}, got {}", where, to_string(expected), to_string(actual));
  }
  return fail(ErrorKind::kShapeMismatch, "{}: expected {} = {}, got {}", where, to_string(dim), to_string(expected),
              to_string(actual));
}

Status Symbols::meet(const TensorType& type, const Tensor& tensor, std::string_view where) {
  if (type.dtype != tensor.dtype()) {
    return fail(ErrorKind::kDTypeMismatch, "{}: expected {}, got {}", where, to_string(type.dtype),
                to_string(tensor.dtype()));
  }
  if (type.shape.size() != tensor.rank()) {
    return fail(ErrorKind::kShapeMismatch, "{}: expected rank {}, got rank {}", where, type.shape.size(),
                tensor.rank());
  }
  for (std::size_t axis = 0; axis < tensor.rank(); ++axis) {
    TW_TRY(meet(type.shape[axis], HostValue::of(tensor.sizes()[axis]), fmt::format("{}, axis {}", where, axis)));
  }
  return {};
}

}  // namespace tilewright
