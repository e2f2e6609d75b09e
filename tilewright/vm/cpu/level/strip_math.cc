// Handlers of the elementary functions of f32, eight vectors at a time. Strips with lanes that the vector form does not
// serve (angles beyond kLargeAngle, powers of 0, inf or nan) go to libm, lane by lane; they are rare.
#include "tilewright/vm/cpu/level/lanes.h"
#include "tilewright/vm/cpu/level/math_f32.h"
#include "tilewright/vm/cpu/level/strip_groups.h"

namespace tilewright::vm::cpu::TW_LEVEL {
namespace {

template <StripOp op>
TW_INLINE f32x function(f32x x) {
  if constexpr (op == StripOp::kExp)
    return exp(x);
  else if constexpr (op == StripOp::kExp2)
    return exp2(x);
  else if constexpr (op == StripOp::kExpm1)
    return expm1(x);
  else if constexpr (op == StripOp::kLog)
    return log(x);
  else if constexpr (op == StripOp::kLog2)
    return log2(x);
  else if constexpr (op == StripOp::kLog10)
    return log10(x);
  else if constexpr (op == StripOp::kLog1p)
    return log1p(x);
  else if constexpr (op == StripOp::kTanh)
    return tanh(x);
  else if constexpr (op == StripOp::kErf)
    return erf(x);
  else if constexpr (op == StripOp::kSigmoid)
    return sigmoid(x);
  else if constexpr (op == StripOp::kGelu)
    return gelu(x);
  else if constexpr (op == StripOp::kGeluTanh)
    return gelu_tanh(x);
  else {
    static_assert(op == StripOp::kSilu, "a vector function without a handler");
    return silu(x);
  }
}

template <StripOp op>
struct Math {
  TW_INLINE static void run(Word, StripRun&, std::uint64_t, Vectors& v) {
    each(v, [&](f32x& x, int) TW_LAMBDA { x = function<op>(x); });
  }
};

struct SineLane {
  static float call(float x) { return __builtin_sinf(x); }
};
struct CosineLane {
  static float call(float x) { return __builtin_cosf(x); }
};
template <bool is_reversed>
struct PowerLane {
  static float call(float v, float a) { return is_reversed ? __builtin_powf(a, v) : __builtin_powf(v, a); }
};

template <StripOp op>
struct Angle {
  static constexpr bool kCosine = op == StripOp::kCos;
  TW_INLINE static void run(Word, StripRun& run, std::uint64_t, Vectors& v) {
    i32x small = ~i32x{};
    each(v, [&](f32x& x, int) TW_LAMBDA { small &= (i32x)(abs(x) < f32(kLargeAngle)); });
    if (any(~small)) [[unlikely]] {
      stage(run, v);
      if constexpr (kCosine)
        change_lanes<CosineLane, float>(run, kStripElements<Lane::kF32>);
      else
        change_lanes<SineLane, float>(run, kStripElements<Lane::kF32>);
      unstage(run, v);
      return;
    }
    each(v, [&](f32x& x, int) TW_LAMBDA { x = sin_or_cos<kCosine>(x); });
  }
};

template <StripOp op, Lane, int form, Way way>
struct Power {
  static constexpr bool kIsReversed = (form & isa::kReversed) != 0;
  TW_INLINE static void run(Word word, StripRun& run, std::uint64_t offset, Vectors& v) {
    const Operand<float, (form & isa::kOneOperand) != 0, way> operand(run, operand_a(word), offset);
    i32x special{};
    each(v, [&](f32x& x, int k) TW_LAMBDA {
      const f32x other = operand.get(run, k);
      special |= kIsReversed ? pow_is_special(other, x) : pow_is_special(x, other);
    });
    if (any(special)) [[unlikely]] {
      stage(run, v);
      stage_operand(run, operand, v);
      change_lanes_with_operand<PowerLane<kIsReversed>, float>(run, kStripElements<Lane::kF32>);
      unstage(run, v);
      return;
    }
    each(v, [&](f32x& x, int k) TW_LAMBDA {
      const f32x other = operand.get(run, k);
      x = kIsReversed ? pow_of_ordinary(other, x) : pow_of_ordinary(x, other);
    });
  }
};

template <StripOp op, Lane lane, int form>
void set_power(StripTables& tables) {
  tables.set(isa::strip_opcode(op, lane, form), handler<Power<op, lane, form, Way::kPlain>>,
             handler<Power<op, lane, form, Way::kTail>>);
}

template <StripOp op, isa::StripShape shape, Lane lane>
void fill_lane(StripTables& tables) {
  if constexpr (op == StripOp::kPow) {
    set_power<op, lane, 0>(tables), set_power<op, lane, 1>(tables), set_power<op, lane, 2>(tables),
        set_power<op, lane, 3>(tables);
  } else if constexpr (op == StripOp::kSin || op == StripOp::kCos) {
    tables.set(isa::strip_opcode(op, lane), handler<Angle<op>>);
  } else {
    tables.set(isa::strip_opcode(op, lane), handler<Math<op>>);
  }
}

}  // namespace
TW_DEFINE_FILL_ROW(Group::kMath)

void fill_math(StripTables& tables) {
#define STRIP(number, Name, text, Shape, lanes, ...) \
  fill_row<StripOp::k##Name, isa::StripShape::k##Shape, lane_bits(lanes)>(tables);
#include "tilewright/isa/strip_ops.def"
#undef STRIP
}

}  // namespace tilewright::vm::cpu::TW_LEVEL
