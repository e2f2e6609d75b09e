// Elementwise ops: broadcasts the inputs and applies the arithmetic of the lane to each element. Predicates give bool;
// select copies bits, so nan payloads survive.
#include <cmath>

#include "tilewright/graph/eval/families.h"

namespace tilewright {
namespace {

bool is_comparison(Op op) {
  return op == Op::kEq || op == Op::kNe || op == Op::kLt || op == Op::kLe || op == Op::kGt || op == Op::kGe;
}

template <typename T>
bool compare(Op op, T a, T b) {
  switch (op) {
    case Op::kEq:
      return a == b;
    case Op::kNe:
      return a != b;
    case Op::kLt:
      return a < b;
    case Op::kLe:
      return a <= b;
    case Op::kGt:
      return a > b;
    default:
      return a >= b;
  }
}

bool is_predicate(Op op) {
  return op == Op::kLogicalNot || op == Op::kIsNan || op == Op::kIsInf || op == Op::kIsFinite;
}

template <typename T>
bool predicate(Op op, T x) {
  const auto real = static_cast<double>(x);
  switch (op) {
    case Op::kIsNan:
      return std::isnan(real);
    case Op::kIsInf:
      return std::isinf(real);
    case Op::kIsFinite:
      return std::isfinite(real);
    default:
      return x == 0;
  }
}

template <typename T>
Tensor unary(Op op, const Tensor& x) {
  Elements<T> elements = load<T>(x);
  if (is_predicate(op)) {
    Elements<std::int64_t> out;
    for (const T value : elements) out.push_back(predicate(op, value));
    return store(DType::kBool, sizes_of(x), out);
  }
  for (T& value : elements) {
    if constexpr (std::is_same_v<T, double>) {
      value = float_unary(op, value);
    } else {
      value = integer_unary(op, x.dtype(), value);
    }
  }
  return store(x.dtype(), sizes_of(x), elements);
}

template <typename T>
Tensor binary(Op op, const Tensor& a, const Tensor& b) {
  Elements<T> left = load<T>(a);
  const Elements<T> right = load<T>(b);
  if (is_comparison(op)) {
    Elements<std::int64_t> out;
    for (std::size_t i = 0; i < left.size(); ++i) out.push_back(compare(op, left[i], right[i]));
    return store(DType::kBool, sizes_of(a), out);
  }
  for (std::size_t i = 0; i < left.size(); ++i) {
    if constexpr (std::is_same_v<T, double>) {
      left[i] = float_binary(op, a.dtype(), left[i], right[i]);
    } else {
      left[i] = integer_binary(op, a.dtype(), left[i], right[i]);
    }
  }
  return store(a.dtype(), sizes_of(a), left);
}

// The integer that truncating gives. What does not fit is the smallest integer of the width, as on x86.
std::int64_t truncate(double value, DType to) {
  const double limit = byte_size(to) == 8 ? 0x1p63 : 0x1p31;
  const double whole = std::trunc(value);
  if (whole >= -limit && whole < limit) return static_cast<std::int64_t>(whole);
  return byte_size(to) == 8 ? INT64_MIN : INT32_MIN;
}

Tensor cast(const Tensor& x, DType to) {
  if (is_float(x.dtype())) {
    const Elements<double> elements = load<double>(x);
    if (is_float(to)) return store(to, sizes_of(x), elements);
    Elements<std::int64_t> out;
    for (const double value : elements) out.push_back(to == DType::kBool ? value != 0 : truncate(value, to));
    return store(to, sizes_of(x), out);
  }
  const Elements<std::int64_t> elements = load<std::int64_t>(x);
  if (!is_float(to)) return store(to, sizes_of(x), elements);
  Elements<double> out;
  for (const std::int64_t value : elements) {
    // Rounded once: an i64 that becomes f32 must not be rounded to double on the way.
    out.push_back(to == DType::kF64 ? static_cast<double>(value) : static_cast<double>(static_cast<float>(value)));
  }
  return store(to, sizes_of(x), out);
}

Tensor select(const Tensor& condition, const Tensor& a, const Tensor& b) {
  const Tensor if_true = a.contiguous();
  const Tensor if_false = b.contiguous();
  const Elements<std::int64_t> chosen = load<std::int64_t>(condition);
  Tensor out(a.dtype(), sizes_of(a));
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    const auto element = static_cast<std::int64_t>(i);
    copy_element(chosen[i] != 0 ? if_true : if_false, element, out, element);
  }
  return out;
}

}  // namespace

Results eval_elementwise(const EvalCall& call) {
  if (call.op == Op::kCast) return std::vector<Tensor>{cast(call.in[0], call.attrs.dtype("dtype"))};
  if (call.in.size() == 1) {
    return std::vector<Tensor>{
        visit_lane(call.in[0].dtype(), [&]<typename T>() { return unary<T>(call.op, call.in[0]); })};
  }
  TW_ASSIGN(const Ints sizes, broadcast_sizes(call.in));
  std::vector<Tensor> in;
  for (const Tensor& tensor : call.in) {
    TW_ASSIGN(Tensor expanded, expand(tensor, sizes));
    in.push_back(std::move(expanded));
  }
  if (call.op == Op::kSelect) return std::vector<Tensor>{select(in[0], in[1], in[2])};
  return std::vector<Tensor>{visit_lane(in[0].dtype(), [&]<typename T>() { return binary<T>(call.op, in[0], in[1]); })};
}

}  // namespace tilewright
