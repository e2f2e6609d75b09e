// Text of attribute values and tensors, both ways. Every value survives the round trip bit by bit.
#pragma once

#include "tilewright/graph/graph.h"
#include "tilewright/graph/op.h"
#include "tilewright/graph/text/scanner.h"

namespace tilewright::text {

std::string print_value(const AttrValue& value);
std::string print_tensor(const Tensor& tensor);

Result<AttrValue> parse_value(Scanner& in, AttrKind kind);
Result<TensorType> parse_type(Scanner& in);  // "f32[B, 64]"
Result<Tensor> parse_tensor(Scanner& in);    // "f32[2]{1, -0.5}" or "f32[2]{0x0000803f000000bf}"
Result<std::int64_t> parse_integer(Scanner& in);
Result<Dim> parse_expression(Scanner& in, bool in_list);

}  // namespace tilewright::text
