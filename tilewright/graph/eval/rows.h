// Walking along one or several axes: the part that reductions, scans and sorting share.
#pragma once

#include "tilewright/graph/eval/families.h"

namespace tilewright {

// Calls f(positions) for every line of elements along `axis`: positions of the line in row-major order of `sizes`.
template <typename F>
void for_each_line(std::span<const std::int64_t> sizes, std::size_t axis, F&& f) {
  Ints others(sizes.begin(), sizes.end());
  others[axis] = 1;
  for_each_index(others, [&](const Ints& start) {
    Ints index = start;
    Ints line;
    for (index[axis] = 0; index[axis] < sizes[axis]; ++index[axis]) line.push_back(position(index, sizes));
    f(static_cast<const Ints&>(line));
  });
}

// `sizes` with `axes` set to 1, or left out.
Ints reduced_sizes(std::span<const std::int64_t> sizes, const Ints& axes, bool keepdim);

}  // namespace tilewright
