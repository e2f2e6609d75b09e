// Unary operations. Functions that round are computed in f64 and rounded to the lane.
#include <numbers>

#include "tilewright/isa/scalar_semantics.h"
#include "tilewright/vm/reference/special_functions.h"
#include "tilewright/vm/reference/strip.h"

namespace tilewright::vm::reference {
namespace {

using isa::StripOp;

// In extended precision: an error of the argument of exp or erfc is one of the result many times over.
using Wide = long double;

Wide wide_sigmoid(Wide x) {
  return 1 / (1 + std::exp(-x));
}
double sigmoid(double x) {
  return static_cast<double>(wide_sigmoid(x));
}
double silu(double x) {
  return static_cast<double>(x * wide_sigmoid(x));
}
double gelu(double x) {
  return static_cast<double>(x * std::erfc(-x * std::numbers::sqrt2_v<Wide> / 2) / 2);
}
// x * (1 + tanh(u)) / 2 = x / (1 + e ** -2u), which does not cancel for small results.
double gelu_tanh(double x) {
  const Wide wide = x;
  return static_cast<double>(
      x * wide_sigmoid(std::sqrt(8 / std::numbers::pi_v<Wide>) * (wide + 0.044715L * wide * wide * wide)));
}

// The function of an operation that is computed in f64; null for the others.
using Function = double (*)(double);
Function function_of(StripOp op) {
  switch (op) {
    case StripOp::kRsqrt:
      return [](double x) { return 1 / std::sqrt(x); };
    case StripOp::kReciprocal:
      return [](double x) { return 1 / x; };
    case StripOp::kSqrt:
      return [](double x) { return std::sqrt(x); };
    case StripOp::kExp:
      return [](double x) { return std::exp(x); };
    case StripOp::kExp2:
      return [](double x) { return std::exp2(x); };
    case StripOp::kExpm1:
      return [](double x) { return std::expm1(x); };
    case StripOp::kLog:
      return [](double x) { return std::log(x); };
    case StripOp::kLog2:
      return [](double x) { return std::log2(x); };
    case StripOp::kLog10:
      return [](double x) { return std::log10(x); };
    case StripOp::kLog1p:
      return [](double x) { return std::log1p(x); };
    case StripOp::kSin:
      return [](double x) { return std::sin(x); };
    case StripOp::kCos:
      return [](double x) { return std::cos(x); };
    case StripOp::kTan:
      return [](double x) { return std::tan(x); };
    case StripOp::kAsin:
      return [](double x) { return std::asin(x); };
    case StripOp::kAcos:
      return [](double x) { return std::acos(x); };
    case StripOp::kAtan:
      return [](double x) { return std::atan(x); };
    case StripOp::kSinh:
      return [](double x) { return std::sinh(x); };
    case StripOp::kCosh:
      return [](double x) { return std::cosh(x); };
    case StripOp::kTanh:
      return [](double x) { return std::tanh(x); };
    case StripOp::kAsinh:
      return [](double x) { return std::asinh(x); };
    case StripOp::kAcosh:
      return [](double x) { return std::acosh(x); };
    case StripOp::kAtanh:
      return [](double x) { return std::atanh(x); };
    case StripOp::kErf:
      return [](double x) { return std::erf(x); };
    case StripOp::kErfc:
      return [](double x) { return std::erfc(x); };
    case StripOp::kErfinv:
      return inverse_erf;
    case StripOp::kLgamma:
      return log_gamma;
    case StripOp::kDigamma:
      return digamma;
    case StripOp::kSigmoid:
      return sigmoid;
    case StripOp::kGelu:
      return gelu;
    case StripOp::kGeluTanh:
      return gelu_tanh;
    case StripOp::kSilu:
      return silu;
    default:
      return nullptr;
  }
}

template <typename L, typename F>
void each(Strip& v, F f) {
  for (std::int64_t i = 0; i < v.count; ++i) v.set<L>(i, f(v.get<L>(i)));
}
template <typename L, typename F>
void test(Strip& v, F f) {
  for (std::int64_t i = 0; i < v.count; ++i) set_mask<L>(v, i, f(v.get<L>(i)));
}

template <typename L>
void unary_real(StripOp op, Strip& v) {
  if (const Function function = function_of(op)) return each<L>(v, [&](L x) { return static_cast<L>(function(x)); });
  switch (op) {
    case StripOp::kNeg:
      return each<L>(v, [](L x) { return -x; });
    case StripOp::kAbs:
      return each<L>(v, [](L x) { return std::fabs(x); });
    case StripOp::kSign:
      return each<L>(v, [](L x) { return std::isnan(x) ? x : static_cast<L>((x > 0) - (x < 0)); });
    case StripOp::kCeil:
      return each<L>(v, [](L x) { return std::ceil(x); });
    case StripOp::kFloor:
      return each<L>(v, [](L x) { return std::floor(x); });
    case StripOp::kRound:
      return each<L>(v, [](L x) { return std::nearbyint(x); });
    case StripOp::kTrunc:
      return each<L>(v, [](L x) { return std::trunc(x); });
    case StripOp::kRelu:
      return each<L>(v, [](L x) { return x > 0 || std::isnan(x) ? x : L{0}; });
    case StripOp::kIsNan:
      return test<L>(v, [](L x) { return std::isnan(x); });
    case StripOp::kIsInf:
      return test<L>(v, [](L x) { return std::isinf(x); });
    case StripOp::kIsFinite:
      return test<L>(v, [](L x) { return std::isfinite(x); });
    case StripOp::kRoundF16:
      return each<L>(v, [](L x) { return static_cast<L>(float{Half(static_cast<float>(x))}); });
    case StripOp::kRoundBF16:
      return each<L>(v, [](L x) { return static_cast<L>(float{BFloat16(static_cast<float>(x))}); });
    case StripOp::kToInt:
      for (std::int64_t i = 0; i < v.count; ++i) v.set(i, isa::truncate_to<IntegerOf<L>>(v.get<L>(i)));
      return;
    default:
      check_failed("the operation exists", __FILE__, __LINE__, "unary, float lane");
  }
}

template <typename L>
void unary_integer(StripOp op, Strip& v) {
  switch (op) {
    case StripOp::kNeg:
      return each<L>(v, [](L x) { return isa::wrapping_sub(L{0}, x); });
    case StripOp::kAbs:
      return each<L>(v, [](L x) { return x < 0 ? isa::wrapping_sub(L{0}, x) : x; });
    case StripOp::kSign:
      return each<L>(v, [](L x) { return static_cast<L>((x > 0) - (x < 0)); });
    case StripOp::kRelu:
      return each<L>(v, [](L x) { return x > 0 ? x : L{0}; });
    case StripOp::kNot:
      return each<L>(v, [](L x) { return ~x; });
    case StripOp::kWrapI8:
      return each<L>(v, [](L x) { return L{static_cast<std::int8_t>(x)}; });
    case StripOp::kWrapU8:
      return each<L>(v, [](L x) { return L{static_cast<std::uint8_t>(x)}; });
    case StripOp::kWrapI16:
      return each<L>(v, [](L x) { return L{static_cast<std::int16_t>(x)}; });
    case StripOp::kToFloat:
      for (std::int64_t i = 0; i < v.count; ++i) v.set(i, static_cast<RealOf<L>>(v.get<L>(i)));
      return;
    default:
      check_failed("the operation exists", __FILE__, __LINE__, "unary, integer lane");
  }
}

}  // namespace

void apply_unary(const isa::StripCode& code, Strip& v) {
  visit_lane(code.lane, [&]<typename L>() {
    if (code.op == StripOp::kToMask) return test<L>(v, [](L x) { return x != 0; });
    if (code.op == StripOp::kFromMask) {
      for (std::int64_t i = 0; i < v.count; ++i) v.set<L>(i, v.get<IntegerOf<L>>(i) != 0 ? L{1} : L{0});
      return;
    }
    if constexpr (std::is_floating_point_v<L>) {
      unary_real<L>(code.op, v);
    } else {
      unary_integer<L>(code.op, v);
    }
  });
}

}  // namespace tilewright::vm::reference
