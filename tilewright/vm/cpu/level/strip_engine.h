// The strip engine. A strip program runs on eight vectors that stay in registers from instruction to instruction: every
// handler has them as arguments and ends with a tail call to the handler of the next instruction, found by its opcode
// in a table. More tables serve the same programs: in `tail` handlers touch only the elements of the last, partial
// strip; in `far` they prefetch their own stream; `streaming` also stores past the cache. End moves to the next strip:
// a run is one call. Hot: no allocation, no call out of a handler except into libm. Where tail calls cannot be had (no
// optimiser, sanitizers), handlers return and a loop calls the next (TW_STRIP_LOOP).
#pragma once

#include "tilewright/vm/cpu/level/vec.h"

#if !defined(TW_STRIP_LOOP) && (!defined(__OPTIMIZE__) || defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__))
#define TW_STRIP_LOOP 1
#endif

namespace tilewright::vm::cpu::TW_LEVEL {

using isa::Lane;
using isa::StripOp;
using isa::Word;

struct Vectors {
  f32x v0, v1, v2, v3, v4, v5, v6, v7;
};

// f(vector, its number) for all eight. Spelled out, so that the vectors are registers before the optimiser begins.
template <typename F>
TW_INLINE void each(Vectors& v, F f) {
  f(v.v0, 0), f(v.v1, 1), f(v.v2, 2), f(v.v3, 3), f(v.v4, 4), f(v.v5, 5), f(v.v6, 6), f(v.v7, 7);
}

// ---- Lanes
// ------------------------------------------------------------------------------------------------------------
template <Lane lane>
struct LaneType;
template <>
struct LaneType<Lane::kF32> {
  using Type = float;
};
template <>
struct LaneType<Lane::kI32> {
  using Type = std::int32_t;
};
template <>
struct LaneType<Lane::kF64> {
  using Type = double;
};
template <>
struct LaneType<Lane::kI64> {
  using Type = std::int64_t;
};
template <Lane lane>
using ElementOf = typename LaneType<lane>::Type;
template <Lane lane>
using LaneVec = VecOf<ElementOf<lane>>;
template <Lane lane>
inline constexpr bool kIsFloat = lane == Lane::kF32 || lane == Lane::kF64;
template <Lane lane>
inline constexpr int kStripElements = kStripBytes / isa::lane_bytes(lane);

// The letters of a row of strip_ops.def as bits 1 << lane.
consteval unsigned lane_bits(const char* letters) {
  unsigned bits = 0;
  for (; *letters != 0; ++letters) bits |= *letters == 'f' ? 1u : *letters == 'i' ? 2u : *letters == 'F' ? 4u : 8u;
  return bits;
}

// ---- Handlers
// ---------------------------------------------------------------------------------------------------------
struct Cursor;
#if defined(TW_STRIP_LOOP)
struct HandlerEntry;
using Handler = void (*)(Cursor& cursor, StripRun* run, Vectors& v);
struct Cursor {
  const Word* ip;  // null: the run has ended
  std::uint64_t offset;
  const Handler* table;
};
#else
struct HandlerEntry;  // a handler's pointer; the type cannot name itself
using Handler = void (*)(const Word* ip, StripRun* run, std::uint64_t offset, const HandlerEntry* table, Word word,
                         f32x v0, f32x v1, f32x v2, f32x v3, f32x v4, f32x v5, f32x v6, f32x v7);
struct HandlerEntry {
  Handler call;
};
#endif

constexpr int last_strip_number() {
  int last = 0;
#define STRIP(number, ...) last = (number) > last ? (number) : last;
#include "tilewright/isa/strip_ops.def"
#undef STRIP
  return last;
}
inline constexpr int kTableSize = (last_strip_number() + 1) * 32;

#if defined(TW_STRIP_LOOP)
using TableEntry = Handler;
#else
using TableEntry = HandlerEntry;
#endif
// How a handler reaches memory. Prefetching costs a quarter of a cheap chain in L1 and is indispensable from L3 on,
// where a strip is too long for the core to look ahead into the next one.
enum class Way { kPlain, kTail, kFar, kStreaming };

struct StripTables {
  TableEntry plain[kTableSize], tail[kTableSize], far[kTableSize], streaming[kTableSize];

