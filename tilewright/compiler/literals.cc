#include "tilewright/compiler/literals.h"

#include <cmath>
#include <cstring>

namespace tilewright::compiler {
namespace {

template <typename T>
std::int64_t bits_of(T value) {
  std::int64_t bits = 0;
  std::memcpy(&bits, &value, sizeof value);
  return bits;
}

std::int64_t wrap(std::int64_t value, DType dtype) {
  switch (dtype) {
    case DType::kI8:
      return static_cast<std::int8_t>(value);
    case DType::kU8:
      return static_cast<std::uint8_t>(value);
    case DType::kI16:
      return static_cast<std::int16_t>(value);
    case DType::kI32:
      return static_cast<std::int32_t>(value);
    default:
      return value;
  }
}

double round_to(double value, DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return static_cast<double>(static_cast<float>(value));
    case DType::kF16:
      return static_cast<double>(static_cast<float>(Half(static_cast<float>(value))));
    case DType::kBF16:
      return static_cast<double>(static_cast<float>(BFloat16(static_cast<float>(value))));
    default:
      return value;
  }
}

std::int64_t truncate(double value, int width) {
  const double limit = width == 8 ? 0x1p63 : 0x1p31;
  const double whole = std::trunc(value);
  if (whole >= -limit && whole < limit) return static_cast<std::int64_t>(whole);
  return width == 8 ? INT64_MIN : INT32_MIN;
}

Number as(Number from, DType to, int width) {
  if (is_float(to)) {
    const double real = from.is_real         ? from.real
                        : byte_size(to) == 8 ? static_cast<double>(from.integer)
                                             : static_cast<double>(static_cast<float>(from.integer));
    return {.is_real = true, .real = round_to(real, to)};
  }
  if (to == DType::kBool) return {.integer = (from.is_real ? from.real != 0 : from.integer != 0) ? 1 : 0};
  return {.integer = wrap(from.is_real ? truncate(from.real, width) : from.integer, to)};
}

}  // namespace

Number number_of(DimValue value, bool is_real, DType dtype) {
  if (is_real) return as({.is_real = true, .real = value.real}, dtype, 8);
  return as({.integer = value.integer}, dtype, 8);
}

Number convert(Number from, DType to) {
  return as(from, to, byte_size(to) == 8 ? 8 : 4);
}

Number scalar_number(const Area& area, std::uint16_t id, const DimProgram& program, std::span<const DimValue> dims) {
  const AreaNode& node = area.nodes[id];
  if (node.second != 0)
    return convert(scalar_number(area, static_cast<std::uint16_t>(node.third), program, dims), node.dtype);
  return number_of(dims[node.index], program.dim(node.index).is_float(), node.dtype);
}

std::int64_t literal_bits(Number number, DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return bits_of(static_cast<float>(number.is_real ? number.real : static_cast<double>(number.integer)));
    case DType::kF64:
      return bits_of(number.is_real ? number.real : static_cast<double>(number.integer));
    case DType::kI32:
      return bits_of(static_cast<std::int32_t>(number.integer));
    default:
      return number.integer;
  }
}

}  // namespace tilewright::compiler
