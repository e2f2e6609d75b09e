// Starts strip programs, holds the handler tables, and implements End, which moves to the next strip. The tables are
// filled once, before the level's table is handed out, and never change.
#include "tilewright/vm/cpu/level/strip_groups.h"

namespace tilewright::vm::cpu::TW_LEVEL {
namespace {

StripTables tables;

template <Lane lane>
TW_INLINE void begin_tail(StripRun& run, std::uint64_t offset) {
  run.tail = static_cast<std::int64_t>(run.end - offset);
  prepare_tail<ElementOf<lane>>(run, run.tail);
}

#if defined(TW_STRIP_LOOP)
template <Lane lane>
void end_strip(Cursor& cursor, StripRun* run, Vectors&) {
  cursor.offset += kStripElements<lane>;
  if (cursor.offset >= run->end) {
    cursor.ip = nullptr;
    return;
  }
  if (cursor.offset + kStripElements < lane >> run->end) {
    begin_tail<lane>(*run, cursor.offset);
    cursor.table = static_cast<const TableEntry*>(run->tail_table);
  }
  cursor.ip = run->code;
}

void start(StripRun& run, std::uint64_t offset, const TableEntry* table) {
  Cursor cursor{run.code, offset, table};
  Vectors v{};
  while (cursor.ip != nullptr) cursor.table[*cursor.ip & 0xffff](cursor, &run, v);
}
#else
template <Lane lane>
__attribute__((noinline)) void end_strip(const Word*, StripRun* run, std::uint64_t offset, const HandlerEntry* table,
                                         Word, f32x v0, f32x v1, f32x v2, f32x v3, f32x v4, f32x v5, f32x v6, f32x v7) {
  offset += kStripElements<lane>;
  if (offset + kStripElements < lane >> run->end) [[unlikely]] {
    if (offset >= run->end) return;
    begin_tail<lane>(*run, offset);
    table = static_cast<const HandlerEntry*>(run->tail_table);
  }
  const Word* code = run->code;
  const Word word = *code;
  return table[word & 0xffff].call(code, run, offset, table, word, v0, v1, v2, v3, v4, v5, v6, v7);
}

TW_INLINE void start(StripRun& run, std::uint64_t offset, const TableEntry* table) {
  const f32x zero{};
  const Word word = *run.code;
  table[word & 0xffff].call(run.code, &run, offset, table, word, zero, zero, zero, zero, zero, zero, zero, zero);
}
#endif

template <Lane lane>
void run_lane(StripRun& run, std::uint64_t first, Reach reach) {
  const TableEntry* table = reach == Reach::kNear ? tables.plain : reach == Reach::kFar ? tables.far : tables.streaming;
  if (first + kStripElements < lane >> run.end) {
    begin_tail<lane>(run, first);
    table = tables.tail;
  }
  start(run, first, table);
}

template <StripOp op, isa::StripShape shape, Lane lane>
void fill_lane(StripTables& all) {
  all.set(isa::strip_opcode(op, lane), end_strip<lane>);
}

}  // namespace
TW_DEFINE_FILL_ROW(Group::kEnd)

void fill_strip_tables() {
#define STRIP(number, Name, text, Shape, lanes, ...) \
  fill_row<StripOp::k##Name, isa::StripShape::k##Shape, lane_bits(lanes)>(tables);
#include "tilewright/isa/strip_ops.def"
#undef STRIP
  fill_loads(tables);
  fill_stores(tables);
  fill_arithmetic(tables);
  fill_operands(tables);
  fill_math(tables);
  fill_lanewise(tables);
  fill_reductions(tables);
  fill_pairs(tables);
}

void run_strip_range(const Word* code, StripRun& run, std::int64_t first, std::int64_t count, Reach reach) {
  if (count <= 0) return;
  run.code = code;
  run.tail_table = tables.tail;
  run.end = static_cast<std::uint64_t>(first + count);
  const auto lane = static_cast<Lane>(*code >> 3 & 3);
  if (isa::lane_bytes(lane) == 4)
    run_lane<Lane::kF32>(run, static_cast<std::uint64_t>(first), reach);
  else
    run_lane<Lane::kF64>(run, static_cast<std::uint64_t>(first), reach);
}

void run_strip(const Word* code, StripRun& run, std::int64_t count) {
  run_strip_range(code, run, 0, count, Reach::kNear);
}

}  // namespace tilewright::vm::cpu::TW_LEVEL
