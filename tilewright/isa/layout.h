// Layout: where the parts of one encoded instruction lie, for readers that do not know its opcode at compile time
// (verifier, disassembler, documentation). Hot: no allocation.
#pragma once

#include "tilewright/isa/program.h"

namespace tilewright::isa {

// Fixed fields of an instruction; -1: no such opcode.
constexpr int num_fields(Opcode opcode) {
  switch (opcode) {
#define INST(number, Name, ...) \
  case Opcode::k##Name:         \
    return static_cast<int>(sizeof(Name##Fields) / sizeof(Word));
#define FIELD(...)
#define END_INST(...)
#include "tilewright/isa/instructions.def"
#undef INST
#undef FIELD
#undef END_INST
  }
  return -1;
}

struct Layout {
  const Word* words = nullptr;
  int fields = 0, rank = 0, streams = 0;

  std::int64_t field(int i) const { return static_cast<std::int64_t>(words[3 + i]); }
  const std::int64_t* dims() const { return reinterpret_cast<const std::int64_t*>(words + 3 + fields); }
  const StreamHead& stream(int i) const {
    return *reinterpret_cast<const StreamHead*>(words + 3 + fields + rank + i * (3 + rank));
  }
  const Word* phases() const { return words + 3 + fields + rank + streams * (3 + rank); }
  const Word* end() const { return words + Inst(words).num_words(); }
};

// The instruction at `words`, if its opcode is known and its fixed part lies within its length, which lies within
// `available` words. Its phases are still unchecked.
inline bool read_layout(const Word* words, std::size_t available, Layout& out) {
  if (available < 3) return false;
  const Inst inst(words);
  out = {words, num_fields(inst.opcode()), inst.rank(), inst.num_streams()};
  if (out.fields < 0 || out.rank > kMaxRank || out.streams > kMaxStreams || inst.num_words() > available) return false;
  const int fixed = 3 + out.fields + out.rank + out.streams * (3 + out.rank);
  return static_cast<std::uint32_t>(fixed) <= inst.num_words();
}

// The layout of an instruction that was verified.
inline Layout layout_of(const Inst& inst) {
  return {inst.words(), num_fields(inst.opcode()), inst.rank(), inst.num_streams()};
}

// The phase at `words`, if it lies before `end`.
inline const PhaseHead* read_phase(const Word* words, const Word* end) {
  if (end - words < 2) return nullptr;
  const auto* phase = reinterpret_cast<const PhaseHead*>(words);
  return end - words - 2 < phase->words() ? nullptr : phase;
}
inline const Word* after(const PhaseHead* phase) {
  return phase->code() + phase->words();
}

}  // namespace tilewright::isa
