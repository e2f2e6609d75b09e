// isa_markdown: the contract in words, then the three tables as they stand in the .def files.
#include "tilewright/isa/isa_doc.h"

#include <fmt/format.h>

#include "tilewright/isa/text/names.h"

namespace tilewright::isa {
namespace {

constexpr std::string_view kIntroduction = R"(# The instruction set

Generated from `tilewright/isa/*.def` and `isa_doc.cc`; edit those.

A program is a list of **tile instructions** over numbered buffers. Instructions run in order; a barrier lies between two of
them, unless the second stands **beside** the first: then both are one launch, and neither touches what the other writes. Each is
cut into **tasks**, which are independent of each other and run on any core in any order. There are no branches and no addresses,
so a program can be stored, compared and relocated. `verify_program` checks it once; then it runs unchecked.

## Encoding
All words have 64 bits. An instruction is `head | tasks | inner | fields.. | dims[rank] | streams.. | phases..`, its head
`opcode:16 | words:32 | rank:7 | beside:1 | streams:8` from the low bits up. A stream has 3 + rank words: `space:8 | dtype:8 | zero:16 |
buffer:32`, offset, inner stride, one stride per outer dim. A phase has two words and then its strip instructions, one word
each: `opcode:16 | a:16 | b:16 | c:16`. Strides and offsets count bytes. Fields without a meaning are 0.

## Domain and tasks
The domain is `dims[0] x .. x dims[rank-1]` (the outer dims) times `inner`. A **row** is one index of the last outer dim, all
others fixed; rank 0 counts as one row. Sizes may be 0: then nothing is touched.

| instruction | tasks, the last factor varies fastest |
|---|---|
| map | dims[0] x .. x dims[rank-2] x ceil(dims[rank-1] / row_tile) x ceil(inner / inner_tile) |
| rows | dims[0] x .. x dims[rank-2] x ceil(dims[rank-1] / row_tile) |
| columns | dims[0] x .. x dims[rank-reduced-1] x ceil(inner / inner_tile) |
| matmul | batch dims x ceil(m / m_tile) x ceil(n / n_tile) |
| pack | batch dims x ceil(n / panel) |
| attention | batch x heads x ceil(queries / query_tile) |

`tasks.h` decodes a task number into outer indices, a row range and an inner range.

## Where a stream's elements are
`p` is the inner position counted over the whole inner dim, `row` the index of the last outer dim.

| space | address |
|---|---|
| buffer | base + offset + sum over d of index[d] * stride[d] + p * inner_stride |
| scratch | scratch + offset + (row - first row of the tile) * stride[rank-1] + q * inner_stride. Private to the task. In rows q = p; in map, columns and the epilogue of matmul q = p - first p of the task. In columns the row term is 0 |
| slot | element i of the strip that is running: scratch + offset + i * size. 512 bytes; unit stride; elements no wider than the lane. Nothing is kept from one strip to the next |
| accumulator | only for reductions, see below |
| tile | the f32 block that the instruction has just computed, element (row - first row of the task, p - first p of the task) |
| literal | no memory: offset holds the bits of one element |
| iota | no memory, dtype i64: offset + sum over d of index[d] * stride[d] + p * inner_stride, wrapping. Only for load_iota |

A strip operation that names a dtype needs streams of that dtype; operands of binary, ternary and reduce operations have the
lane type. Stores go to scratch, slots, tiles, and buffers that are arena, output or packed.

**Scalar phases** run one strip along the rows of the tile. The inner position is the row: a stream's inner stride is
stride[rank-1] (the forms ask for that one: unit if it is the element size, one if it is 0), and p is 0. Slots stay as they are.

**Accumulators.** The inner stride holds `reduction * 2^32 + target stream`. Identities: sum 0, prod 1, max the lowest value
(-inf), min the highest (+inf), or 0, and all bits set, sum_square 0.
In *rows*: before each row the accumulator is filled with the identity; reductions of the row go into it; after the row it is
reduced over all lanes and the one value is written, in the lane type, at the target's address for that row with p = 0. It
needs 512 bytes at scratch + offset. The target is scratch or a buffer that may be written.
In *columns*: it is min(inner_tile, inner) elements at scratch + offset, filled with the identity when the task begins, and
accumulated at q over all reduced indices; the second phase reads it as a scratch stream. The target does not count.
The order in which float values are added is the machine's choice, but the same for a row whatever its tile, batch and the
number of threads.

## Strip programs
A strip program is a load, then operations on the strip `v` in registers, and an end. A machine runs as many elements at once
as it likes. All its lanes are 4 bytes wide (f32, i32), or all 8 (f64, i64); `v` is bits, which an operation reads as its lane
type. Predicates are lane masks: all bits set for true. opcode = number * 32 + lane * 8 + form.

| shape | effect | forms |
|---|---|---|
| Load | v = a | unit: inner stride is the element size (iota: 1); strided: any; one: 0, or a literal |
| Store | a = v | unit; strided |
| Unary | v = op(v) | |
| Binary | v = op(v, a) | a is a unit strip; one; reversed: op(a, v); one_reversed |
| Ternary | v = op(v, a, b) | strips; one_strip: a is one element; strip_one; one: both |
| Reduce | accumulator a = op(accumulator a, v) | |
| Pair | its two operations, one after the other, each rounded as alone | bit i: operand i is one element; operands of loads and stores are unit |

Conversions: float to integer truncates; nan and what is out of range give the lowest i64 where the integer has 64 bits, else
the lowest i32, of which narrower types keep the low bits. Integers narrow by keeping the low bits. f64 and integers reach f16
and bf16 through f32; f16 and bf16 reach everything through f32.

## Phases by instruction
map: one strip phase without accumulators. rows: one phase or more, each run on all rows of the tile before the next begins.
columns: a strip phase with accumulators, then one without that runs once per kept position, reduced indices at 0.
matmul: none, or one strip phase without accumulators, the epilogue. pack, attention: none.
)";

void print_instructions(std::string& text) {
  text += "\n## Tile instructions\n";
  for (const InstInfo& info : all_insts()) {
    text += fmt::format("\n### {} `{:#06x}`\n{}.\n", info.text, static_cast<int>(info.opcode), info.meaning);
    if (!info.operands.empty()) text += fmt::format("\nStreams: {}\n", info.operands);
    if (info.fields.empty()) continue;
    text += "\n| field | meaning |\n|---|---|\n";
    for (const FieldInfo& field : info.fields) text += fmt::format("| {} | {} |\n", field.name, field.meaning);
  }
}

void print_phases(std::string& text) {
  text += "\n## Phases\n\n| number | phase | operands | meaning |\n|---|---|---|---|\n";
  for (const PhaseInfo& info : all_phases()) {
    text += fmt::format("| {} | {} | {} | {} |\n", static_cast<int>(info.op), info.text, info.operands, info.meaning);
  }
}

std::string lane_list(std::string_view lanes) {
  std::string out;
  for (std::size_t lane = 0; lane < std::size(kLaneNames); ++lane) {
    if ((lane_bits(lanes) >> lane & 1) != 0) out += fmt::format("{}{}", out.empty() ? "" : " ", kLaneNames[lane]);
  }
  return out;
}

// In a table cell a bar must be escaped.
std::string cell(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '|') out += '\\';
    out += c;
  }
  return out;
}

void print_strips(std::string& text) {
  constexpr std::string_view kShapes[] = {"End", "Load", "Store", "Unary", "Binary", "Ternary", "Reduce", "Pair"};
  text += "\n## Strip operations\n\n| number | operation | shape | lanes | meaning |\n|---|---|---|---|---|\n";
  for (const StripInfo& info : all_strips()) {
    text += fmt::format("| {} | {} | {} | {} | {} |\n", static_cast<int>(info.op), info.text,
                        kShapes[static_cast<std::size_t>(info.shape)], lane_list(info.lanes), cell(info.meaning));
  }
}

}  // namespace

std::string isa_markdown() {
  std::string text(kIntroduction);
  print_instructions(text);
  print_phases(text);
  print_strips(text);
  return text;
}

}  // namespace tilewright::isa
