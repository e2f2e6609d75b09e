// gather and scatter: one element at a time, in row-major order of the domain.
#include "tilewright/base/result.h"
#include "tilewright/isa/scalar_semantics.h"
#include "tilewright/vm/reference/element.h"
#include "tilewright/vm/reference/execute.h"

namespace tilewright::vm::reference {
namespace {

// The bytes that the pairs of index and axis move an address by.
Result<std::int64_t> moved_by(const Frame& frame, const Place& place) {
  std::int64_t bytes = 0;
  for (int s = 2; s < frame.at.streams; s += 2) {
    const isa::StreamHead& axis = frame.at.stream(s + 1);
    const std::int64_t size = axis.offset;
    const std::int64_t index = read_integer(address(frame, s, place), frame.at.stream(s).dtype());
    if (index < -size || index >= size) {
      return fail(ErrorKind::kIndexOutOfRange, "{}: index {} is out of range for an axis of size {}",
                  isa::find_inst(isa::Inst(frame.at.words).opcode())->text, index, size);
    }
    bytes += (index < 0 ? index + size : index) * axis.inner_stride;
  }
  return bytes;
}

template <typename T>
T combined(std::int64_t mode, T a, T b) {
  switch (mode) {
    case 1:
      if constexpr (isa::Integer<T>) return isa::wrapping_add(a, b);
      return a + b;
    case 2:
      if constexpr (isa::Integer<T>) return isa::wrapping_mul(a, b);
      return a * b;
    case 3:
      return isa::smaller(a, b);
    case 4:
      return isa::larger(a, b);
    default:
      return b;
  }
}

void combine(std::byte* to, const std::byte* from, DType dtype, std::int64_t mode) {
  if (mode == 0) return copy_element(to, from, dtype);
  if (is_float(dtype)) return write_real(to, dtype, combined(mode, read_real(to, dtype), read_real(from, dtype)));
  write_integer(to, dtype, combined(mode, read_integer(to, dtype), read_integer(from, dtype)));
}

// Calls f(place) for every position of the domain, in row-major order.
template <typename F>
Status for_each_place(const isa::Layout& at, std::int64_t inner, F&& f) {
  std::int64_t index[isa::kMaxRank] = {};
  for (int d = 0; d < at.rank; ++d) {
    if (at.dims()[d] == 0) return {};
  }
  while (true) {
    for (std::int64_t p = 0; p < inner; ++p) TW_TRY(f(Place{index, 0, p, 0}));
    int d = at.rank - 1;
    while (d >= 0 && ++index[d] == at.dims()[d]) index[d--] = 0;
    if (d < 0) return {};
  }
}

}  // namespace

Status exec_Gather(const Memory& memory, const isa::Inst& inst) {
  const isa::Layout at = isa::layout_of(inst);
  const Frame frame{memory, at};
  return for_each_place(at, inst.inner(), [&](const Place& place) -> Status {
    TW_ASSIGN(const std::int64_t bytes, moved_by(frame, place));
    copy_element(address(frame, 1, place), address(frame, 0, place) + bytes, at.stream(0).dtype());
    return {};
  });
}

Status exec_Scatter(const Memory& memory, const isa::Inst& inst) {
  const isa::Layout at = isa::layout_of(inst);
  const Frame frame{memory, at};
  const std::int64_t mode = inst.fields<isa::ScatterFields>().mode;
  return for_each_place(at, inst.inner(), [&](const Place& place) -> Status {
    TW_ASSIGN(const std::int64_t bytes, moved_by(frame, place));
    combine(address(frame, 0, place) + bytes, address(frame, 1, place), at.stream(0).dtype(), mode);
    return {};
  });
}

}  // namespace tilewright::vm::reference
