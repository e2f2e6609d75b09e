// Handlers of the operations with operands in memory that run on whole vectors: binary arithmetic, comparisons, bits,
// select and fused multiply-add, in every form.
#include "tilewright/vm/cpu/level/strip_bodies.h"

namespace tilewright::vm::cpu::TW_LEVEL {
namespace {

template <StripOp op, Lane lane, int form, template <StripOp, Lane, int, Way> typename Body>
void set_form(StripTables& tables) {
  constexpr bool kAllOne = Body<op, lane, form, Way::kPlain>::kAllOne;
  constexpr Handler plain = handler<Body<op, lane, form, Way::kPlain>>;
  if constexpr (kAllOne) {
    tables.set(isa::strip_opcode(op, lane, form), plain);
  } else {
    constexpr Handler far = handler<Body<op, lane, form, Way::kFar>>;
    tables.set(isa::strip_opcode(op, lane, form), plain, handler<Body<op, lane, form, Way::kTail>>, far, far);
  }
}

template <StripOp op, isa::StripShape shape, Lane lane>
void fill_lane(StripTables& tables) {
  if constexpr (shape == isa::StripShape::kTernary) {
    set_form<op, lane, 0, Ternary>(tables), set_form<op, lane, 1, Ternary>(tables);
    set_form<op, lane, 2, Ternary>(tables), set_form<op, lane, 3, Ternary>(tables);
  } else {
    set_form<op, lane, 0, Binary>(tables), set_form<op, lane, 1, Binary>(tables);
    set_form<op, lane, 2, Binary>(tables), set_form<op, lane, 3, Binary>(tables);
  }
}

}  // namespace
TW_DEFINE_FILL_ROW(Group::kOperands)

void fill_operands(StripTables& tables) {
#define STRIP(number, Name, text, Shape, lanes, ...) \
  fill_row<StripOp::k##Name, isa::StripShape::k##Shape, lane_bits(lanes)>(tables);
#include "tilewright/isa/strip_ops.def"
#undef STRIP
}

}  // namespace tilewright::vm::cpu::TW_LEVEL