  // For operations without memory, or whose memory is always near.
  void set(int opcode, Handler handler) { set(opcode, handler, handler, handler, handler); }
  void set(int opcode, Handler plain_handler, Handler tail_handler) {
    set(opcode, plain_handler, tail_handler, plain_handler, plain_handler);
  }
  void set(int opcode, Handler plain_handler, Handler tail_handler, Handler far_handler, Handler streaming_handler) {
    plain[opcode] = TableEntry{plain_handler};
    tail[opcode] = TableEntry{tail_handler};
    far[opcode] = TableEntry{far_handler};
    streaming[opcode] = TableEntry{streaming_handler};
  }
};

// Each group of operations fills its rows; the groups together are the whole of strip_ops.def (strip_groups.h).
void fill_loads(StripTables& tables);
void fill_stores(StripTables& tables);
void fill_arithmetic(StripTables& tables);
void fill_operands(StripTables& tables);
void fill_math(StripTables& tables);
void fill_lanewise(StripTables& tables);
void fill_reductions(StripTables& tables);
void fill_pairs(StripTables& tables);

constexpr std::uint16_t operand_a(Word word) {
  return static_cast<std::uint16_t>(word >> 16);
}
constexpr std::uint16_t operand_b(Word word) {
  return static_cast<std::uint16_t>(word >> 32);
}

// A handler from Body::run(word, run, offset, vectors).
#if defined(TW_STRIP_LOOP)
template <typename Body>
void handler(Cursor& cursor, StripRun* run, Vectors& v) {
  Body::run(*cursor.ip, *run, cursor.offset, v);
  ++cursor.ip;
}
#else
template <typename Body>
__attribute__((noinline)) void handler(const Word* ip, StripRun* run, std::uint64_t offset, const HandlerEntry* table,
                                       Word word, f32x v0, f32x v1, f32x v2, f32x v3, f32x v4, f32x v5, f32x v6,
                                       f32x v7) {
  Vectors v{v0, v1, v2, v3, v4, v5, v6, v7};
  Body::run(word, *run, offset, v);
  const Word next = ip[1];
  return table[next & 0xffff].call(ip + 1, run, offset, table, next, v.v0, v.v1, v.v2, v.v3, v.v4, v.v5, v.v6, v.v7);
}
#endif

// ---- Operands
// ---------------------------------------------------------------------------------------------------------
inline constexpr std::int64_t kPrefetchBytes = 4096;  // ahead; beyond the window in which the core runs out of order

template <typename T>
TW_INLINE char* unit_address(const StripRun& run, std::uint16_t stream, std::uint64_t offset) {
  return run.address[stream] + (offset & run.mask[stream]) * sizeof(T);
}

// Element strips and single elements of the lane type.
template <typename T, bool one, Way way>
struct Operand {
  const char* address;
  VecOf<T> value;
  TW_INLINE Operand(const StripRun& run, std::uint16_t stream, std::uint64_t offset) {
    if constexpr (one) {
      value = splat<T>(load_element<T>(run.address[stream]));
    } else {
      address = unit_address<T>(run, stream, offset);
    }
  }
  TW_INLINE VecOf<T> get(const StripRun& run, int k) const {
    if constexpr (one) return value;
    if constexpr (way == Way::kTail) return load_tail<T>(address + k * kVectorBytes, run, k);
    if constexpr (way == Way::kFar) __builtin_prefetch(address + k * kVectorBytes + kPrefetchBytes);
    return load<T>(address + k * kVectorBytes);
  }
};

}  // namespace tilewright::vm::cpu::TW_LEVEL
