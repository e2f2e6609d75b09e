// Handlers of pairs: the second operation follows the first in the same handler, so the vectors meet one dispatch, not
// two. Each operation rounds as it does alone.
#include "tilewright/isa/strip_facts.h"
#include "tilewright/vm/cpu/level/strip_bodies.h"

namespace tilewright::vm::cpu::TW_LEVEL {
namespace {

// One operation of a pair; its operands are the next ones of the word, its form the next bits.
template <StripOp op, int form, Way way>
struct Step {
  static constexpr isa::StripShape kShape = isa::kStripFacts[static_cast<std::size_t>(op)].shape;
  TW_INLINE static void run(Word word, StripRun& run, std::uint64_t offset, Vectors& v) {
    if constexpr (kShape == isa::StripShape::kLoad) {
      static_assert(op == StripOp::kLoadF32);
      const Operand<float, false, way> operand(run, operand_a(word), offset);
      each(v, [&](f32x& x, int k) TW_LAMBDA { x = operand.get(run, k); });
    } else if constexpr (kShape == isa::StripShape::kStore) {
      static_assert(op == StripOp::kStoreF32);
      store_vectors(unit_address<float>(run, operand_a(word), offset), run.mask[operand_a(word)] != 0, run, v);
    } else if constexpr (kShape == isa::StripShape::kTernary) {
      Ternary<op, Lane::kF32, form, way>::run(word, run, offset, v);
    } else if constexpr (kShape == isa::StripShape::kBinary) {
      Binary<op, Lane::kF32, form, way>::run(word, run, offset, v);
    } else {
      static_assert(op == StripOp::kRelu);
      each(v, [&](f32x& x, int) TW_LAMBDA { x = max_or_second(f32x{}, x); });
    }
  }
  TW_INLINE static void store_vectors(char* p, bool moves, StripRun& run, Vectors& v) {
    if constexpr (way == Way::kTail) {
      each(v, [&](f32x& x, int k) TW_LAMBDA { store_tail<float>(p + k * kVectorBytes, run, k, x); });
      return;
    }
    if constexpr (way == Way::kStreaming) {
      if (reinterpret_cast<std::uintptr_t>(p) % kVectorBytes == 0 && moves) {
        each(v, [&](f32x& x, int k) TW_LAMBDA { stream_store(p + k * kVectorBytes, x); });
        return;
      }
    }
    each(v, [&](f32x& x, int k) TW_LAMBDA { store<float>(p + k * kVectorBytes, x); });
  }
};

template <StripOp pair, int form, Way way>
struct Pair {
  static constexpr isa::StripFacts kFacts = isa::kStripFacts[static_cast<std::size_t>(pair)];
  TW_INLINE static void run(Word word, StripRun& run, std::uint64_t offset, Vectors& v) {
    // What streams is the result; operands are fetched ahead all the same.
    constexpr bool kStores = kFacts.second == StripOp::kStoreF32;
    constexpr Way kSecond = way == Way::kStreaming && !kStores ? Way::kFar : way;
    Step<kFacts.first, form&((1 << kFacts.first_operands) - 1), way == Way::kStreaming ? Way::kFar : way>::run(
        word, run, offset, v);
    Step<kFacts.second, (form >> kFacts.first_operands), kSecond>::run(word >> (16 * kFacts.first_operands), run,
                                                                       offset, v);
  }
};

template <StripOp op, int form>
void set_form(StripTables& tables) {
  constexpr isa::StripFacts kFacts = isa::kStripFacts[static_cast<std::size_t>(op)];
  if constexpr ((form & ~kFacts.ones) == 0) {
    constexpr int kOpcode = isa::strip_opcode(op, Lane::kF32, form);
    constexpr Handler kPlain = handler<Pair<op, form, Way::kPlain>>;
    if constexpr (form == (1 << kFacts.operands) - 1) {  // no operand moves
      tables.set(kOpcode, kPlain);
    } else if constexpr (kFacts.second == StripOp::kStoreF32) {
      tables.set(kOpcode, kPlain, handler<Pair<op, form, Way::kTail>>, handler<Pair<op, form, Way::kFar>>,
                 handler<Pair<op, form, Way::kStreaming>>);
    } else {
      constexpr Handler kFar = handler<Pair<op, form, Way::kFar>>;
      tables.set(kOpcode, kPlain, handler<Pair<op, form, Way::kTail>>, kFar, kFar);
    }
  }
}

template <StripOp op, isa::StripShape shape, Lane lane>
void fill_lane(StripTables& tables) {
  set_form<op, 0>(tables), set_form<op, 1>(tables), set_form<op, 2>(tables), set_form<op, 3>(tables);
  set_form<op, 4>(tables), set_form<op, 5>(tables), set_form<op, 6>(tables), set_form<op, 7>(tables);
}

}  // namespace
TW_DEFINE_FILL_ROW(Group::kPairs)

void fill_pairs(StripTables& tables) {
#define STRIP(number, Name, text, Shape, lanes, ...) \
  fill_row<StripOp::k##Name, isa::StripShape::k##Shape, lane_bits(lanes)>(tables);
#include "tilewright/isa/strip_ops.def"
#undef STRIP
}

}  // namespace tilewright::vm::cpu::TW_LEVEL
