#include "tilewright/vm/reference/element.h"

#include <type_traits>

#include "tilewright/base/check.h"

namespace tilewright::vm::reference {
namespace {

template <typename T>
T read(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

template <typename T>
void write(std::byte* at, T value) {
  std::memcpy(at, &value, sizeof value);
}

}  // namespace

double read_real(const std::byte* at, DType dtype) {
  return visit(dtype, [&]<typename T>() { return static_cast<double>(read<T>(at)); });
}

std::int64_t read_integer(const std::byte* at, DType dtype) {
  return visit(dtype, [&]<typename T>() -> std::int64_t {
    if constexpr (std::is_integral_v<T>) return static_cast<std::int64_t>(read<T>(at));
    TW_CHECK(false, "an integer dtype");
  });
}

void write_real(std::byte* at, DType dtype, double value) {
  visit(dtype, [&]<typename T>() {
    if constexpr (std::is_same_v<T, double> || std::is_same_v<T, float>) {
      write(at, static_cast<T>(value));
    } else if constexpr (!std::is_integral_v<T>) {
      write(at, T(static_cast<float>(value)));
    } else {
      TW_CHECK(false, "a float dtype");
    }
  });
}

void write_integer(std::byte* at, DType dtype, std::int64_t value) {
  visit(dtype, [&]<typename T>() {
    if constexpr (std::is_same_v<T, bool>) {
      write(at, value != 0);
    } else if constexpr (std::is_integral_v<T>) {
      write(at, static_cast<T>(value));
    } else {
      TW_CHECK(false, "an integer dtype");
    }
  });
}

}  // namespace tilewright::vm::reference
