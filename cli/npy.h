// Reads and writes NumPy's .npy files (format versions 1 to 3, little-endian). Reading checks the header and the length
// before anything is allocated.
#pragma once

#include <span>
#include <string>

#include "tilewright/tensor/tensor.h"

namespace tilewright::cli {

Result<Tensor> parse_npy(std::span<const std::uint8_t> bytes);
Result<Tensor> read_npy(const std::string& path);
Status write_npy(const std::string& path, const Tensor& tensor);

}  // namespace tilewright::cli
