// The table of a level: a handler for every row of instructions.def.
#include "tilewright/vm/cpu/level/level.h"
#include "tilewright/vm/cpu/level/matmul_kernel.h"

namespace tilewright::vm::cpu::TW_LEVEL {

namespace {
#define TW_TEXT_(name) #name
#define TW_TEXT(name) TW_TEXT_(name)

#if defined(TW_LEVEL_AVX2)
}  // namespace
void exec_DotOfVnni(const isa::Inst& inst, const TaskContext& context, std::int64_t task);  // dot.cc
namespace {
#endif

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

#if defined(TW_LEVEL_AVX2)
consteval LevelTable make_vnni_table() {
  LevelTable table = make_table();
  table.name = "avx2_vnni";
  table.variant = true;
  table.handlers[static_cast<int>(isa::Opcode::kDot)] = exec_DotOfVnni;
  return table;
}
constinit const LevelTable kVnniTable = make_vnni_table();
#endif

}  // namespace

const LevelTable& level_table() {
  static const bool filled = (fill_strip_tables(), true);
  (void)filled;
  return kTable;
}

#if defined(TW_LEVEL_AVX2)
const LevelTable& vnni_level_table() {
  level_table();
  return kVnniTable;
}
#endif

}  // namespace tilewright::vm::cpu::TW_LEVEL
