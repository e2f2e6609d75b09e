// Rows shorter than a strip, several in each strip. Where every operand of a map has its rows equally far apart, the
// rows and the gaps between them are one long run; a mask leaves the gaps alone. Two halves of a row (rotary embedding,
// chunk) are such rows, whose gap is the other half.
// Hot: a check per task, no allocation.
#pragma once

#include "tilewright/vm/cpu/level/level.h"

namespace tilewright::vm::cpu::TW_LEVEL {

// How many elements the rows of `inner` elements of all streams of the program are apart, if several rows fit one
// strip; else 0.
std::int64_t short_row_period(const StreamSet& streams, const isa::Word* code, std::int64_t inner);

// Runs `code` at the elements 0 .. inner - 1 of rows 0 .. rows - 1, which are `period` elements apart, of which row 0
// is where `run` stands. Returns how many rows it ran, a multiple of those that fit a strip; the others are the
// caller's.
std::int64_t run_short_rows(const isa::Word* code, StripRun& run, std::int64_t rows, std::int64_t inner,
                            std::int64_t period);

}  // namespace tilewright::vm::cpu::TW_LEVEL
