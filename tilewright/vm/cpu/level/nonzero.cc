// The nonzero instruction: one task, whose rows are walked in order. A float is 0 where all bits but the sign are.
// HOT: no allocation, no call.
#include "tilewright/vm/cpu/level/lines.h"

namespace tilewright::vm::cpu::TW_LEVEL {
namespace {

struct Target {
  char* first;
  std::int64_t step, inner_step, limit;
  int rank;
  void write(std::int64_t row, int axis, std::int64_t value) const {
    __builtin_memcpy(first + row * step + axis * inner_step, &value, 8);
  }
};

// Returns the count of non-zeros met so far, this row included.
template <typename Bits>
std::int64_t walk_row(const Line& x, std::int64_t count, Bits mask, const std::int64_t* index, const Target& to,
                      std::int64_t met) {
  for (std::int64_t p = 0; p < count; ++p) {
    Bits bits;
    __builtin_memcpy(&bits, x.first + p * x.stride, sizeof bits);
    const bool set = (bits & mask) != 0;
    if (set && met < to.limit) {
      for (int d = 0; d < to.rank; ++d) to.write(met, d, index[d]);
      to.write(met, to.rank, p);
    }
    met += set;
  }
  return met;
}

std::int64_t walk(const Line& x, std::int64_t count, const std::int64_t* index, const Target& to, std::int64_t met) {
  const bool real = is_float(x.dtype);
  switch (byte_size(x.dtype)) {
    case 1:
      return walk_row<std::uint8_t>(x, count, 0xff, index, to, met);
    case 2:
      return walk_row<std::uint16_t>(x, count, real ? 0x7fff : 0xffff, index, to, met);
    case 4:
      return walk_row<std::uint32_t>(x, count, real ? 0x7fffffffu : ~0u, index, to, met);
    default:
      return walk_row<std::uint64_t>(x, count, real ? ~std::uint64_t{0} >> 1 : ~std::uint64_t{0}, index, to, met);
  }
}

}  // namespace

void exec_NonZero(const isa::Inst& inst, const TaskContext& context, std::int64_t) {
  const auto& f = inst.fields<isa::NonZeroFields>();
  const isa::StreamHead& x = inst.stream<isa::NonZeroFields>(0);
  const isa::StreamHead& out = inst.stream<isa::NonZeroFields>(1);
  const std::int64_t* dims = inst.dims<isa::NonZeroFields>();
  const int rank = inst.rank();
  const Target to{reinterpret_cast<char*>(context.buffers[out.buffer()]) + out.offset, f.step, out.inner_stride,
                  f.limit, rank};
  char* const base = reinterpret_cast<char*>(context.buffers[x.buffer()]) + x.offset;
  std::int64_t index[isa::kMaxRank] = {};
  std::int64_t met = 0;
  bool more = inst.inner() > 0;  // else strides are unchecked
  for (int d = 0; d < rank; ++d) more = more && dims[d] > 0;
  while (more) {
    char* at = base;
    for (int d = 0; d < rank; ++d) at += index[d] * x.strides()[d];
    met = walk({at, x.dtype(), x.inner_stride}, inst.inner(), index, to, met);
    int d = rank - 1;
    while (d >= 0 && ++index[d] == dims[d]) index[d--] = 0;
    more = d >= 0;
  }
  if (f.limit < 0) return to.write(0, 0, met);
  for (; met < f.limit; ++met) {
    for (int d = 0; d <= rank; ++d) to.write(met, d, 0);
  }
}

}  // namespace tilewright::vm::cpu::TW_LEVEL
