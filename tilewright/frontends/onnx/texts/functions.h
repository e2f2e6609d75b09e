// The operators on texts, as functions of the host. Inputs are i64 numbers of texts where not said otherwise.
#pragma once

#include "tilewright/frontends/onnx/texts/texts.h"

namespace tilewright::onnx {

using Tensors = Result<std::vector<Tensor>>;

// The texts of a tensor, in row-major order; an error if a number stands for none.
Result<std::vector<std::string>> texts_of(const Tensor& numbers, const StringTable& texts);
Tensor numbers_of(std::span<const std::string> strings, StringTable& texts);  // a row

// [n], [n] -> [n]: the texts side by side.
Tensors join_texts(const TextAttributes& a, StringTable& texts, std::span<const Tensor> inputs);
// [n] -> [n, most], [n]: parts between delimiters, filled up with empty texts, and how many there are.
Tensors split_texts(const TextAttributes& a, StringTable& texts, std::span<const Tensor> inputs);
// [n] -> bool[n]
Tensors match_texts(const TextAttributes& a, StringTable& texts, std::span<const Tensor> inputs);
// [n] -> [m]: without stop words, in another case; one empty text if nothing is left.
Tensors normalize_texts(const TextAttributes& a, StringTable& texts, std::span<const Tensor> inputs);
// i64[rows, n] -> f32[rows, columns]: how often sequences of a pool occur. "pool" of the attributes holds its elements.
Tensors count_sequences(const TextAttributes& a, StringTable& texts, std::span<const Tensor> inputs);
// [n] -> f64[n] and i64[n]: texts read as numbers; what is none is an error.
Tensors parse_numbers(const TextAttributes& a, StringTable& texts, std::span<const Tensor> inputs);
// f64[n] or i64[n] -> [n]; "digits" of the attributes: 0 for integers and -1 for bools.
Tensors print_numbers(const TextAttributes& a, StringTable& texts, std::span<const Tensor> inputs);

}  // namespace tilewright::onnx
