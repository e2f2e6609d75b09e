// nonzero: counts, or writes the positions of, the elements that are not 0.
#include "tilewright/vm/reference/lines.h"

namespace tilewright::vm::reference {

Status exec_NonZero(const Memory& memory, const isa::Inst& inst) {
  const isa::Layout at = isa::layout_of(inst);
  const Frame frame{memory, at};
  const auto& f = inst.fields<isa::NonZeroFields>();
  const isa::StreamHead& to = at.stream(1);
  std::byte* const first = memory.buffers[to.buffer()] + to.offset;
  const auto write = [&](std::int64_t row, int axis, std::int64_t value) {
    write_integer(first + row * f.step + axis * to.inner_stride, DType::kI64, value);
  };
  std::int64_t count = 0;
  for_each_row(at, is_float(at.stream(0).dtype()), [&]<typename T>(const std::int64_t* index) {
    const std::vector<T> line = read_line<T>(frame, 0, index, inst.inner());
    for (std::size_t p = 0; p < line.size(); ++p) {
      if (line[p] == 0) continue;
      if (count < f.limit) {
        for (int d = 0; d < at.rank; ++d) write(count, d, index[d]);
        write(count, at.rank, static_cast<std::int64_t>(p));
      }
      ++count;
    }
  });
  if (f.limit < 0) {
    write(0, 0, count);
    return {};
  }
  for (; count < f.limit; ++count) {
    for (int d = 0; d <= at.rank; ++d) write(count, d, 0);
  }
  return {};
}

}  // namespace tilewright::vm::reference
