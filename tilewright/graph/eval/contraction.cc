// Matrix products and convolutions, as sums over the indices that their definitions name. Float sums are carried in
// double.
#include "tilewright/graph/eval/families.h"
#include "tilewright/graph/eval/window.h"

namespace tilewright {
namespace {

template <typename T>
void multiply(const T* a, const T* b, T* out, std::int64_t m, std::int64_t n, std::int64_t k) {
  for (std::int64_t row = 0; row < m; ++row) {
    for (std::int64_t inner = 0; inner < k; ++inner) {
      for (std::int64_t column = 0; column < n; ++column) {
        T& sum = out[row * n + column];
        sum = plus(sum, times(a[row * k + inner], b[inner * n + column]));
      }
    }
  }
}

Ints batch_sizes(const Tensor& x) {
  return Ints(x.sizes().begin(), x.sizes().end() - 2);
}

// `x` with its leading axes broadcast to `batch`.
Result<Tensor> with_batch(const Tensor& x, Ints batch) {
  batch.insert(batch.end(), x.sizes().end() - 2, x.sizes().end());
  return expand(x, batch);
}

Status check_channels(std::int64_t channels, std::int64_t expected) {
  if (channels == expected) return {};
  return fail(ErrorKind::kShapeMismatch, "channels differ: x has {}, the weight reads {}", channels, expected);
}

Status check_divides(std::int64_t channels, std::int64_t groups) {
  if (channels % groups == 0) return {};
  return fail(ErrorKind::kShapeMismatch, "{} channels do not divide into {} groups", channels, groups);
}

// Starts every sum with the bias of its channel, or 0.
template <typename T>
Result<Elements<T>> biases(const EvalCall& call, const Ints& sizes) {
  Elements<T> out(static_cast<std::size_t>(product(sizes)), T{0});
  if (call.in.size() < 3) return out;
  const Elements<T> bias = load<T>(call.in[2]);
  if (static_cast<std::int64_t>(bias.size()) != sizes[1]) {
    return fail(ErrorKind::kShapeMismatch, "the bias must have {} entries: {}", sizes[1], bias.size());
  }
  std::size_t next = 0;
  for_each_index(sizes, [&](const Ints& index) { out[next++] = bias[static_cast<std::size_t>(index[1])]; });
  return out;
}

template <typename T>
Results convolve(const EvalCall& call) {
  const Tensor& x = call.in[0];
  const Tensor& w = call.in[1];
  const std::int64_t groups = call.attrs.integer("groups");
  TW_TRY(check_channels(x.sizes()[1], w.sizes()[1] * groups));
  TW_TRY(check_divides(w.sizes()[0], groups));
  TW_ASSIGN(const Window window, Window::of(call, spatial_sizes(w)));
  TW_ASSIGN(Ints sizes, window.slide(spatial_sizes(x)));
  sizes.insert(sizes.begin(), {x.sizes()[0], w.sizes()[0]});
  TW_ASSIGN(Elements<T> out, biases<T>(call, sizes));
  const Elements<T> input = load<T>(x);
  const Elements<T> weight = load<T>(w);
  const std::int64_t channels_per_group = w.sizes()[1];
  const std::int64_t outputs_per_group = w.sizes()[0] / groups;
  std::size_t next = 0;
  for_each_index(sizes, [&](const Ints& index) {
    T& sum = out[next++];
    const std::int64_t group = index[1] / outputs_per_group;
    for_each_index(w.sizes().subspan(1), [&](const Ints& tap) {  // [channel in the group, window..]
      Ints source{index[0], group * channels_per_group + tap[0]};
      if (!window.place(std::span(index).subspan(2), std::span(tap).subspan(1), spatial_sizes(x), source)) return;
      Ints in_weight{index[1]};
      in_weight.insert(in_weight.end(), tap.begin(), tap.end());
      sum = plus(sum, times(input[static_cast<std::size_t>(position(source, x.sizes()))],
                            weight[static_cast<std::size_t>(position(in_weight, w.sizes()))]));
    });
  });
  return std::vector<Tensor>{store(x.dtype(), sizes, out)};
}

// Every input element is spread over the window of outputs that it would have come from.
template <typename T>
Results convolve_transposed(const EvalCall& call) {
  const Tensor& x = call.in[0];
  const Tensor& w = call.in[1];
  const std::int64_t groups = call.attrs.integer("groups");
  TW_TRY(check_channels(x.sizes()[1], w.sizes()[0]));
  TW_TRY(check_divides(w.sizes()[0], groups));
  TW_ASSIGN(const Window window, Window::of(call, spatial_sizes(w)));
  TW_ASSIGN(Ints sizes, window.spread(spatial_sizes(x), call.attrs.ints("output_pad")));
  sizes.insert(sizes.begin(), {x.sizes()[0], w.sizes()[1] * groups});
  TW_ASSIGN(Elements<T> out, biases<T>(call, sizes));
  const Elements<T> input = load<T>(x);
  const Elements<T> weight = load<T>(w);
  const std::int64_t channels_per_group = w.sizes()[0] / groups;
  const Ints spatial(sizes.begin() + 2, sizes.end());
  std::size_t next = 0;
  for_each_index(x.sizes(), [&](const Ints& index) {
    const T value = input[next++];
    for_each_index(w.sizes().subspan(1), [&](const Ints& tap) {  // [output channel in the group, window..]
      Ints target{index[0], index[1] / channels_per_group * w.sizes()[1] + tap[0]};
      if (!window.place(std::span(index).subspan(2), std::span(tap).subspan(1), spatial, target)) return;
      Ints in_weight{index[1]};
      in_weight.insert(in_weight.end(), tap.begin(), tap.end());
      T& sum = out[static_cast<std::size_t>(position(target, sizes))];
      sum = plus(sum, times(value, weight[static_cast<std::size_t>(position(in_weight, w.sizes()))]));
    });
  });
  return std::vector<Tensor>{store(x.dtype(), sizes, out)};
}

}  // namespace

// a: [batch.., m, k], b: [batch.., k, n]  ->  [batch.., m, n]
Results eval_matmul(const EvalCall& call) {
  const Tensor& a = call.in[0];
  const Tensor& b = call.in[1];
  const std::int64_t m = a.sizes()[a.rank() - 2];
  const std::int64_t k = a.sizes()[a.rank() - 1];
  const std::int64_t n = b.sizes()[b.rank() - 1];
  if (b.sizes()[b.rank() - 2] != k) {
    return fail(ErrorKind::kShapeMismatch, "inner dimensions differ: {} and {}", k, b.sizes()[b.rank() - 2]);
  }
  const Tensor batches[] = {Tensor(a.dtype(), batch_sizes(a), Ints(a.rank() - 2, 0), nullptr),
                            Tensor(b.dtype(), batch_sizes(b), Ints(b.rank() - 2, 0), nullptr)};
  TW_ASSIGN(Ints sizes, broadcast_sizes(batches));
  const std::int64_t batch = product(sizes);
  TW_ASSIGN(const Tensor left, with_batch(a, sizes));
  TW_ASSIGN(const Tensor right, with_batch(b, sizes));
  sizes.push_back(m);
  sizes.push_back(n);
  return visit_lane(a.dtype(), [&]<typename T>() {
    const Elements<T> left_elements = load<T>(left);
    const Elements<T> right_elements = load<T>(right);
    Elements<T> out(static_cast<std::size_t>(batch * m * n), T{0});
    for (std::int64_t i = 0; i < batch; ++i) {
      multiply(left_elements.data() + i * m * k, right_elements.data() + i * k * n, out.data() + i * m * n, m, n, k);
    }
    const bool half = a.dtype() == DType::kF16 || a.dtype() == DType::kBF16;
    return std::vector<Tensor>{store(half && call.attrs.flag("wide") ? DType::kF32 : a.dtype(), sizes, out)};
  });
}

Results eval_convolution(const EvalCall& call) {
  return visit_lane(call.in[0].dtype(), [&]<typename T>() -> Results {
    return call.op == Op::kConv ? convolve<T>(call) : convolve_transposed<T>(call);
  });
}

}  // namespace tilewright
