// What strip_ops.def says of an operation, by number, in the form that hot readers want: array reads, built at compile
// time.
#pragma once

#include <array>

#include "tilewright/isa/program.h"

namespace tilewright::isa {

struct StripFacts {
  bool exists = false;
  StripShape shape = StripShape::kEnd;
  std::uint8_t lanes = 0;     // bit per Lane
  std::uint8_t forms = 0;     // forms 0 .. forms - 1 exist
  std::uint8_t operands = 0;  // stream numbers in a, b, c
  DType dtype = DType::kF32;  // of the memory of a load or store; load_iota: i64
  // Of a pair: its operations, how many operands the first has, which operands may be one element.
  StripOp first = StripOp::kEnd, second = StripOp::kEnd;
  std::uint8_t first_operands = 0, ones = 0;
};

constexpr std::uint8_t forms_of(StripShape shape) {
  switch (shape) {
    case StripShape::kLoad:
      return 3;
    case StripShape::kStore:
      return 2;
    case StripShape::kBinary:
    case StripShape::kTernary:
      return 4;
    case StripShape::kPair:
      return 8;
    default:
      return 1;
  }
}

// Of a pair it depends on its operations (StripFacts::operands).
constexpr std::uint8_t operands_of(StripShape shape) {
  switch (shape) {
    case StripShape::kEnd:
    case StripShape::kUnary:
    case StripShape::kPair:
      return 0;
    case StripShape::kTernary:
      return 2;
    default:
      return 1;
  }
}

constexpr std::uint8_t lane_bits(std::string_view lanes) {
  std::uint8_t bits = 0;
  for (const char lane : lanes) {
    bits = static_cast<std::uint8_t>(bits | (lane == 'f'   ? 1
                                             : lane == 'i' ? 2
                                             : lane == 'F' ? 4
                                             : lane == 'I' ? 8
                                                           : 0));
  }
  return bits;
}

// "load_f16" -> f16.
constexpr DType memory_dtype(std::string_view text) {
  const std::string_view name = text.substr(text.find('_') + 1);
#define DTYPE(Name, dtype_text, ...) \
  if (name == dtype_text) return DType::k##Name;
#include "tilewright/tensor/dtypes.def"
#undef DTYPE
  return DType::kI64;
}

inline constexpr int kNumStripOps = kNumStripOpcodes / 32;

constexpr void describe_pair(StripFacts& pair, StripOp first, const StripFacts& first_facts, StripOp second,
                             const StripFacts& second_facts) {
  const auto ones_of = [](const StripFacts& facts) {
    const bool in_memory = facts.shape == StripShape::kLoad || facts.shape == StripShape::kStore;
    return in_memory ? 0 : (1 << facts.operands) - 1;
  };
  pair.first = first;
  pair.second = second;
  pair.first_operands = first_facts.operands;
  pair.operands = static_cast<std::uint8_t>(first_facts.operands + second_facts.operands);
  pair.ones = static_cast<std::uint8_t>(ones_of(first_facts) | ones_of(second_facts) << first_facts.operands);
}

inline constexpr std::array<StripFacts, kNumStripOps> kStripFacts = [] {
  std::array<StripFacts, kNumStripOps> facts{};
#define STRIP(number, Name, text, Shape, lanes, meaning) \
  facts[number] = {true,                                 \
                   StripShape::k##Shape,                 \
                   lane_bits(lanes),                     \
                   forms_of(StripShape::k##Shape),       \
                   operands_of(StripShape::k##Shape),    \
                   memory_dtype(text)};
#include "tilewright/isa/strip_ops.def"
#undef STRIP
#define PAIR(number, First, Second, text)                                                                         \
  describe_pair(facts[number], StripOp::k##First, facts[static_cast<int>(StripOp::k##First)], StripOp::k##Second, \
                facts[static_cast<int>(StripOp::k##Second)]);
#include "tilewright/isa/strip_pairs.def"
#undef PAIR
  return facts;
}();

// A decoded strip instruction.
struct StripCode {
  StripOp op;
  Lane lane;
  int form;
  std::uint16_t a, b, c;
};
constexpr StripCode decode_strip(Word word) {
  const auto code = static_cast<std::uint16_t>(word);
  return {static_cast<StripOp>(code >> 5),
          static_cast<Lane>(code >> 3 & 3),
          code & 7,
          static_cast<std::uint16_t>(word >> 16),
          static_cast<std::uint16_t>(word >> 32),
          static_cast<std::uint16_t>(word >> 48)};
}

// Whether operation, lane and form exist and the fields without a meaning are 0.
constexpr bool strip_exists(Word word) {
  const StripCode code = decode_strip(word);
  if (static_cast<int>(code.op) >= kNumStripOps) return false;
  const StripFacts& facts = kStripFacts[static_cast<std::size_t>(code.op)];
  if (!facts.exists || (facts.lanes >> static_cast<int>(code.lane) & 1) == 0 || code.form >= facts.forms) return false;
  if (facts.shape == StripShape::kPair && (code.form & ~facts.ones) != 0) return false;
  return word >> 16 >> (16 * facts.operands) == 0;
}

// The two instructions of a pair.
struct StripPair {
  Word first, second;
};
constexpr StripPair split_pair(Word word) {
  const StripCode code = decode_strip(word);
  const StripFacts& facts = kStripFacts[static_cast<std::size_t>(code.op)];
  const int operands = facts.first_operands;
  const Word first_operands = (word >> 16) & ((Word{1} << (16 * operands)) - 1);
  return {strip_word(facts.first, code.lane, code.form & ((1 << operands) - 1)) | first_operands << 16,
          strip_word(facts.second, code.lane, code.form >> operands) | word >> (16 * (operands + 1)) << 16};
}

// The pair that does the same as two instructions, or 0 where there is none.
constexpr Word join_pair(Word first, Word second) {
  const StripCode a = decode_strip(first), b = decode_strip(second);
#define PAIR(number, First, Second, text)                                                                 \
  if (a.op == StripOp::k##First && b.op == StripOp::k##Second) {                                          \
    const StripFacts& facts = kStripFacts[number];                                                        \
    const int form = a.form | b.form << facts.first_operands;                                             \
    const bool fits = a.form >> facts.first_operands == 0 && form < 8 && a.lane == b.lane;                \
    const Word operands = first >> 16 | second >> 16 << (16 * facts.first_operands);                      \
    const Word word = strip_word(static_cast<StripOp>(number), a.lane, fits ? form : 0) | operands << 16; \
    return fits && strip_exists(word) ? word : 0;                                                         \
  }
#include "tilewright/isa/strip_pairs.def"
#undef PAIR
  return 0;
}

constexpr DType lane_dtype(Lane lane) {
  constexpr DType kDTypes[] = {DType::kF32, DType::kI32, DType::kF64, DType::kI64};
  return kDTypes[static_cast<int>(lane)];
}

}  // namespace tilewright::isa
