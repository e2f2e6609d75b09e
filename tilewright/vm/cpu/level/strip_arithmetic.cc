// Handlers of the cheap unary operations: signs, rounding, roots, predicates and conversions within the lanes.
#include "tilewright/vm/cpu/level/strip_groups.h"
#include "tilewright/vm/cpu/level/strip_memory.h"

namespace tilewright::vm::cpu::TW_LEVEL {
namespace {

template <typename T>
TW_INLINE VecOf<T> one_of() {
  return splat<T>(T{1});
}

TW_INLINE f32x round_to_f16(f32x x) {
  alignas(kVectorBytes) char half[kVectorBytes / 2];
  store_f16(half, x);
  return load_f16(half);
}

// Operations of float lanes; predicates return masks.
template <StripOp op, typename T>
TW_INLINE auto unary_float(VecOf<T> x) {
  using Vec = VecOf<T>;
  using Mask = MaskOf<T>;
  const Vec zero{};
  if constexpr (op == StripOp::kNeg)
    return (Vec)((Mask)x ^ sign_bit(splat<T>(T(-0.0))));
  else if constexpr (op == StripOp::kAbs)
    return abs(x);
  else if constexpr (op == StripOp::kSign)
    return select((Mask)(x > zero), one_of<T>(),
                  select((Mask)(x < zero), splat<T>(T{-1}), select((Mask)(x == zero), zero, x)));
  else if constexpr (op == StripOp::kCeil)
    return ceil(x);
  else if constexpr (op == StripOp::kFloor)
    return floor(x);
  else if constexpr (op == StripOp::kRound)
    return round_even(x);
  else if constexpr (op == StripOp::kTrunc)
    return trunc(x);
  else if constexpr (op == StripOp::kSqrt)
    return sqrt(x);
  else if constexpr (op == StripOp::kRsqrt)
    return (Vec)(one_of<T>() / sqrt(x));
  else if constexpr (op == StripOp::kReciprocal)
    return (Vec)(one_of<T>() / x);
  else if constexpr (op == StripOp::kRelu)
    return max_or_second(zero, x);
  else if constexpr (op == StripOp::kIsNan)
    return (Mask)(x != x);
  else if constexpr (op == StripOp::kIsInf)
    return (Mask)(abs(x) == splat<T>(T(__builtin_inf())));
  else if constexpr (op == StripOp::kIsFinite)
    return (Mask)(abs(x) < splat<T>(T(__builtin_inf())));
  else if constexpr (op == StripOp::kToMask)
    return (Mask)(x != zero);
  else if constexpr (op == StripOp::kFromMask)
    return (Vec)((Mask)x & (Mask)one_of<T>());
  else if constexpr (op == StripOp::kRoundF16)
    return round_to_f16(x);
  else if constexpr (op == StripOp::kRoundBF16)
    return round_to_bf16(x);
  else {
    static_assert(op == StripOp::kToInt, "a unary operation of float lanes without a handler");
    if constexpr (sizeof(T) == 4)
      return to_i32(x);
    else
      return to_i64(x);
  }
}

template <StripOp op, typename T>
TW_INLINE auto unary_integer(VecOf<T> x) {
  using Vec = VecOf<T>;
  using Unsigned = typename VectorOf<T>::Unsigned;
  constexpr int kBits = static_cast<int>(sizeof(T)) * 8;
  const Vec zero{};
  if constexpr (op == StripOp::kNeg)
    return (Vec)((Unsigned)zero - (Unsigned)x);
  else if constexpr (op == StripOp::kAbs)
    return (Vec)((Unsigned)(x ^ (x >> (kBits - 1))) - (Unsigned)(x >> (kBits - 1)));
  else if constexpr (op == StripOp::kSign)
    return (Vec)((Vec)(x < zero) - (Vec)(x > zero));
  else if constexpr (op == StripOp::kRelu)
    return select((Vec)(x > zero), x, zero);
  else if constexpr (op == StripOp::kNot)
    return (Vec)~x;
  else if constexpr (op == StripOp::kToMask)
    return (Vec)(x != zero);
  else if constexpr (op == StripOp::kFromMask)
    return (Vec)(x & one_of<T>());
  else if constexpr (op == StripOp::kWrapI8)
    return (Vec)((Vec)((Unsigned)x << (kBits - 8)) >> (kBits - 8));
  else if constexpr (op == StripOp::kWrapU8)
    return (Vec)(x & splat<T>(T{255}));
  else if constexpr (op == StripOp::kWrapI16)
    return (Vec)((Vec)((Unsigned)x << (kBits - 16)) >> (kBits - 16));
  else {
    static_assert(op == StripOp::kToFloat, "a unary operation of integer lanes without a handler");
    if constexpr (sizeof(T) == 4)
      return to_f32(x);
    else
      return to_f64(x);
  }
}

template <StripOp op, Lane lane>
struct Unary {
  using T = ElementOf<lane>;
  TW_INLINE static void run(Word, StripRun&, std::uint64_t, Vectors& v) {
    each(v, [&](f32x& x, int) TW_LAMBDA {
      if constexpr (kIsFloat<lane>)
        x = (f32x)unary_float<op, T>((VecOf<T>)x);
      else
        x = (f32x)unary_integer<op, T>((VecOf<T>)x);
    });
  }
};

template <StripOp op, isa::StripShape shape, Lane lane>
void fill_lane(StripTables& tables) {
  tables.set(isa::strip_opcode(op, lane), handler<Unary<op, lane>>);
}

}  // namespace
TW_DEFINE_FILL_ROW(Group::kArithmetic)

void fill_arithmetic(StripTables& tables) {
#define STRIP(number, Name, text, Shape, lanes, ...) \
  fill_row<StripOp::k##Name, isa::StripShape::k##Shape, lane_bits(lanes)>(tables);
#include "tilewright/isa/strip_ops.def"
#undef STRIP
}

}  // namespace tilewright::vm::cpu::TW_LEVEL
