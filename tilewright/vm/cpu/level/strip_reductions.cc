// Handlers of the Reduce operations. v stays as it is. Where the accumulator's mask is 0 the strip is folded to one
// vector at its address (a row reduction); where it is set every element has its own accumulator (a column reduction),
// in memory that is padded to whole strips.
#include "tilewright/vm/cpu/level/reduction.h"
#include "tilewright/vm/cpu/level/strip_groups.h"

namespace tilewright::vm::cpu::TW_LEVEL {
namespace {

consteval ReduceKind kind_of(StripOp op) {
  switch (op) {
    case StripOp::kAccSum:
      return ReduceKind::kSum;
    case StripOp::kAccProd:
      return ReduceKind::kProd;
    case StripOp::kAccMax:
      return ReduceKind::kMax;
    case StripOp::kAccMin:
      return ReduceKind::kMin;
    case StripOp::kAccOr:
      return ReduceKind::kOr;
    case StripOp::kAccAnd:
      return ReduceKind::kAnd;
    case StripOp::kAccSumSquare:
      return ReduceKind::kSumSquare;
    default:
      throw "a reduce operation without a handler";
  }
}

template <ReduceKind kind, typename T, bool tail>
TW_INLINE void fold(char* address, const StripRun& run, const Vectors& v) {
  const auto lane = [&](f32x x, int k) TW_LAMBDA {
    VecOf<T> value = (VecOf<T>)x;
    if constexpr (kind == ReduceKind::kSumSquare) value = value * value;
    if constexpr (tail) return keep_tail<T>(run, k, value, splat<T>(identity<kind, T>()));
    (void)k;
    return value;
  };
  const auto both = [](VecOf<T> a, VecOf<T> b) TW_LAMBDA { return combine<kind, T>(a, b); };
  const VecOf<T> first = both(both(lane(v.v0, 0), lane(v.v1, 1)), both(lane(v.v2, 2), lane(v.v3, 3)));
  const VecOf<T> second = both(both(lane(v.v4, 4), lane(v.v5, 5)), both(lane(v.v6, 6), lane(v.v7, 7)));
  store<T>(address, both(load<T>(address), both(first, second)));
}

template <StripOp op, Lane lane, bool tail>
struct Reduce {
  using T = ElementOf<lane>;
  static constexpr ReduceKind kKind = kind_of(op);
  TW_INLINE static void run(Word word, StripRun& run, std::uint64_t offset, Vectors& v) {
    const std::uint16_t a = operand_a(word);
    if (run.mask[a] == 0) {
      fold<kKind, T, tail>(run.address[a], run, v);
      return;
    }
    char* p = unit_address<T>(run, a, offset);
    each(v, [&](f32x& x, int k) TW_LAMBDA {
      VecOf<T> value = (VecOf<T>)x;
      if constexpr (kKind == ReduceKind::kSumSquare) value = value * value;
      store<T>(p + k * kVectorBytes, combine<kKind, T>(load<T>(p + k * kVectorBytes), value));
    });
  }
};

template <StripOp op, isa::StripShape shape, Lane lane>
void fill_lane(StripTables& tables) {
  tables.set(isa::strip_opcode(op, lane), handler<Reduce<op, lane, false>>, handler<Reduce<op, lane, true>>);
}

}  // namespace
TW_DEFINE_FILL_ROW(Group::kReductions)

void fill_reductions(StripTables& tables) {
#define STRIP(number, Name, text, Shape, lanes, ...) \
  fill_row<StripOp::k##Name, isa::StripShape::k##Shape, lane_bits(lanes)>(tables);
#include "tilewright/isa/strip_ops.def"
#undef STRIP
}

}  // namespace tilewright::vm::cpu::TW_LEVEL
