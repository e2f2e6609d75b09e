// Starts strip programs, holds the handler tables, and implements End, which moves to the next strip. The tables are
// filled once, before the level's table is handed out, and never change.
#include "tilewright/isa/strip_facts.h"
#include "tilewright/vm/cpu/level/short_rows.h"
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

namespace {

// Whether the program takes the streams of the set as strips, not element by element nor one element for all.
[[maybe_unused]] bool reads_whole_strips(const Word* code, std::uint64_t streams) {
  for (; isa::decode_strip(*code).op != StripOp::kEnd; ++code) {
    const isa::StripCode word = isa::decode_strip(*code);
    const isa::StripFacts& facts = isa::kStripFacts[static_cast<std::size_t>(word.op)];
    const bool by_strips = word.form == 0 || (facts.shape == isa::StripShape::kBinary && word.form == isa::kReversed);
    if (by_strips) continue;
    const std::uint16_t operands[] = {word.a, word.b, word.c};
    for (int i = 0; i < facts.operands; ++i) {
      if (facts.shape == isa::StripShape::kPair && (word.form >> i & 1) == 0) continue;
      if ((streams >> operands[i] & 1) != 0) return false;
    }
  }
  return true;
}

// The tail masks of a strip of rows of `inner` elements, `period` apart: whole vectors and first parts of vectors.
void prepare_rows(StripRun& run, [[maybe_unused]] std::int64_t inner, [[maybe_unused]] std::int64_t period) {
  run.tail = kStripElements<Lane::kF32>;
  for (int k = 0; k < kStripVectors; ++k) {
    [[maybe_unused]] const std::int64_t left = inner - k * kLanes<float> % period;
    [[maybe_unused]] const auto lanes = static_cast<int>(left < 0 ? 0 : left < kLanes<float> ? left : kLanes<float>);
#if defined(__AVX512F__)
    reinterpret_cast<std::uint16_t*>(run.tail_masks)[k] = static_cast<std::uint16_t>((1u << lanes) - 1);
#elif defined(__AVX2__)
    for (int lane = 0; lane < kLanes<float>; ++lane)
      reinterpret_cast<std::int32_t*>(run.tail_masks + k * kVectorBytes)[lane] = lane < lanes ? -1 : 0;
#endif
  }
}

}  // namespace

std::int64_t short_row_period(const StreamSet& streams, const Word* code, std::int64_t inner) {
#if defined(__AVX2__)
  constexpr std::int64_t kStrip = kStripElements<Lane::kF32>;
  const Lane lane = isa::decode_strip(*code).lane;
  if (2 * inner > kStrip || isa::lane_bytes(lane) != 4) return 0;
  const DType dtype = lane == Lane::kF32 ? DType::kF32 : DType::kI32;  // others are converted by way of packed memory
  std::int64_t period = 0;
  std::uint64_t moving = 0;  // streams that have rows; the others are one element
  for (int s = 0; s < streams.count; ++s) {
    const isa::StreamHead& head = streams.head(s);
    const isa::Space space = head.space();
    if (space == isa::Space::kLiteral || space == isa::Space::kSlot) continue;
    if (space != isa::Space::kBuffer || head.dtype() != dtype) return 0;
    const std::int64_t stride = head.strides()[streams.rank - 1];
    if (head.inner_stride == 0 && stride == 0) continue;
    if (head.inner_stride != 4 || stride <= 0 || stride % 4 != 0 || (period != 0 && stride != period)) return 0;
    period = stride;
    moving |= std::uint64_t{1} << s;
  }
  period /= 4;
  if (period < inner || period % kLanes<float> != 0 || 2 * period > kStrip || kStrip % period != 0) return 0;
  return reads_whole_strips(code, moving) ? period : 0;
#else
  return static_cast<void>(streams), static_cast<void>(code), static_cast<void>(inner), 0;  // no masks
#endif
}

std::int64_t run_short_rows(const Word* code, StripRun& run, std::int64_t rows, std::int64_t inner,
                            std::int64_t period) {
  const std::int64_t per_strip = kStripElements<Lane::kF32> / period;
  const std::int64_t whole = rows / per_strip * per_strip;
  if (whole == 0) return 0;
  run.code = code;
  run.tail_table = tables.tail;
  run.end = static_cast<std::uint64_t>(whole * period);
  prepare_rows(run, inner, period);
  start(run, 0, tables.tail);
  return whole;
}

void run_strip(const Word* code, StripRun& run, std::int64_t count) {
  run_strip_range(code, run, 0, count, Reach::kNear);
}

}  // namespace tilewright::vm::cpu::TW_LEVEL
