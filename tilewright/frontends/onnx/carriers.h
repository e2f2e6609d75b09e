// Element types of ONNX beyond the dtypes of the graph. A value of such a type is *carried* by a dtype that holds all
// of its elements: u16 by i32, u64 by the same bits in i64, an 8-bit float by f32. The graph knows only the carrier;
// what an element type means stands beside the value while the model is imported (GraphScope::carried), and
// OnnxNode::op keeps it: results are wrapped or rounded to the type, and unsigned comparisons and divisions are made of
// signed ones. Invariant: the elements of a carrier are elements of its type at all times.
#pragma once

#include <optional>
#include <string_view>

#include "tilewright/tensor/tensor.h"

namespace tilewright::onnx {

enum class Carried : std::uint8_t {
  kNone,  // the dtype is the element type
#define CARRIED(NAME, Name, text, dtype, kind, bits) k##Name,
#include "tilewright/frontends/onnx/carriers.def"
#undef CARRIED
};

struct CarriedRow {
  Carried carried;
  std::int64_t elem_type;  // of TensorProto
  std::string_view text;
  DType dtype;
  char kind;
  int bits;
};

// Not for kNone.
const CarriedRow& row_of(Carried carried);
const CarriedRow* find_carried(std::int64_t elem_type);

// An element type of ONNX.
struct ElemType {
  DType dtype = DType::kF32;  // that holds the elements
  Carried carried = Carried::kNone;
  bool operator==(const ElemType&) const = default;
};
Result<ElemType> to_elem(std::int64_t elem_type);

// A float of few bits: values up to `largest`, with `mantissa` stored bits and normal from 2^`lowest_exponent`.
struct FloatFormat {
  int mantissa;
  int lowest_exponent;
  double largest;
  bool has_infinity;
  bool has_nan;
  bool has_negative_zero;
};
// Of every carried float but E8M0, whose elements are powers of two.
FloatFormat format_of(Carried carried);
// The element with these bits.
float element_of_bits(Carried carried, std::uint32_t bits);

}  // namespace tilewright::onnx
