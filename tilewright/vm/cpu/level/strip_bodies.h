// What the binary and ternary operations do with whole vectors, for their own handlers and those of pairs.
#pragma once

#include "tilewright/vm/cpu/level/strip_groups.h"

namespace tilewright::vm::cpu::TW_LEVEL {

template <typename T>
TW_INLINE VecOf<T> max_with_nan(VecOf<T> a, VecOf<T> b) {
  return select((MaskOf<T>)(a != a), a, max_or_second(a, b));
}
template <typename T>
TW_INLINE VecOf<T> min_with_nan(VecOf<T> a, VecOf<T> b) {
  return select((MaskOf<T>)(a != a), a, min_or_second(a, b));
}

template <StripOp op, typename T>
TW_INLINE auto binary_float(VecOf<T> a, VecOf<T> b) {
  using Vec = VecOf<T>;
  using Mask = MaskOf<T>;
  if constexpr (op == StripOp::kAdd)
    return (Vec)(a + b);
  else if constexpr (op == StripOp::kSub)
    return (Vec)(a - b);
  else if constexpr (op == StripOp::kMul)
    return (Vec)(a * b);
  else if constexpr (op == StripOp::kDiv)
    return (Vec)(a / b);
  else if constexpr (op == StripOp::kFloorDiv)
    return floor(a / b);
  else if constexpr (op == StripOp::kTruncDiv)
    return trunc(a / b);
  else if constexpr (op == StripOp::kMax)
    return max_with_nan<T>(a, b);
  else if constexpr (op == StripOp::kMin)
    return min_with_nan<T>(a, b);
  else if constexpr (op == StripOp::kFmax)
    return select((Mask)(b != b), a, max_or_second(a, b));
  else if constexpr (op == StripOp::kFmin)
    return select((Mask)(b != b), a, min_or_second(a, b));
  else if constexpr (op == StripOp::kCopySign)
    return copy_sign(a, b);
  else if constexpr (op == StripOp::kEq)
    return (Mask)(a == b);
  else if constexpr (op == StripOp::kNe)
    return (Mask)(a != b);
  else if constexpr (op == StripOp::kLt)
    return (Mask)(a < b);
  else {
    static_assert(op == StripOp::kLe, "a binary operation of float lanes without a handler");
    return (Mask)(a <= b);
  }
}

template <StripOp op, typename T>
TW_INLINE VecOf<T> binary_integer(VecOf<T> a, VecOf<T> b) {
  using Vec = VecOf<T>;
  using Unsigned = typename VectorOf<T>::Unsigned;
  constexpr int kBits = static_cast<int>(sizeof(T)) * 8;
  if constexpr (op == StripOp::kAdd)
    return (Vec)((Unsigned)a + (Unsigned)b);
  else if constexpr (op == StripOp::kSub)
    return (Vec)((Unsigned)a - (Unsigned)b);
  else if constexpr (op == StripOp::kMul)
    return (Vec)((Unsigned)a * (Unsigned)b);
  else if constexpr (op == StripOp::kMax)
    return select((Vec)(a > b), a, b);
  else if constexpr (op == StripOp::kMin)
    return select((Vec)(a < b), a, b);
  else if constexpr (op == StripOp::kBitAnd)
    return a & b;
  else if constexpr (op == StripOp::kBitOr)
    return a | b;
  else if constexpr (op == StripOp::kBitXor)
    return a ^ b;
  else if constexpr (op == StripOp::kShiftLeft) {
    const Vec fits = (Vec)((Unsigned)b < (Unsigned)splat<T>(kBits));
    return (Vec)((Unsigned)a << (Unsigned)(b & splat<T>(kBits - 1))) & fits;
  } else if constexpr (op == StripOp::kShiftRight) {
    const Vec fits = (Vec)((Unsigned)b < (Unsigned)splat<T>(kBits));
    return a >> select(fits, b, splat<T>(kBits - 1));
  } else if constexpr (op == StripOp::kEq)
    return (Vec)(a == b);
  else if constexpr (op == StripOp::kNe)
    return (Vec)(a != b);
  else if constexpr (op == StripOp::kLt)
    return (Vec)(a < b);
  else {
    static_assert(op == StripOp::kLe, "a binary operation of integer lanes without a handler");
    return (Vec)(a <= b);
  }
}

// Limits by a number that is not nan need one instruction: which operand a nan takes is known.
template <StripOp op, typename T>
TW_INLINE VecOf<T> limit(VecOf<T> x, VecOf<T> number) {
  if constexpr (op == StripOp::kMax) return max_or_second(number, x);
  if constexpr (op == StripOp::kMin) return min_or_second(number, x);
  if constexpr (op == StripOp::kFmax) return max_or_second(x, number);
  return min_or_second(x, number);
}
constexpr bool is_limit(StripOp op) {
  return op == StripOp::kMax || op == StripOp::kMin || op == StripOp::kFmax || op == StripOp::kFmin;
}

template <StripOp op, Lane lane, int form, Way way>
struct Binary {
  using T = ElementOf<lane>;
  static constexpr bool kAllOne = (form & isa::kOneOperand) != 0;
  TW_INLINE static void run(Word word, StripRun& run, std::uint64_t offset, Vectors& v) {
    const Operand<T, (form & isa::kOneOperand) != 0, way> operand(run, operand_a(word), offset);
    if constexpr (kIsFloat<lane> && is_limit(op) && (form & isa::kOneOperand) != 0) {
      const T number = load_element<T>(run.address[operand_a(word)]);
      if (number == number) [[likely]] {
        each(v, [&](f32x& x, int) TW_LAMBDA { x = (f32x)limit<op, T>((VecOf<T>)x, operand.value); });
        return;
      }
    }
    each(v, [&](f32x& x, int k) TW_LAMBDA {
      const VecOf<T> own = (VecOf<T>)x, other = operand.get(run, k);
      const VecOf<T> left = (form & isa::kReversed) != 0 ? other : own,
                     right = (form & isa::kReversed) != 0 ? own : other;
      if constexpr (kIsFloat<lane>)
        x = (f32x)binary_float<op, T>(left, right);
      else
        x = (f32x)binary_integer<op, T>(left, right);
    });
  }
};

template <StripOp op, Lane lane, int form, Way way>
struct Ternary {
  using T = ElementOf<lane>;
  static constexpr bool kAllOne = form == isa::kOneOne;
  TW_INLINE static void run(Word word, StripRun& run, std::uint64_t offset, Vectors& v) {
    const Operand<T, (form & isa::kOneStrip) != 0, way> first(run, operand_a(word), offset);
    const Operand<T, (form & isa::kStripOne) != 0, way> second(run, operand_b(word), offset);
    each(v, [&](f32x& x, int k) TW_LAMBDA {
      const VecOf<T> a = first.get(run, k), b = second.get(run, k);
      if constexpr (op == StripOp::kSelect) {
        x = (f32x)select((MaskOf<T>)x, a, b);
      } else {
        static_assert(op == StripOp::kFma, "a ternary operation without a handler");
        x = (f32x)exact_fma((VecOf<T>)x, a, b);
      }
    });
  }
};

}  // namespace tilewright::vm::cpu::TW_LEVEL
