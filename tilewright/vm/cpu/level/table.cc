// The table of a level: a handler for every row of instructions.def.
#include "tilewright/vm/cpu/level/level.h"
#include "tilewright/vm/cpu/level/matmul_kernel.h"

namespace tilewright::vm::cpu::TW_LEVEL {

namespace {
#define TW_TEXT_(name) #name
#define TW_TEXT(name) TW_TEXT_(name)

consteval LevelTable make_table() {
  LevelTable table{};
  table.name = TW_TEXT(TW_LEVEL);
  table.vector_floats = kVectorFloats;
  table.matmul_rows = kRows;
  table.matmul_panel = kPanel<float>;
  table.run_strip = run_strip;
#define INST(opcode, Name, ...) table.handlers[opcode] = exec_##Name;
#define FIELD(...)
#define END_INST(...)
#include "tilewright/isa/instructions.def"
#undef INST
#undef FIELD
#undef END_INST
  return table;
}

constinit const LevelTable kTable = make_table();

}  // namespace

const LevelTable& level_table() {
  static const bool filled = (fill_strip_tables(), true);
  (void)filled;
  return kTable;
}

}  // namespace tilewright::vm::cpu::TW_LEVEL
