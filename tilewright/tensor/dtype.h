// Element types. One table (dtypes.def) gives the enum, sizes, names and the C++ type of each.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "tilewright/tensor/half.h"

namespace tilewright {

enum class DType : std::uint8_t {
#define DTYPE(Name, ...) k##Name,
#include "tilewright/tensor/dtypes.def"
#undef DTYPE
};

constexpr std::int64_t byte_size(DType dtype) {
  constexpr std::int64_t kSizes[] = {
#define DTYPE(Name, text, Type, bytes, ...) bytes,
#include "tilewright/tensor/dtypes.def"
#undef DTYPE
  };
  return kSizes[static_cast<int>(dtype)];
}

constexpr char kind(DType dtype) {
  constexpr char kKinds[] = {
#define DTYPE(Name, text, Type, bytes, kind, ...) kind,
#include "tilewright/tensor/dtypes.def"
#undef DTYPE
  };
  return kKinds[static_cast<int>(dtype)];
}

constexpr bool is_float(DType dtype) {
  return kind(dtype) == 'f';
}
constexpr bool is_integer(DType dtype) {
  return kind(dtype) == 'i' || kind(dtype) == 'u';
}

std::string_view to_string(DType dtype);                  // "f32"
std::optional<DType> parse_dtype(std::string_view text);  // inverse of to_string
inline std::string_view format_as(DType dtype) {
  return to_string(dtype);
}

template <typename T>
struct DTypeOf;
#define DTYPE(Name, text, Type, ...)               \
  template <>                                      \
  struct DTypeOf<Type> {                           \
    static constexpr DType value = DType::k##Name; \
  };
#include "tilewright/tensor/dtypes.def"
#undef DTYPE

// Calls f.template operator()<T>() with the C++ type of `dtype`.
template <typename F>
decltype(auto) visit(DType dtype, F&& f) {
  switch (dtype) {
#define DTYPE(Name, text, Type, ...) \
  case DType::k##Name:               \
    return f.template operator()<Type>();
#include "tilewright/tensor/dtypes.def"
#undef DTYPE
  }
  __builtin_unreachable();
}

}  // namespace tilewright
