// The pairs of index and axis streams that gather and scatter share: what an index moves an address by. A value out of
// range is reported before anything is touched.
#pragma once

#include "tilewright/isa/tasks.h"
#include "tilewright/vm/cpu/level/level.h"

namespace tilewright::vm::cpu::TW_LEVEL {

struct IndexPairs {
  struct Pair {
    const char* address;        // of the row's first index
    std::int64_t inner_stride;  // of the index, bytes
    std::int64_t size, step;    // of the axis
    bool wide;                  // i64
  };
  Pair pairs[isa::kMaxStreams / 2];
  int count;
  bool moves;  // some index differs along the inner dim

  static constexpr std::int64_t kOutside = INT64_MIN;

  // Bytes that the indices at inner position p move the address by, or kOutside.
  [[gnu::always_inline]] std::int64_t bytes_at(std::int64_t p, const TaskContext& context) const {
    std::int64_t bytes = 0;
    for (int j = 0; j < count; ++j) {
      const Pair& pair = pairs[j];
      const char* at = pair.address + p * pair.inner_stride;
      std::int64_t index;
      if (pair.wide) {
        __builtin_memcpy(&index, at, 8);
      } else {
        std::int32_t narrow;
        __builtin_memcpy(&narrow, at, 4);
        index = narrow;
      }
      const std::int64_t place = index < 0 ? index + pair.size : index;
      if (static_cast<std::uint64_t>(place) >= static_cast<std::uint64_t>(pair.size)) [[unlikely]] {
        context.report(context.sink, {2 + 2 * j, index, pair.size});
        return kOutside;
      }
      bytes += place * pair.step;
    }
    return bytes;
  }
};

// The pairs of an instruction, for the row at the outer indices `index`.
template <typename Fields>
static inline IndexPairs index_pairs(const isa::Inst& inst, const TaskContext& context, const std::int64_t* index) {
  IndexPairs out;
  out.count = (inst.num_streams() - 2) / 2;
  out.moves = false;
  for (int j = 0; j < out.count; ++j) {
    const isa::StreamHead& head = inst.stream<Fields>(2 + 2 * j);
    const isa::StreamHead& axis = inst.stream<Fields>(3 + 2 * j);
    const char* at = reinterpret_cast<const char*>(context.buffers[head.buffer()]) + head.offset;
    for (int d = 0; d < inst.rank(); ++d) at += index[d] * head.strides()[d];
    out.pairs[j] = {at, head.inner_stride, axis.offset, axis.inner_stride, head.dtype() == DType::kI64};
    out.moves |= head.inner_stride != 0;
  }
  return out;
}

static inline char* place_at(const isa::StreamHead& head, const TaskContext& context, const std::int64_t* index,
                             int rank) {
  char* at = reinterpret_cast<char*>(context.buffers[head.buffer()]) + head.offset;
  for (int d = 0; d < rank; ++d) at += index[d] * head.strides()[d];
  return at;
}

}  // namespace tilewright::vm::cpu::TW_LEVEL
