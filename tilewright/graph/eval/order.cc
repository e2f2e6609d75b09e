// Ops that compare the elements of a line with each other: argmax, argmin, sort, topk. A nan is larger than every
// number, except that argmin finds it first, as torch does. Equal elements keep their order.
#include <algorithm>
#include <numeric>

#include "tilewright/graph/eval/rows.h"

namespace tilewright {
namespace {

template <typename T>
Results extreme_position(const EvalCall& call) {
  const Tensor& x = call.in[0];
  const std::size_t axis = call.axis();
  const Ints axes{call.attrs.integer("axis")};
  Ints sizes = reduced_sizes(x.sizes(), axes, call.attrs.flag("keepdim"));
  if (x.sizes()[axis] == 0 && product(sizes) != 0) {
    return fail(ErrorKind::kShapeMismatch, "axis {} has no elements", axis);
  }
  const Elements<T> elements = load<T>(x);
  const bool last = call.attrs.flag("last");
  Elements<std::int64_t> out;
  for_each_line(x.sizes(), axis, [&](const Ints& line) {
    std::size_t best = 0;
    for (std::size_t i = 1; i < line.size(); ++i) {
      const T a = elements[static_cast<std::size_t>(line[best])];
      const T b = elements[static_cast<std::size_t>(line[i])];
      const bool better = is_nan(b) ? !is_nan(a) : !is_nan(a) && (call.op == Op::kArgMax ? b > a : b < a);
      const bool equal = is_nan(a) ? is_nan(b) : a == b;
      if (better || (equal && last)) best = i;
    }
    out.push_back(static_cast<std::int64_t>(best));
  });
  return std::vector<Tensor>{store(DType::kI64, std::move(sizes), out)};
}

// The first `k` of each line in order: values and positions.
template <typename T>
std::vector<Tensor> first_in_order(const EvalCall& call, std::int64_t k, bool descending) {
  const Tensor& x = call.in[0];
  const Elements<T> elements = load<T>(x);
  Ints sizes = sizes_of(x);
  sizes[call.axis()] = k;
  Tensor values(x.dtype(), sizes);
  Tensor positions(DType::kI64, sizes);
  std::vector<Ints> targets;
  for_each_line(sizes, call.axis(), [&](const Ints& line) { targets.push_back(line); });
  std::size_t next = 0;
  for_each_line(x.sizes(), call.axis(), [&](const Ints& line) {
    if (next == targets.size()) return;
    Ints order(line.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order, [&](std::int64_t a, std::int64_t b) {
      const T left = elements[static_cast<std::size_t>(line[static_cast<std::size_t>(a)])];
      const T right = elements[static_cast<std::size_t>(line[static_cast<std::size_t>(b)])];
      return descending ? before(right, left) : before(left, right);
    });
    const Ints& target = targets[next++];
    for (std::size_t i = 0; i < target.size(); ++i) {
      copy_element(x, line[static_cast<std::size_t>(order[i])], values, target[i]);
      positions.data_as<std::int64_t>()[target[i]] = order[i];
    }
  });
  return {std::move(values), std::move(positions)};
}

}  // namespace

Results eval_order(const EvalCall& call) {
  const Tensor& x = call.in[0];
  return visit_lane(x.dtype(), [&]<typename T>() -> Results {
    if (call.op == Op::kArgMax || call.op == Op::kArgMin) return extreme_position<T>(call);
    const std::int64_t size = x.sizes()[call.axis()];
    if (call.op == Op::kSort) return first_in_order<T>(call, size, call.attrs.flag("descending"));
    TW_CHECK(call.op == Op::kTopK, info(call.op).text);
    TW_ASSIGN(const std::int64_t k, call.size("k"));
    if (k < 0 || k > size) {
      return fail(ErrorKind::kIndexOutOfRange, "k = {} does not lie in axis {} of size {}", k, call.axis(), size);
    }
    return first_in_order<T>(call, k, call.attrs.flag("largest"));
  });
}

}  // namespace tilewright
