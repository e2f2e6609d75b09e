// Reads and writes NumPy's .npy files (format versions 1 to 3, little-endian). Reading checks the header and the length
// before anything is allocated.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "tilewright/tensor/tensor.h"

namespace tilewright::cli {

// Unsigned integers of 16, 32 and 64 bits come as the dtype that carries them (frontends/onnx/carriers.h).
Result<Tensor> parse_npy(std::span<const std::uint8_t> bytes);
Result<Tensor> read_npy(const std::string& path);
// `element` names the element type where the dtype only carries it: "uint16", "uint32", "uint64".
Status write_npy(const std::string& path, const Tensor& tensor, std::string_view element = {});

}  // namespace tilewright::cli
