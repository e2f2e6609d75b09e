// Ops that make a tensor out of attributes: constant, scalar, iota.
#include <cmath>

#include "tilewright/graph/eval/families.h"

namespace tilewright {
namespace {

// A float becomes an integer by truncation; one that does not fit gives the smallest integer, as a cast does.
std::int64_t to_integer(const HostValue& value) {
  if (!value.is_float) return value.integer;
  return value.real >= -0x1p63 && value.real < 0x1p63 ? static_cast<std::int64_t>(value.real) : INT64_MIN;
}

Tensor scalar(DType dtype, const HostValue& value) {
  if (is_float(dtype)) return store(dtype, {}, Elements<double>{value.as_real()});
  if (dtype == DType::kBool) return store(dtype, {}, Elements<std::int64_t>{value.as_real() != 0});
  return store(dtype, {}, Elements<std::int64_t>{to_integer(value)});
}

Tensor iota(DType dtype, const Ints& sizes, std::size_t axis, const HostValue& start, const HostValue& step) {
  Tensor out;
  visit_lane(dtype, [&]<typename T>() {
    Elements<T> elements;
    for_each_index(sizes, [&](const Ints& index) {
      if constexpr (std::is_same_v<T, double>) {
        elements.push_back(start.as_real() + step.as_real() * static_cast<double>(index[axis]));
      } else {
        elements.push_back(plus(to_integer(start), times(to_integer(step), index[axis])));
      }
    });
    out = store(dtype, sizes, elements);
  });
  return out;
}

}  // namespace

Results eval_create(const EvalCall& call) {
  if (call.op == Op::kConstant) return std::vector<Tensor>{call.attrs.tensor("value").contiguous()};
  const DType dtype = call.attrs.dtype("dtype");
  if (call.op == Op::kScalar) {
    TW_ASSIGN(const HostValue value, call.symbols.value(call.attrs.dim("value")));
    return std::vector<Tensor>{scalar(dtype, value)};
  }
  TW_CHECK(call.op == Op::kIota, info(call.op).text);
  TW_ASSIGN(const Ints sizes, call.sizes("shape"));
  TW_TRY(check_sizes(sizes));
  TW_ASSIGN(const HostValue start, call.symbols.value(call.attrs.dim("start")));
  TW_ASSIGN(const HostValue step, call.symbols.value(call.attrs.dim("step")));
  return std::vector<Tensor>{iota(dtype, sizes, call.axis(), start, step)};
}

}  // namespace tilewright
