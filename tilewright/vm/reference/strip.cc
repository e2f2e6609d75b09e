// run_strip: cuts the positions into strips and runs every instruction of the program on each.
#include "tilewright/vm/reference/strip.h"

#include <algorithm>

namespace tilewright::vm::reference {
namespace {

void run_code(Frame& frame, isa::Word word, const Place& place, bool along_rows, Strip& v) {
  const isa::StripCode code = isa::decode_strip(word);
  switch (isa::kStripFacts[static_cast<std::size_t>(code.op)].shape) {
    case isa::StripShape::kEnd:
      return;
    case isa::StripShape::kLoad:
      return load(frame, code, place, along_rows, v);
    case isa::StripShape::kStore:
      return store(frame, code, place, along_rows, v);
    case isa::StripShape::kUnary:
      return apply_unary(code, v);
    case isa::StripShape::kBinary:
      return apply_binary(code, elements(frame, code.a, place, along_rows), v);
    case isa::StripShape::kTernary:
      return apply_ternary(code, elements(frame, code.a, place, along_rows), elements(frame, code.b, place, along_rows),
                           v);
    case isa::StripShape::kReduce:
      return reduce(frame, code, place, v);
    case isa::StripShape::kPair: {
      const isa::StripPair pair = isa::split_pair(word);
      run_code(frame, pair.first, place, along_rows, v);
      return run_code(frame, pair.second, place, along_rows, v);
    }
  }
}

}  // namespace

Elements elements(const Frame& frame, int stream, const Place& place, bool along_rows) {
  const isa::StreamHead& head = frame.at.stream(stream);
  if (head.space() == isa::Space::kLiteral) {
    return {reinterpret_cast<std::byte*>(const_cast<std::int64_t*>(&head.offset)), 0};  // the low bytes are the element
  }
  const bool by_row = along_rows && head.space() != isa::Space::kSlot;
  return {address(frame, stream, place), by_row ? head.strides()[frame.at.rank - 1] : head.inner_stride};
}

void run_strip(Frame& frame, const isa::PhaseHead& phase, const Place& place, std::int64_t count, bool along_rows) {
  std::int64_t index[isa::kMaxRank];
  std::copy_n(place.index, frame.at.rank, index);
  for (std::int64_t begin = 0; begin < count; begin += kStripElements) {
    Place here{index, place.tile_row, place.position + begin, place.tile_position + begin};
    if (along_rows) {
      index[frame.at.rank - 1] = place.index[frame.at.rank - 1] + begin;
      here = {index, place.tile_row + begin, 0, 0};
    }
    Strip v;
    v.count = std::min(kStripElements, count - begin);
    for (int i = 0; i < phase.words(); ++i) run_code(frame, phase.code()[i], here, along_rows, v);
  }
}

}  // namespace tilewright::vm::reference
