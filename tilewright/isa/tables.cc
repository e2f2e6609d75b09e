// The tables of instructions.def, strip_ops.def and phases.def as data, for generic readers. Built once; look-ups by
// number are array reads.
#include <algorithm>
#include <array>

#include "tilewright/isa/strip_facts.h"

namespace tilewright::isa {
namespace {

const std::vector<InstInfo>& insts() {
  static const std::vector<InstInfo> table = {
#define INST(opcode, Name, text, operands, meaning) {Opcode::k##Name, #Name, text, operands, meaning, {
#define FIELD(name, meaning) {#name, meaning},
#define END_INST(Name) \
  }                    \
  }                    \
  ,
#include "tilewright/isa/instructions.def"
#undef INST
#undef FIELD
#undef END_INST
  };
  return table;
}

constexpr StripInfo kStrips[] = {
#define STRIP(number, Name, text, Shape, lanes, meaning) {StripOp::k##Name, text, StripShape::k##Shape, lanes, meaning},
#include "tilewright/isa/strip_ops.def"
#undef STRIP
};

constexpr PhaseInfo kPhases[] = {
#define PHASE(number, Name, text, operands, meaning) {PhaseOp::k##Name, text, operands, meaning},
#include "tilewright/isa/phases.def"
#undef PHASE
};

constexpr auto kStripRows = [] {
  std::array<std::int16_t, kNumStripOps> rows{};
  rows.fill(-1);
  for (std::size_t i = 0; i < std::size(kStrips); ++i) {
    rows[static_cast<std::size_t>(kStrips[i].op)] = static_cast<std::int16_t>(i);
  }
  return rows;
}();

}  // namespace

const InstInfo* find_inst(Opcode opcode) {
  const auto& table = insts();
  const auto found =
      std::find_if(table.begin(), table.end(), [&](const InstInfo& info) { return info.opcode == opcode; });
  return found == table.end() ? nullptr : &*found;
}

const StripInfo* find_strip(StripOp op) {
  const auto number = static_cast<std::size_t>(op);
  if (number >= kStripRows.size() || kStripRows[number] < 0) return nullptr;
  return &kStrips[kStripRows[number]];
}

const PhaseInfo* find_phase(PhaseOp op) {
  for (const PhaseInfo& info : kPhases) {
    if (info.op == op) return &info;
  }
  return nullptr;
}

std::span<const InstInfo> all_insts() {
  return insts();
}
std::span<const StripInfo> all_strips() {
  return kStrips;
}
std::span<const PhaseInfo> all_phases() {
  return kPhases;
}

}  // namespace tilewright::isa
