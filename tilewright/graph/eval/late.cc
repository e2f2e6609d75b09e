// Ops whose result sizes are known only now: they bind their symbol.
#include <algorithm>
#include <numeric>

#include "tilewright/graph/eval/families.h"

namespace tilewright {
namespace {

Results nonzero(const EvalCall& call) {
  const Tensor& x = call.in[0];
  Elements<std::int64_t> out;
  visit_lane(x.dtype(), [&]<typename T>() {
    const Elements<T> elements = load<T>(x);
    std::size_t next = 0;
    for_each_index(x.sizes(), [&](const Ints& index) {
      if (elements[next++] != 0) out.insert(out.end(), index.begin(), index.end());
    });
  });
  const auto rank = static_cast<std::int64_t>(x.rank());
  // A scalar has no coordinates to count by.
  std::int64_t count = rank == 0 ? 0 : static_cast<std::int64_t>(out.size()) / rank;
  if (rank == 0) visit_lane(x.dtype(), [&]<typename T>() { count = load<T>(x)[0] != 0; });
  TW_TRY(call.symbols.meet(call.attrs.dim("count"), HostValue::of(count), "count"));
  return std::vector<Tensor>{store(DType::kI64, {count, rank}, out)};
}

Results item(const EvalCall& call) {
  const Tensor& x = call.in[0];
  if (x.count() != 1) {
    return fail(ErrorKind::kShapeMismatch, "a tensor of one element is needed, got {} elements", x.count());
  }
  const HostValue value =
      is_float(x.dtype()) ? HostValue::of(load<double>(x)[0]) : HostValue::of(load<std::int64_t>(x)[0]);
  TW_TRY(call.symbols.meet(call.attrs.dim("symbol"), value, "symbol"));
  return std::vector<Tensor>{};
}

// Every nan is a value of its own, since none equals another.
template <typename T>
Results unique(const EvalCall& call) {
  const Tensor& x = call.in[0];
  const Elements<T> elements = load<T>(x);
  std::vector<std::size_t> order(elements.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) { return before(elements[a], elements[b]); });
  Elements<T> values;
  Elements<std::int64_t> inverse(elements.size());
  Elements<std::int64_t> counts;
  for (const std::size_t at : order) {
    if (values.empty() || values.back() != elements[at]) {
      values.push_back(elements[at]);
      counts.push_back(0);
    }
    ++counts.back();
    inverse[at] = static_cast<std::int64_t>(values.size()) - 1;
  }
  const auto count = static_cast<std::int64_t>(values.size());
  TW_TRY(call.symbols.meet(call.attrs.dim("count"), HostValue::of(count), "count"));
  return std::vector<Tensor>{store(x.dtype(), {count}, values), store(DType::kI64, sizes_of(x), inverse),
                             store(DType::kI64, {count}, counts)};
}

}  // namespace

Results eval_late(const EvalCall& call) {
  switch (call.op) {
    case Op::kNonZero:
      return nonzero(call);
    case Op::kItem:
      return item(call);
    case Op::kUnique:
      return visit_lane(call.in[0].dtype(), [&]<typename T>() { return unique<T>(call); });
    default:
      break;
  }
  TW_CHECK(false, info(call.op).text);
  return std::vector<Tensor>{};
}

}  // namespace tilewright
