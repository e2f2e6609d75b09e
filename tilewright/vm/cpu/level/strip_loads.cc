// Handlers of the load operations: unit strips, strided elements (gathered to staging memory first), one element for
// all, and iota. Tail twins read only the elements of the tail; lanes beyond it hold zeros.
#include "tilewright/vm/cpu/level/strip_groups.h"
#include "tilewright/vm/cpu/level/strip_memory.h"

namespace tilewright::vm::cpu::TW_LEVEL {
namespace {

// Elements of `bytes` each, at `from` with a stride, packed to `to`.
template <int bytes>
__attribute__((noinline)) void gather(unsigned char* to, const char* from, std::int64_t stride, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) __builtin_memcpy(to + i * bytes, from + i * stride, bytes);
}

__attribute__((noinline)) void copy_tail(StripRun& run, const char* from, std::size_t bytes) {
  __builtin_memcpy(run.staging[0], from, bytes);
}

template <typename From, Lane lane, Way way>
struct LoadUnit {
  using T = ElementOf<lane>;
  static constexpr int kStep = kLanes<T> * static_cast<int>(sizeof(From));
  TW_INLINE static void run(Word word, StripRun& run, std::uint64_t offset, Vectors& v) {
    const char* p = unit_address<From>(run, operand_a(word), offset);
    if constexpr (way == Way::kTail && kSame<From, T>) {
      each(v, [&](f32x& x, int k) TW_LAMBDA { x = (f32x)load_tail<T>(p + k * kVectorBytes, run, k); });
    } else if constexpr (way == Way::kTail) {
      copy_tail(run, p, static_cast<std::size_t>(run.tail) * sizeof(From));
      const char* staged = reinterpret_cast<const char*>(run.staging[0]);
      each(v, [&](f32x& x, int k) TW_LAMBDA { x = (f32x)load_as<From, T>(staged + k * kStep); });
    } else {
      each(v, [&](f32x& x, int k) TW_LAMBDA {
        if constexpr (way == Way::kFar) __builtin_prefetch(p + k * kStep + kPrefetchBytes);
        x = (f32x)load_as<From, T>(p + k * kStep);
      });
    }
  }
};

template <typename From, Lane lane, bool tail>
struct LoadStrided {
  using T = ElementOf<lane>;
  static constexpr int kStep = kLanes<T> * static_cast<int>(sizeof(From));
  TW_INLINE static void run(Word word, StripRun& run, std::uint64_t offset, Vectors& v) {
    const std::uint16_t a = operand_a(word);
    const auto element = static_cast<std::int64_t>(offset & run.mask[a]);
    gather<sizeof(From)>(run.staging[0], run.address[a] + element * run.stride[a], run.stride[a],
                         tail ? run.tail : kStripElements<lane>);
    const char* staged = reinterpret_cast<const char*>(run.staging[0]);
    each(v, [&](f32x& x, int k) TW_LAMBDA { x = (f32x)load_as<From, T>(staged + k * kStep); });
  }
};

template <typename From, Lane lane>
struct LoadOne {
  using T = ElementOf<lane>;
  TW_INLINE static void run(Word word, StripRun& run, std::uint64_t, Vectors& v) {
    const char* p = run.address[operand_a(word)];
    f32x value;
    if constexpr (kSame<From, T>) {
      value = (f32x)splat<T>(load_element<T>(p));
    } else {
      // One element, repeated to a vector of the storage type, so that every conversion is the vector one.
      unsigned char* staged = run.staging[0];
      for (int i = 0; i < kLanes<T>; ++i)
        __builtin_memcpy(staged + i * static_cast<int>(sizeof(From)), p, sizeof(From));
      value = (f32x)load_as<From, T>(reinterpret_cast<const char*>(staged));
    }
    each(v, [&](f32x& x, int) TW_LAMBDA { x = value; });
  }
};

template <Lane lane>
struct LoadIota {
  using T = ElementOf<lane>;
  TW_INLINE static i64x ramp() {
    i64x lanes;
    for (int i = 0; i < kLanes<std::int64_t>; ++i) lanes[i] = i;
    return lanes;
  }
  TW_INLINE static void run(Word word, StripRun& run, std::uint64_t offset, Vectors& v) {
    const std::uint16_t a = operand_a(word);
    const auto step = static_cast<std::uint64_t>(run.stride[a]);
    const auto start = reinterpret_cast<std::uint64_t>(run.address[a]) + (offset & run.mask[a]) * step;
    const u64x steps = (u64x)ramp() * (u64x)i64(static_cast<std::int64_t>(step));
    const auto at = [&](int vector) TW_LAMBDA {  // the i64 vector number `vector` of the strip
      const std::uint64_t first = start + step * static_cast<std::uint64_t>(vector * kLanes<std::int64_t>);
      return (i64x)((u64x)i64(static_cast<std::int64_t>(first)) + steps);
    };
    each(v, [&](f32x& x, int k) TW_LAMBDA {
      if constexpr (lane == Lane::kF32) x = join_f32(at(2 * k), at(2 * k + 1));
      if constexpr (lane == Lane::kI32) x = (f32x)join_i32(at(2 * k), at(2 * k + 1));
      if constexpr (lane == Lane::kF64) x = (f32x)to_f64(at(k));
      if constexpr (lane == Lane::kI64) x = (f32x)at(k);
    });
  }
};

template <StripOp op, isa::StripShape shape, Lane lane>
void fill_lane(StripTables& tables) {
  if constexpr (op == StripOp::kLoadIota) {
    for (int form = 0; form < 3; ++form) tables.set(isa::strip_opcode(op, lane, form), handler<LoadIota<lane>>);
  } else {
    using From = StorageOf<op>;
    constexpr Handler far = handler<LoadUnit<From, lane, Way::kFar>>;
    tables.set(isa::strip_opcode(op, lane, isa::kUnit), handler<LoadUnit<From, lane, Way::kPlain>>,
               handler<LoadUnit<From, lane, Way::kTail>>, far, far);
    tables.set(isa::strip_opcode(op, lane, isa::kStrided), handler<LoadStrided<From, lane, false>>,
               handler<LoadStrided<From, lane, true>>);
    tables.set(isa::strip_opcode(op, lane, isa::kOne), handler<LoadOne<From, lane>>);
  }
}

}  // namespace
TW_DEFINE_FILL_ROW(Group::kLoads)

void fill_loads(StripTables& tables) {
#define STRIP(number, Name, text, Shape, lanes, ...) \
  fill_row<StripOp::k##Name, isa::StripShape::k##Shape, lane_bits(lanes)>(tables);
#include "tilewright/isa/strip_ops.def"
#undef STRIP
}

}  // namespace tilewright::vm::cpu::TW_LEVEL
