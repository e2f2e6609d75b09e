// Handlers of the operations that run lane by lane: functions that few models use, all functions of f64 (libm),
// division and powers of integers. The f32 forms of the latter compute in f64.
#include "tilewright/vm/cpu/level/lanes.h"
#include "tilewright/vm/cpu/level/special_lanes.h"
#include "tilewright/vm/cpu/level/strip_groups.h"

namespace tilewright::vm::cpu::TW_LEVEL {
namespace {

template <StripOp op>
TW_INLINE double function(double x) {
  if constexpr (op == StripOp::kExp)
    return __builtin_exp(x);
  else if constexpr (op == StripOp::kExp2)
    return __builtin_exp2(x);
  else if constexpr (op == StripOp::kExpm1)
    return __builtin_expm1(x);
  else if constexpr (op == StripOp::kLog)
    return __builtin_log(x);
  else if constexpr (op == StripOp::kLog2)
    return __builtin_log2(x);
  else if constexpr (op == StripOp::kLog10)
    return __builtin_log10(x);
  else if constexpr (op == StripOp::kLog1p)
    return __builtin_log1p(x);
  else if constexpr (op == StripOp::kSin)
    return __builtin_sin(x);
  else if constexpr (op == StripOp::kCos)
    return __builtin_cos(x);
  else if constexpr (op == StripOp::kTan)
    return __builtin_tan(x);
  else if constexpr (op == StripOp::kAsin)
    return __builtin_asin(x);
  else if constexpr (op == StripOp::kAcos)
    return __builtin_acos(x);
  else if constexpr (op == StripOp::kAtan)
    return __builtin_atan(x);
  else if constexpr (op == StripOp::kSinh)
    return __builtin_sinh(x);
  else if constexpr (op == StripOp::kCosh)
    return __builtin_cosh(x);
  else if constexpr (op == StripOp::kTanh)
    return __builtin_tanh(x);
  else if constexpr (op == StripOp::kAsinh)
    return __builtin_asinh(x);
  else if constexpr (op == StripOp::kAcosh)
    return __builtin_acosh(x);
  else if constexpr (op == StripOp::kAtanh)
    return __builtin_atanh(x);
  else if constexpr (op == StripOp::kErf)
    return __builtin_erf(x);
  else if constexpr (op == StripOp::kErfc)
    return __builtin_erfc(x);
  else if constexpr (op == StripOp::kErfinv)
    return inverse_erf(x);
  else if constexpr (op == StripOp::kLgamma)
    return log_gamma(x);
  else if constexpr (op == StripOp::kDigamma)
    return digamma(x);
  else if constexpr (op == StripOp::kSigmoid)
    return sigmoid(x);
  else if constexpr (op == StripOp::kGelu)
    return gelu(x);
  else if constexpr (op == StripOp::kGeluTanh)
    return gelu_tanh(x);
  else {
    static_assert(op == StripOp::kSilu, "a function without a handler");
    return silu(x);
  }
}

template <StripOp op, typename T>
TW_INLINE T binary(T a, T b) {
  if constexpr (op == StripOp::kPow)
    return static_cast<T>(__builtin_pow(double{a}, double{b}));
  else if constexpr (op == StripOp::kAtan2)
    return static_cast<T>(__builtin_atan2(double{a}, double{b}));
  else if constexpr (op == StripOp::kHypot)
    return static_cast<T>(__builtin_hypot(double{a}, double{b}));
  else if constexpr (op == StripOp::kNextAfter) {
    if constexpr (sizeof(T) == 4)
      return __builtin_nextafterf(a, b);
    else
      return __builtin_nextafter(a, b);
  } else {
    const T rest = sizeof(T) == 4 ? static_cast<T>(__builtin_fmodf(static_cast<float>(a), static_cast<float>(b)))
                                  : static_cast<T>(__builtin_fmod(a, b));
    if constexpr (op == StripOp::kMod) return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
    static_assert(op == StripOp::kMod || op == StripOp::kRem, "a binary function without a handler");
    return rest;
  }
}

template <StripOp op, typename T>
TW_INLINE T binary_integer(T a, T b) {
  if constexpr (op == StripOp::kFloorDiv)
    return integer_floor_div(a, b);
  else if constexpr (op == StripOp::kTruncDiv)
    return integer_trunc_div(a, b);
  else if constexpr (op == StripOp::kMod)
    return integer_mod(a, b);
  else if constexpr (op == StripOp::kRem)
    return integer_rem(a, b);
  else {
    static_assert(op == StripOp::kPow, "an integer function without a handler");
    return integer_pow(a, b);
  }
}

template <StripOp op, typename T>
struct UnaryLane {
  static T call(T x) { return static_cast<T>(function<op>(double{x})); }
};
template <StripOp op, typename T, bool is_reversed>
struct BinaryLane {
  static T call(T v, T a) {
    const T left = is_reversed ? a : v, right = is_reversed ? v : a;
    if constexpr (T(0.5) != T(0))
      return binary<op, T>(left, right);
    else
      return binary_integer<op, T>(left, right);
  }
};

template <Lane lane, bool tail>
TW_INLINE std::int64_t lanes_of(const StripRun& run) {
  return tail ? run.tail : kStripElements<lane>;
}

template <StripOp op, Lane lane, bool tail>
struct Lanewise {
  using T = ElementOf<lane>;
  TW_INLINE static void run(Word, StripRun& run, std::uint64_t, Vectors& v) {
    stage(run, v);
    change_lanes<UnaryLane<op, T>, T>(run, lanes_of<lane, tail>(run));
    unstage(run, v);
  }
};
template <StripOp op, Lane lane, int form, bool tail>
struct LanewiseBinary {
  using T = ElementOf<lane>;
  TW_INLINE static void run(Word word, StripRun& run, std::uint64_t offset, Vectors& v) {
    const Operand<T, (form & isa::kOneOperand) != 0, tail ? Way::kTail : Way::kPlain> operand(run, operand_a(word),
                                                                                              offset);
    stage(run, v);
    stage_operand(run, operand, v);
    change_lanes_with_operand<BinaryLane<op, T, (form & isa::kReversed) != 0>, T>(run, lanes_of<lane, tail>(run));
    unstage(run, v);
  }
};

template <StripOp op, Lane lane, int form>
void set_form(StripTables& tables) {
  tables.set(isa::strip_opcode(op, lane, form), handler<LanewiseBinary<op, lane, form, false>>,
             handler<LanewiseBinary<op, lane, form, true>>);
}

template <StripOp op, isa::StripShape shape, Lane lane>
void fill_lane(StripTables& tables) {
  if constexpr (shape == isa::StripShape::kBinary) {
    set_form<op, lane, 0>(tables), set_form<op, lane, 1>(tables), set_form<op, lane, 2>(tables),
        set_form<op, lane, 3>(tables);
  } else {
    tables.set(isa::strip_opcode(op, lane), handler<Lanewise<op, lane, false>>, handler<Lanewise<op, lane, true>>);
  }
}

}  // namespace
TW_DEFINE_FILL_ROW(Group::kLanewise)

void fill_lanewise(StripTables& tables) {
#define STRIP(number, Name, text, Shape, lanes, ...) \
  fill_row<StripOp::k##Name, isa::StripShape::k##Shape, lane_bits(lanes)>(tables);
#include "tilewright/isa/strip_ops.def"
#undef STRIP
}

}  // namespace tilewright::vm::cpu::TW_LEVEL
