// Float arithmetic in double, one element at a time. Results round to the dtype when they are stored.
#include <cmath>
#include <cstdint>
#include <limits>

#include "tilewright/graph/eval/families.h"
#include "tilewright/graph/eval/special.h"

namespace tilewright {
namespace {

double sign(double x) {
  return std::isnan(x) ? x : static_cast<double>((x > 0) - (x < 0));
}

double round_to_even(double x) {
  return std::nearbyint(x);
}  // the default rounding mode is to even

double sigmoid(double x) {
  // exp of a negative number never overflows.
  if (x >= 0) return 1 / (1 + std::exp(-x));
  const double e = std::exp(x);
  return e / (1 + e);
}

double maximum(double a, double b) {
  if (std::isnan(a)) return a;
  return std::isnan(b) || b > a ? b : a;
}

double minimum(double a, double b) {
  if (std::isnan(a)) return a;
  return std::isnan(b) || b < a ? b : a;
}

double modulo(double a, double b) {
  const double rest = std::fmod(a, b);
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

// The float of `dtype` next to a in the direction of b: one step of the bits, which are ordered as the values are.
template <typename T, typename Bits>
double next_after(double from, double towards) {
  if (std::isnan(from) || std::isnan(towards)) return std::numeric_limits<double>::quiet_NaN();
  if (from == towards) return towards;
  Bits bits = std::bit_cast<Bits>(T(static_cast<float>(from)));
  constexpr Bits kSign = static_cast<Bits>(Bits(1) << (8 * sizeof(Bits) - 1));
  if (from == 0) {
    bits = static_cast<Bits>((towards < 0 ? kSign : 0) | 1);
  } else if ((from < towards) == (from > 0)) {
    ++bits;
  } else {
    --bits;
  }
  return static_cast<double>(static_cast<float>(std::bit_cast<T>(bits)));
}

double next_after(DType dtype, double from, double towards) {
  switch (dtype) {
    case DType::kF16:
      return next_after<Half, std::uint16_t>(from, towards);
    case DType::kBF16:
      return next_after<BFloat16, std::uint16_t>(from, towards);
    case DType::kF32:
      return std::nextafter(static_cast<float>(from), static_cast<float>(towards));
    default:
      return std::nextafter(from, towards);
  }
}

}  // namespace

double float_unary(Op op, double x) {
  switch (op) {
    case Op::kNeg:
      return -x;
    case Op::kAbs:
      return std::fabs(x);
    case Op::kSign:
      return sign(x);
    case Op::kCeil:
      return std::ceil(x);
    case Op::kFloor:
      return std::floor(x);
    case Op::kRound:
      return round_to_even(x);
    case Op::kTrunc:
      return std::trunc(x);
    case Op::kSqrt:
      return std::sqrt(x);
    case Op::kRsqrt:
      return 1 / std::sqrt(x);
    case Op::kReciprocal:
      return 1 / x;
    case Op::kExp:
      return std::exp(x);
    case Op::kExp2:
      return std::exp2(x);
    case Op::kExpm1:
      return std::expm1(x);
    case Op::kLog:
      return std::log(x);
    case Op::kLog2:
      return std::log2(x);
    case Op::kLog10:
      return std::log10(x);
    case Op::kLog1p:
      return std::log1p(x);
    case Op::kSin:
      return std::sin(x);
    case Op::kCos:
      return std::cos(x);
    case Op::kTan:
      return std::tan(x);
    case Op::kAsin:
      return std::asin(x);
    case Op::kAcos:
      return std::acos(x);
    case Op::kAtan:
      return std::atan(x);
    case Op::kSinh:
      return std::sinh(x);
    case Op::kCosh:
      return std::cosh(x);
    case Op::kTanh:
      return std::tanh(x);
    case Op::kAsinh:
      return std::asinh(x);
    case Op::kAcosh:
      return std::acosh(x);
    case Op::kAtanh:
      return std::atanh(x);
    case Op::kErf:
      return std::erf(x);
    case Op::kErfc:
      return std::erfc(x);
    case Op::kErfinv:
      return erfinv(x);
    case Op::kLgamma:
      return lgamma(x);
    case Op::kDigamma:
      return digamma(x);
    case Op::kSigmoid:
      return sigmoid(x);
    case Op::kRelu:
      return std::isnan(x) || x > 0 ? x : 0;
    default:
      break;
  }
  TW_CHECK(false, info(op).text);
  return 0;
}

double float_binary(Op op, DType dtype, double a, double b) {
  switch (op) {
    case Op::kAdd:
      return a + b;
    case Op::kSub:
      return a - b;
    case Op::kMul:
      return a * b;
    case Op::kDiv:
      return a / b;
    case Op::kFloorDiv:
      return std::floor(round_to(dtype, a / b));
    case Op::kTruncDiv:
      return std::trunc(round_to(dtype, a / b));
    case Op::kMod:
      return modulo(a, b);
    case Op::kRem:
      return std::fmod(a, b);
    case Op::kPow:
      return std::pow(a, b);
    case Op::kMax:
      return maximum(a, b);
    case Op::kMin:
      return minimum(a, b);
    case Op::kFmax:
      return std::fmax(a, b);
    case Op::kFmin:
      return std::fmin(a, b);
    case Op::kAtan2:
      return std::atan2(a, b);
    case Op::kHypot:
      return std::hypot(a, b);
    case Op::kCopySign:
      return std::copysign(a, b);
    case Op::kNextAfter:
      return next_after(dtype, a, b);
    default:
      break;
  }
  TW_CHECK(false, info(op).text);
  return 0;
}

}  // namespace tilewright
