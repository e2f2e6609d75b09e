#include "tilewright/tensor/dtype.h"

namespace tilewright {

std::string_view to_string(DType dtype) {
  static constexpr std::string_view kNames[] = {
#define DTYPE(Name, text, ...) text,
#include "tilewright/tensor/dtypes.def"
#undef DTYPE
  };
  return kNames[static_cast<int>(dtype)];
}

std::optional<DType> parse_dtype(std::string_view text) {
#define DTYPE(Name, name, ...) \
  if (text == name) return DType::k##Name;
#include "tilewright/tensor/dtypes.def"
#undef DTYPE
  return std::nullopt;
}

}  // namespace tilewright
