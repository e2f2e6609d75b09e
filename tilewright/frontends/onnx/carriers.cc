#include "tilewright/frontends/onnx/carriers.h"

#include <cmath>
#include <limits>

#include "tilewright/frontends/onnx/types.h"

namespace tilewright::onnx {
namespace {

constexpr CarriedRow kRows[] = {
#define CARRIED(NAME, Name, text, dtype, kind, bits)                \
  {Carried::k##Name,                                                \
   static_cast<std::int64_t>(schema::TensorProtoDataType::k##NAME), \
   text,                                                            \
   DType::k##dtype,                                                 \
   kind,                                                            \
   bits},
#include "tilewright/frontends/onnx/carriers.def"
#undef CARRIED
};

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

}  // namespace

const CarriedRow& row_of(Carried carried) {
  TW_CHECK(carried != Carried::kNone, "a type that is a dtype has no row");
  return kRows[static_cast<std::size_t>(carried) - 1];
}

const CarriedRow* find_carried(std::int64_t elem_type) {
  for (const CarriedRow& row : kRows) {
    if (row.elem_type == elem_type) return &row;
  }
  return nullptr;
}

Result<ElemType> to_elem(std::int64_t elem_type) {
  if (const CarriedRow* row = find_carried(elem_type)) return ElemType{row->dtype, row->carried};
  TW_ASSIGN(const DType dtype, to_dtype(elem_type));
  return ElemType{dtype, Carried::kNone};
}

FloatFormat format_of(Carried carried) {
  switch (carried) {
    case Carried::kF8E4M3FN:
      return {3, -6, 448, false, true, true};
    case Carried::kF8E4M3FNUZ:
      return {3, -7, 240, false, true, false};
    case Carried::kF8E5M2:
      return {2, -14, 57344, true, true, true};
    case Carried::kF8E5M2FNUZ:
      return {2, -15, 57344, false, true, false};
    default:
      TW_CHECK(carried == Carried::kF4E2M1, "a float with a mantissa");
      return {1, 0, 6, false, false, true};
  }
}

float element_of_bits(Carried carried, std::uint32_t bits) {
  if (carried == Carried::kF8E8M0) return bits == 255 ? kNan : std::ldexp(1.0F, static_cast<int>(bits) - 127);
  const FloatFormat format = format_of(carried);
  const int width = row_of(carried).bits;
  const std::uint32_t sign = bits >> (width - 1) & 1;
  const std::uint32_t rest = bits & ((1U << (width - 1)) - 1);
  if (!format.has_negative_zero && sign == 1 && rest == 0) return kNan;
  const std::uint32_t fraction = rest & ((1U << format.mantissa) - 1);
  const auto exponent = static_cast<int>(rest >> format.mantissa);
  const float value = exponent == 0 ? std::ldexp(static_cast<float>(fraction), format.lowest_exponent - format.mantissa)
                                    : std::ldexp(static_cast<float>(fraction | 1U << format.mantissa),
                                                 exponent - 1 + format.lowest_exponent - format.mantissa);
  const float magnitude = static_cast<double>(value) <= format.largest ? value
                          : format.has_infinity && fraction == 0       ? std::numeric_limits<float>::infinity()
                                                                       : kNan;
  return sign == 1 ? -magnitude : magnitude;
}

}  // namespace tilewright::onnx
