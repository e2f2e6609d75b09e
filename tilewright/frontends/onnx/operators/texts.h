// Strings as numbers and numbers as strings, for casts.
#pragma once

#include "tilewright/frontends/onnx/node.h"
#include "tilewright/frontends/onnx/texts/pattern.h"

namespace tilewright::onnx {

// What is no number is an error of the call. Integers are read as such, floats of any other dtype rounded.
Maybe strings_to_numbers(OnnxNode& n, const Maybe& strings, DType dtype);
Maybe numbers_to_strings(OnnxNode& n, const Maybe& numbers);

}  // namespace tilewright::onnx
