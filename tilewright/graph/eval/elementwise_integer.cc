// Integer and bool arithmetic in int64, one element at a time. Results wrap to the dtype when they are stored; nothing
// here overflows in the sense of the language. Bool is 0 or 1: add is or, mul is and.
#include "tilewright/graph/eval/families.h"

namespace tilewright {
namespace {

std::int64_t trunc_div(std::int64_t a, std::int64_t b) {
  if (b == 0) return 0;
  return b == -1 ? minus(std::int64_t{0}, a) : a / b;  // the smallest integer / -1 wraps to itself
}

std::int64_t remainder(std::int64_t a, std::int64_t b) {
  return b == 0 || b == -1 ? 0 : a % b;
}

std::int64_t floor_div(std::int64_t a, std::int64_t b) {
  const std::int64_t quotient = trunc_div(a, b);
  return remainder(a, b) != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

std::int64_t modulo(std::int64_t a, std::int64_t b) {
  const std::int64_t rest = remainder(a, b);
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

std::int64_t power(std::int64_t base, std::int64_t exponent) {
  if (exponent < 0) {
    if (base == 1) return 1;
    return base == -1 ? (exponent % 2 == 0 ? 1 : -1) : 0;
  }
  std::int64_t out = 1;
  for (; exponent > 0; exponent /= 2) {
    if (exponent % 2 == 1) out = times(out, base);
    base = times(base, base);
  }
  return out;
}

std::int64_t shift_left(DType dtype, std::int64_t a, std::int64_t b) {
  if (b < 0 || b >= 8 * byte_size(dtype)) return 0;
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) << b);
}

// A shift by the width or more leaves the sign.
std::int64_t shift_right(std::int64_t a, std::int64_t b) {
  return a >> (b < 0 || b > 63 ? 63 : b);
}

}  // namespace

std::int64_t integer_unary(Op op, DType dtype, std::int64_t x) {
  switch (op) {
    case Op::kNeg:
      return minus(std::int64_t{0}, x);
    case Op::kAbs:
      return x < 0 ? minus(std::int64_t{0}, x) : x;
    case Op::kSign:
      return (x > 0) - (x < 0);
    case Op::kCeil:
    case Op::kFloor:
    case Op::kRound:
    case Op::kTrunc:
      return x;
    case Op::kRelu:
      return x > 0 ? x : 0;
    case Op::kBitNot:
      return dtype == DType::kBool ? x == 0 : ~x;
    default:
      break;
  }
  TW_CHECK(false, info(op).text);
  return 0;
}

std::int64_t integer_binary(Op op, DType dtype, std::int64_t a, std::int64_t b) {
  switch (op) {
    case Op::kAdd:
      return plus(a, b);
    case Op::kSub:
      return minus(a, b);
    case Op::kMul:
      return times(a, b);
    case Op::kFloorDiv:
      return floor_div(a, b);
    case Op::kTruncDiv:
      return trunc_div(a, b);
    case Op::kMod:
      return modulo(a, b);
    case Op::kRem:
      return remainder(a, b);
    case Op::kPow:
      return power(a, b);
    case Op::kMax:
      return a > b ? a : b;
    case Op::kMin:
      return a < b ? a : b;
    case Op::kBitAnd:
      return a & b;
    case Op::kBitOr:
      return a | b;
    case Op::kBitXor:
      return a ^ b;
    case Op::kShiftLeft:
      return shift_left(dtype, a, b);
    case Op::kShiftRight:
      return shift_right(a, b);
    default:
      break;
  }
  TW_CHECK(false, info(op).text);
  return 0;
}

}  // namespace tilewright
