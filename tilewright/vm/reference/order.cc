// arg_reduce and sort: by comparison of plain numbers. nan is larger than every number, except that the smallest
// element of arg_reduce is a nan where there is one.
#include <algorithm>
#include <numeric>

#include "tilewright/vm/reference/lines.h"

namespace tilewright::vm::reference {
namespace {

template <typename T>
bool before(T a, T b) {
  return is_nan(b) ? !is_nan(a) : a < b;
}

template <typename T>
std::int64_t extreme_position(const std::vector<T>& line, bool smallest, bool last) {
  std::size_t best = 0;
  for (std::size_t i = 1; i < line.size(); ++i) {
    const T a = line[best], b = line[i];
    const bool better = is_nan(b) ? !is_nan(a) : !is_nan(a) && (smallest ? b < a : b > a);
    const bool equal = is_nan(a) ? is_nan(b) : a == b;
    if (better || (equal && last)) best = i;
  }
  return static_cast<std::int64_t>(best);
}

}  // namespace

Status exec_ArgReduce(const Memory& memory, const isa::Inst& inst) {
  const isa::Layout at = isa::layout_of(inst);
  const Frame frame{memory, at};
  const auto& f = inst.fields<isa::ArgReduceFields>();
  for_each_row(at, is_float(at.stream(0).dtype()), [&]<typename T>(const std::int64_t* index) {
    const std::vector<T> line = read_line<T>(frame, 0, index, inst.inner());
    write_element<std::int64_t>(frame, 1, index, 0, extreme_position(line, f.smallest != 0, f.last != 0));
  });
  return {};
}

Status exec_Sort(const Memory& memory, const isa::Inst& inst) {
  const isa::Layout at = isa::layout_of(inst);
  const Frame frame{memory, at};
  const auto& f = inst.fields<isa::SortFields>();
  for_each_row(at, is_float(at.stream(0).dtype()), [&]<typename T>(const std::int64_t* index) {
    const std::vector<T> line = read_line<T>(frame, 0, index, inst.inner());
    std::vector<std::int64_t> order(line.size());
    std::iota(order.begin(), order.end(), std::int64_t{0});
    std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
      const T left = line[static_cast<std::size_t>(a)], right = line[static_cast<std::size_t>(b)];
      return f.descending != 0 ? before(right, left) : before(left, right);
    });
    for (std::int64_t p = 0; p < f.count; ++p) {
      const std::int64_t from = order[static_cast<std::size_t>(p)];
      copy_element(address(frame, 1, {index, 0, p, 0}), address(frame, 0, {index, 0, from, 0}), at.stream(0).dtype());
      write_element<std::int64_t>(frame, 2, index, p, from);
    }
  });
  return {};
}

}  // namespace tilewright::vm::reference
