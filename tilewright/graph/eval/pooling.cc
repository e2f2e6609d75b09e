// Pools: the largest element, or the mean, of every window. Pads are never an element of max_pool; avg_pool counts them
// or not.
#include "tilewright/graph/eval/window.h"

namespace tilewright {
namespace {

// Calls f(position in x) for the elements of x under the window at `index` of the result.
template <typename F>
void for_each_element(const Window& window, const Tensor& x, const Ints& index, F&& f) {
  const Ints spatial = spatial_sizes(x);
  for_each_index(window.size, [&](const Ints& tap) {
    Ints source{index[0], index[1]};
    if (window.place(std::span(index).subspan(2), tap, spatial, source)) f(position(source, x.sizes()));
  });
}

// A nan counts as largest; of equals the first wins, of nans the last, as in torch. A window of pads only has position
// -1.
template <typename T>
Results max_pool(const EvalCall& call, const Window& window, const Ints& sizes) {
  const Tensor& x = call.in[0];
  const Elements<T> elements = load<T>(x);
  const std::int64_t plane = product(spatial_sizes(x));
  Elements<T> values;
  Elements<std::int64_t> positions;
  for_each_index(sizes, [&](const Ints& index) {
    T best = lowest<T>(x.dtype());
    std::int64_t best_at = -1;
    for_each_element(window, x, index, [&](std::int64_t at) {
      const T value = elements[static_cast<std::size_t>(at)];
      if (best_at >= 0 && !is_nan(value) && !(value > best)) return;
      best = value;
      best_at = at % plane;
    });
    values.push_back(best);
    positions.push_back(best_at);
  });
  return std::vector<Tensor>{store(x.dtype(), sizes, values), store(DType::kI64, sizes, positions)};
}

Results avg_pool(const EvalCall& call, const Window& window, const Ints& sizes) {
  const Tensor& x = call.in[0];
  const Elements<double> elements = load<double>(x);
  const std::int64_t divisor = call.attrs.integer("divisor");
  Elements<double> out;
  for_each_index(sizes, [&](const Ints& index) {
    double sum = 0;
    std::int64_t count = 0;
    for_each_element(window, x, index, [&](std::int64_t at) {
      sum += elements[static_cast<std::size_t>(at)];
      ++count;
    });
    if (call.attrs.flag("count_pads")) count = product(window.size);
    if (divisor > 0) count = divisor;
    out.push_back(sum / static_cast<double>(count));
  });
  return std::vector<Tensor>{store(x.dtype(), sizes, out)};
}

}  // namespace

Results eval_pooling(const EvalCall& call) {
  const Tensor& x = call.in[0];
  TW_ASSIGN(const Window window, Window::of(call, call.attrs.ints("window")));
  TW_ASSIGN(Ints sizes, window.slide(spatial_sizes(x)));
  sizes.insert(sizes.begin(), {x.sizes()[0], x.sizes()[1]});
  if (call.op == Op::kAvgPool) return avg_pool(call, window, sizes);
  return visit_lane(x.dtype(), [&]<typename T>() { return max_pool<T>(call, window, sizes); });
}

}  // namespace tilewright
