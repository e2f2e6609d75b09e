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
    default:
      return 1;
  }
}

constexpr std::uint8_t operands_of(StripShape shape) {
  switch (shape) {
    case StripShape::kEnd:
    case StripShape::kUnary:
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
  return word >> 16 >> (16 * facts.operands) == 0;
}

constexpr DType lane_dtype(Lane lane) {
  constexpr DType kDTypes[] = {DType::kF32, DType::kI32, DType::kF64, DType::kI64};
  return kDTypes[static_cast<int>(lane)];
}

}  // namespace tilewright::isa
