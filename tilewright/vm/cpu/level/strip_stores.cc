// Handlers of the store operations: unit strips and strided elements (scattered from staging memory). Tail twins write
// only the elements of the tail; streaming twins store unit strips of the lane type past the cache.
#include "tilewright/vm/cpu/level/strip_groups.h"
#include "tilewright/vm/cpu/level/strip_memory.h"

namespace tilewright::vm::cpu::TW_LEVEL {
namespace {

template <int bytes>
__attribute__((noinline)) void scatter(char* to, const unsigned char* from, std::int64_t stride, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) __builtin_memcpy(to + i * stride, from + i * bytes, bytes);
}

__attribute__((noinline)) void copy_tail(const StripRun& run, char* to, std::size_t bytes) {
  __builtin_memcpy(to, run.staging[0], bytes);
}

template <typename To, Lane lane>
TW_INLINE void stage(StripRun& run, Vectors& v) {
  using T = ElementOf<lane>;
  char* staged = reinterpret_cast<char*>(run.staging[0]);
  each(v, [&](f32x& x, int k)
              TW_LAMBDA { store_as<To, T>(staged + k * kLanes<T> * static_cast<int>(sizeof(To)), (VecOf<T>)x); });
}

template <typename To, Lane lane, Way way>
struct StoreUnit {
  using T = ElementOf<lane>;
  static constexpr int kStep = kLanes<T> * static_cast<int>(sizeof(To));
  TW_INLINE static void run(Word word, StripRun& run, std::uint64_t offset, Vectors& v) {
    char* p = unit_address<To>(run, operand_a(word), offset);
    if constexpr (way == Way::kTail && kSame<To, T>) {
      each(v, [&](f32x& x, int k) TW_LAMBDA { store_tail<T>(p + k * kVectorBytes, run, k, (VecOf<T>)x); });
      return;
    }
    if constexpr (way == Way::kTail) {
      stage<To, lane>(run, v);
      copy_tail(run, p, static_cast<std::size_t>(run.tail) * sizeof(To));
      return;
    }
    if constexpr (way == Way::kStreaming) {
      if (reinterpret_cast<std::uintptr_t>(p) % kVectorBytes == 0 && run.mask[operand_a(word)] != 0) {
        each(v, [&](f32x& x, int k) TW_LAMBDA { stream_store(p + k * kVectorBytes, x); });
        return;
      }
    }
    each(v, [&](f32x& x, int k) TW_LAMBDA { store_as<To, T>(p + k * kStep, (VecOf<T>)x); });
  }
};

template <typename To, Lane lane, bool tail>
struct StoreStrided {
  TW_INLINE static void run(Word word, StripRun& run, std::uint64_t offset, Vectors& v) {
    const std::uint16_t a = operand_a(word);
    const auto element = static_cast<std::int64_t>(offset & run.mask[a]);
    stage<To, lane>(run, v);
    scatter<sizeof(To)>(run.address[a] + element * run.stride[a], run.staging[0], run.stride[a],
                        tail ? run.tail : kStripElements<lane>);
  }
};

template <StripOp op, isa::StripShape shape, Lane lane>
void fill_lane(StripTables& tables) {
  using To = StorageOf<op>;
  constexpr Way kStreamWay = kSame<To, ElementOf<lane>> ? Way::kStreaming : Way::kPlain;
  tables.set(isa::strip_opcode(op, lane, isa::kUnit), handler<StoreUnit<To, lane, Way::kPlain>>,
             handler<StoreUnit<To, lane, Way::kTail>>, handler<StoreUnit<To, lane, Way::kPlain>>,
             handler<StoreUnit<To, lane, kStreamWay>>);
  tables.set(isa::strip_opcode(op, lane, isa::kStrided), handler<StoreStrided<To, lane, false>>,
             handler<StoreStrided<To, lane, true>>);
}

}  // namespace
TW_DEFINE_FILL_ROW(Group::kStores)

void fill_stores(StripTables& tables) {
#define STRIP(number, Name, text, Shape, lanes, ...) \
  fill_row<StripOp::k##Name, isa::StripShape::k##Shape, lane_bits(lanes)>(tables);
#include "tilewright/isa/strip_ops.def"
#undef STRIP
}

}  // namespace tilewright::vm::cpu::TW_LEVEL
