// Operations with operands: Binary and Ternary, for each lane type.
#include "tilewright/isa/scalar_semantics.h"
#include "tilewright/vm/reference/strip.h"

namespace tilewright::vm::reference {
namespace {

using isa::StripOp;

// v = f(v, a), or f(a, v) in the reversed forms.
template <typename L, typename F>
void each(const isa::StripCode& code, const Elements& a, Strip& v, F f) {
  const bool reversed = (code.form & isa::kReversed) != 0;
  for (std::int64_t i = 0; i < v.count; ++i) {
    const L left = v.get<L>(i);
    const L right = a.get<L>(i);
    v.set<L>(i, reversed ? f(right, left) : f(left, right));
  }
}

template <typename L, typename F>
void compare(const isa::StripCode& code, const Elements& a, Strip& v, F f) {
  const bool reversed = (code.form & isa::kReversed) != 0;
  for (std::int64_t i = 0; i < v.count; ++i) {
    const L left = v.get<L>(i);
    const L right = a.get<L>(i);
    set_mask<L>(v, i, reversed ? f(right, left) : f(left, right));
  }
}

template <typename L>
void binary_real(const isa::StripCode& code, const Elements& a, Strip& v) {
  switch (code.op) {
    case StripOp::kAdd:
      return each<L>(code, a, v, [](L x, L y) { return x + y; });
    case StripOp::kSub:
      return each<L>(code, a, v, [](L x, L y) { return x - y; });
    case StripOp::kMul:
      return each<L>(code, a, v, [](L x, L y) { return x * y; });
    case StripOp::kDiv:
      return each<L>(code, a, v, [](L x, L y) { return x / y; });
    case StripOp::kPow:
      return each<L>(code, a, v, [](L x, L y) { return static_cast<L>(std::pow(double{x}, double{y})); });
    case StripOp::kFmax:
      return each<L>(code, a, v, [](L x, L y) { return std::isnan(x) ? y : std::isnan(y) ? x : isa::larger(x, y); });
    case StripOp::kFmin:
      return each<L>(code, a, v, [](L x, L y) { return std::isnan(x) ? y : std::isnan(y) ? x : isa::smaller(x, y); });
    case StripOp::kAtan2:
      return each<L>(code, a, v, [](L x, L y) { return static_cast<L>(std::atan2(double{x}, double{y})); });
    case StripOp::kHypot:
      return each<L>(code, a, v, [](L x, L y) { return static_cast<L>(std::hypot(double{x}, double{y})); });
    case StripOp::kCopySign:
      return each<L>(code, a, v, [](L x, L y) { return std::copysign(x, y); });
    case StripOp::kNextAfter:
      return each<L>(code, a, v, [](L x, L y) { return std::nextafter(x, y); });
    default:
      check_failed("the operation exists", __FILE__, __LINE__, "binary, float lane");
  }
}

template <typename L>
void binary_integer(const isa::StripCode& code, const Elements& a, Strip& v) {
  switch (code.op) {
    case StripOp::kAdd:
      return each<L>(code, a, v, isa::wrapping_add<L>);
    case StripOp::kSub:
      return each<L>(code, a, v, isa::wrapping_sub<L>);
    case StripOp::kMul:
      return each<L>(code, a, v, isa::wrapping_mul<L>);
    case StripOp::kPow:
      return each<L>(code, a, v, isa::power<L>);
    case StripOp::kBitAnd:
      return each<L>(code, a, v, [](L x, L y) { return x & y; });
    case StripOp::kBitOr:
      return each<L>(code, a, v, [](L x, L y) { return x | y; });
    case StripOp::kBitXor:
      return each<L>(code, a, v, [](L x, L y) { return x ^ y; });
    case StripOp::kShiftLeft:
      return each<L>(code, a, v, isa::shift_left<L>);
    case StripOp::kShiftRight:
      return each<L>(code, a, v, isa::shift_right<L>);
    default:
      check_failed("the operation exists", __FILE__, __LINE__, "binary, integer lane");
  }
}

}  // namespace

void apply_binary(const isa::StripCode& code, const Elements& a, Strip& v) {
  visit_lane(code.lane, [&]<typename L>() {
    switch (code.op) {
      case StripOp::kFloorDiv:
        return each<L>(code, a, v, [](L x, L y) { return isa::floor_div(x, y); });
      case StripOp::kTruncDiv:
        return each<L>(code, a, v, [](L x, L y) { return isa::trunc_div(x, y); });
      case StripOp::kMod:
        return each<L>(code, a, v, [](L x, L y) { return isa::mod(x, y); });
      case StripOp::kRem:
        return each<L>(code, a, v, [](L x, L y) { return isa::rem(x, y); });
      case StripOp::kMax:
        return each<L>(code, a, v, [](L x, L y) { return isa::larger(x, y); });
      case StripOp::kMin:
        return each<L>(code, a, v, [](L x, L y) { return isa::smaller(x, y); });
      case StripOp::kEq:
        return compare<L>(code, a, v, [](L x, L y) { return x == y; });
      case StripOp::kNe:
        return compare<L>(code, a, v, [](L x, L y) { return x != y; });
      case StripOp::kLt:
        return compare<L>(code, a, v, [](L x, L y) { return x < y; });
      case StripOp::kLe:
        return compare<L>(code, a, v, [](L x, L y) { return x <= y; });
      default:
        break;
    }
    if constexpr (std::is_floating_point_v<L>) {
      binary_real<L>(code, a, v);
    } else {
      binary_integer<L>(code, a, v);
    }
  });
}

void apply_ternary(const isa::StripCode& code, const Elements& a, const Elements& b, Strip& v) {
  visit_lane(code.lane, [&]<typename L>() {
    for (std::int64_t i = 0; i < v.count; ++i) {
      if (code.op == StripOp::kSelect) {
        v.set<L>(i, v.get<IntegerOf<L>>(i) != 0 ? a.get<L>(i) : b.get<L>(i));
      } else if constexpr (std::is_floating_point_v<L>) {
        v.set<L>(i, std::fma(v.get<L>(i), a.get<L>(i), b.get<L>(i)));
      }
    }
  });
}

}  // namespace tilewright::vm::reference
