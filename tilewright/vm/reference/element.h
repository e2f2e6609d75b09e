// One element in memory as a plain number: floats as double, integers and bool as int64. Writing rounds to nearest or
// wraps.
#pragma once

#include <cstddef>
#include <cstring>

#include "tilewright/tensor/dtype.h"

namespace tilewright::vm::reference {

double read_real(const std::byte* at, DType dtype);                  // of any dtype
std::int64_t read_integer(const std::byte* at, DType dtype);         // of an integer or bool
void write_real(std::byte* at, DType dtype, double value);           // to a float dtype
void write_integer(std::byte* at, DType dtype, std::int64_t value);  // to an integer or bool (1 where not 0)

// A program may name overlapping memory: what it gets is then unspecified, but no undefined behaviour.
inline void copy_element(std::byte* to, const std::byte* from, DType dtype) {
  std::memmove(to, from, static_cast<std::size_t>(byte_size(dtype)));
}

}  // namespace tilewright::vm::reference
