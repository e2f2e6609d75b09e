// Lines of elements along the inner dim, as plain numbers, for the instructions that scan, order and search them.
#pragma once

#include <vector>

#include "tilewright/vm/reference/element.h"
#include "tilewright/vm/reference/execute.h"

namespace tilewright::vm::reference {

// The elements of `stream` along the inner dim at the outer indices. T: double for floats, int64_t for the others.
template <typename T>
std::vector<T> read_line(const Frame& frame, int stream, const std::int64_t* index, std::int64_t inner) {
  std::vector<T> line;
  const DType dtype = frame.at.stream(stream).dtype();
  for (std::int64_t p = 0; p < inner; ++p) {
    const std::byte* at = address(frame, stream, {index, 0, p, 0});
    if constexpr (std::is_same_v<T, double>) {
      line.push_back(read_real(at, dtype));
    } else {
      line.push_back(read_integer(at, dtype));
    }
  }
  return line;
}

template <typename T>
void write_element(const Frame& frame, int stream, const std::int64_t* index, std::int64_t p, T value) {
  std::byte* at = address(frame, stream, {index, 0, p, 0});
  if constexpr (std::is_same_v<T, double>) {
    write_real(at, frame.at.stream(stream).dtype(), value);
  } else {
    write_integer(at, frame.at.stream(stream).dtype(), value);
  }
}

// Calls f.template operator()<T>(index) for every row of the instruction.
template <typename F>
void for_each_row(const isa::Layout& at, bool real, F&& f) {
  std::int64_t index[isa::kMaxRank] = {};
  for (int d = 0; d < at.rank; ++d) {
    if (at.dims()[d] == 0) return;
  }
  while (true) {
    if (real) {
      f.template operator()<double>(index);
    } else {
      f.template operator()<std::int64_t>(index);
    }
    int d = at.rank - 1;
    while (d >= 0 && ++index[d] == at.dims()[d]) index[d--] = 0;
    if (d < 0) return;
  }
}

inline bool is_nan(double value) {
  return value != value;
}
inline bool is_nan(std::int64_t) {
  return false;
}

}  // namespace tilewright::vm::reference
