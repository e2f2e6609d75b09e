// Text of attribute values and tensors, both ways. Every value survives the round trip bit by bit.
#pragma once

#include "tilewright/graph/graph.h"
#include "tilewright/graph/op.h"
#include "tilewright/graph/text/scanner.h"

namespace tilewright::text {

std::string print_value(const AttrValue& value);
std::string print_tensor(const Tensor& tensor);
bool is_long(const Tensor& tensor);                                     // its elements are not written one by one
std::string print_reference(const Tensor& tensor, std::size_t number);  // "f32[3, 400]{@2}"

Result<AttrValue> parse_value(Scanner& in, AttrKind kind);
Result<TensorType> parse_type(Scanner& in);  // "f32[B, 64]"
Result<Tensor> parse_tensor(Scanner& in);    // "f32[2]{1, -0.5}", "f32[2]{0x0000803f000000bf}" or "f32[2]{@7}"
Result<std::int64_t> parse_integer(Scanner& in);
Result<Dim> parse_expression(Scanner& in, bool in_list);

}  // namespace tilewright::text
