// Reductions over any set of axes, and running reductions. Float sums and products are carried in double and rounded
// once per element that is stored.
#include <algorithm>

#include "tilewright/graph/eval/rows.h"

namespace tilewright {

Ints reduced_sizes(std::span<const std::int64_t> sizes, const Ints& axes, bool keepdim) {
  Ints out;
  for (std::size_t axis = 0; axis < sizes.size(); ++axis) {
    if (std::ranges::find(axes, static_cast<std::int64_t>(axis)) == axes.end()) {
      out.push_back(sizes[axis]);
    } else if (keepdim) {
      out.push_back(1);
    }
  }
  return out;
}

namespace {

// What a reduction of nothing gives.
template <typename T>
T initial(Op op, DType dtype) {
  switch (op) {
    case Op::kReduceSum:
    case Op::kReduceAny:
      return 0;
    case Op::kReduceProd:
    case Op::kReduceAll:
      return 1;
    case Op::kReduceMax:
      return lowest<T>(dtype);
    default:
      return highest<T>(dtype);
  }
}

template <typename T>
T reduced(Op op, T so_far, T x) {
  switch (op) {
    case Op::kReduceSum:
      return plus(so_far, x);
    case Op::kReduceProd:
      return times(so_far, x);
    case Op::kReduceAny:
      return so_far != 0 || x != 0;
    case Op::kReduceAll:
      return so_far != 0 && x != 0;
    case Op::kReduceMax:
      return is_nan(so_far) || (!is_nan(x) && so_far >= x) ? so_far : x;
    default:
      return is_nan(so_far) || (!is_nan(x) && so_far <= x) ? so_far : x;
  }
}

template <typename T>
Tensor reduce(const EvalCall& call) {
  const Tensor& x = call.in[0];
  const Ints& axes = call.attrs.ints("axes");
  const Ints kept = reduced_sizes(x.sizes(), axes, true);
  Elements<T> out(static_cast<std::size_t>(product(kept)), initial<T>(call.op, x.dtype()));
  const Elements<T> elements = load<T>(x);
  std::size_t next = 0;
  Ints target;
  for_each_index(x.sizes(), [&](const Ints& index) {
    target = index;
    for (const std::int64_t axis : axes) target[static_cast<std::size_t>(axis)] = 0;
    T& so_far = out[static_cast<std::size_t>(position(target, kept))];
    so_far = reduced(call.op, so_far, elements[next++]);
  });
  return store(x.dtype(), reduced_sizes(x.sizes(), axes, call.attrs.flag("keepdim")), out);
}

template <typename T>
Tensor accumulate(const EvalCall& call) {
  const Tensor& x = call.in[0];
  Elements<T> elements = load<T>(x);
  const bool exclusive = call.attrs.flag("exclusive");
  for_each_line(x.sizes(), call.axis(), [&](Ints line) {
    if (call.attrs.flag("reverse")) std::ranges::reverse(line);
    T so_far = call.op == Op::kCumSum ? 0 : 1;
    for (const std::int64_t at : line) {
      T& element = elements[static_cast<std::size_t>(at)];
      const T next = call.op == Op::kCumSum ? plus(so_far, element) : times(so_far, element);
      element = exclusive ? so_far : next;
      so_far = next;
    }
  });
  return store(x.dtype(), sizes_of(x), elements);
}

// The running extreme and its position. A nan stays from where it appears on; of equals (and of nans) the last counts.
template <typename T>
std::vector<Tensor> running_extreme(const EvalCall& call) {
  const Tensor& x = call.in[0];
  Elements<T> values = load<T>(x);
  Elements<std::int64_t> positions(values.size());
  for_each_line(x.sizes(), call.axis(), [&](const Ints& line) {
    T best{};
    std::int64_t best_at = 0;
    for (std::size_t i = 0; i < line.size(); ++i) {
      const auto at = static_cast<std::size_t>(line[i]);
      const T value = values[at];
      const bool better = call.op == Op::kCumMax ? value >= best : value <= best;
      if (i == 0 || is_nan(value) || (!is_nan(best) && better)) {
        best = value;
        best_at = static_cast<std::int64_t>(i);
      }
      values[at] = best;
      positions[at] = best_at;
    }
  });
  return {store(x.dtype(), sizes_of(x), values), store(DType::kI64, sizes_of(x), positions)};
}

}  // namespace

Results eval_reduce(const EvalCall& call) {
  return std::vector<Tensor>{visit_lane(call.in[0].dtype(), [&]<typename T>() { return reduce<T>(call); })};
}

Results eval_scan(const EvalCall& call) {
  return visit_lane(call.in[0].dtype(), [&]<typename T>() -> std::vector<Tensor> {
    if (call.op == Op::kCumMax || call.op == Op::kCumMin) return running_extreme<T>(call);
    return {accumulate<T>(call)};
  });
}

}  // namespace tilewright
