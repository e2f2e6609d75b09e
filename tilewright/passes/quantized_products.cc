// Products of dequantised bytes are products of bytes, and a number that is quantised and dequantised at once stays a
// float:
//   matmul(dequantize(a, s, z), dequantize(b, t, w))  ->  mul(cast(integer_matmul(a, b, z, w)), s * t)     conv too
//   dequantize(quantize(x, s, z), s, z)               ->  mul(clamp(round(div(x, s)), low - z, high - z), s)
// Sums of bytes are exact in i32, so the first is nearer to the exact result than what it replaces: they differ by the
// rounding of float sums. The second gives the same floats. Of f32 with one scale; of b one for each column.
#include <limits>

#include "tilewright/passes/pass.h"
#include "tilewright/passes/pattern.h"
#include "tilewright/passes/replacements.h"
#include "tilewright/passes/users.h"

namespace tilewright::passes {
namespace {

constexpr std::int64_t kMostTerms = std::numeric_limits<std::int32_t>::max() / (255 * 255);
constexpr std::int64_t kMostTaps = 64;       // of a convolution that is a product (graph/composites/quantised.cc)
constexpr std::int64_t kFewestChannels = 4;  // of a group: four bytes are one step of a product

bool is_one_element(const Graph& graph, ValueId value) {
  const Shape& shape = graph.type(value).shape;
  return shape.empty() || (shape.size() == 1 && shape[0].constant() == 1);
}

std::optional<std::int64_t> known_integer(const Graph& graph, ValueId value) {
  const std::optional<Dim> number = host_scalar(graph, value);
  return number ? number->constant() : std::nullopt;
}

struct Bytes {
  ValueId value, scale;
  std::optional<ValueId> zero;  // none: 0
  bool one_scale;
};

// What a dequantize_linear of bytes reads: one scale, or one for each position of `axis`.
std::optional<Bytes> bytes_behind(const Graph& graph, ValueId value, std::size_t axis) {
  const Node* node = made_by(graph, value, Op::kDequantizeLinear);
  if (node == nullptr || graph.type(value).dtype != DType::kF32 || node->attrs.integer("block") != 0) return {};
  const DType dtype = graph.type(node->inputs[0]).dtype;
  if (dtype != DType::kI8 && dtype != DType::kU8) return {};
  Bytes out{node->inputs[0], node->inputs[1], {}, is_one_element(graph, node->inputs[1])};
  if (!out.one_scale && node->attrs.integer("axis") != static_cast<std::int64_t>(axis)) return {};
  if (node->inputs.size() > 2 && known_integer(graph, node->inputs[2]) != 0) {
    out.zero = node->inputs[2];
    if (is_one_element(graph, *out.zero) != out.one_scale) return {};
  }
  return out;
}

class QuantizedProducts {
 public:
  explicit QuantizedProducts(Graph& graph) : graph_(graph), uses_(count_uses(graph)) {}

  std::optional<ValueId> product(Builder& b, NodeId id) {
    if (graph_.node(id).op == Op::kMatMul) return matmul(b, id);
    return graph_.node(id).op == Op::kConv ? conv(b, id) : std::nullopt;
  }

  std::optional<ValueId> round_trip(Builder& b, NodeId id) {
    const Node& node = graph_.node(id);
    if (node.op != Op::kDequantizeLinear) return std::nullopt;
    const Node* from = made_by(graph_, node.inputs[0], Op::kQuantizeLinear);
    if (from == nullptr || uses_[node.inputs[0]] != 1 || graph_.type(node.outputs[0]).dtype != DType::kF32) return {};
    if (graph_.type(from->inputs[0]).dtype != DType::kF32 || from->attrs.integer("block") != 0) return std::nullopt;
    const std::vector<ValueId> parameters(node.inputs.begin() + 1, node.inputs.end());
    if (!std::equal(parameters.begin(), parameters.end(), from->inputs.begin() + 1, from->inputs.end())) return {};
    if (!is_one_element(graph_, parameters[0])) return std::nullopt;
    const auto zero = parameters.size() > 1 ? known_integer(graph_, parameters[1]) : std::optional<std::int64_t>(0);
    if (!zero || (parameters.size() > 1 && !is_one_element(graph_, parameters[1]))) return std::nullopt;
    const ValueId value = from->inputs[0];
    const auto [low, high] = limits_of(*from);
    const ValueId scale = scalar(b, parameters[0]);
    const ValueId steps = b.must(Op::kRound, {b.must(Op::kDiv, {value, scale})});
    const auto number = [&](std::int64_t n) { return b.scalar(DType::kF32, Dim::real(static_cast<double>(n))); };
    const ValueId above = b.must(Op::kMax, {steps, number(low - *zero)});
    return b.must(Op::kMul, {b.must(Op::kMin, {above, number(high - *zero)}), scale});
  }

 private:
  std::optional<ValueId> matmul(Builder& b, NodeId id) {
    const std::vector<ValueId> inputs = graph_.node(id).inputs;
    const Shape& right = graph_.type(inputs[1]).shape;
    const auto x = bytes_behind(graph_, inputs[0], 0), w = bytes_behind(graph_, inputs[1], right.size() - 1);
    if (!x || !w || !x->one_scale || !has_few_terms(right[right.size() - 2])) return std::nullopt;
    std::vector<ValueId> operands{x->value, w->value};
    if (x->zero || w->zero) operands.push_back(zero_of(b, *x));
    if (w->zero) operands.push_back(w->one_scale ? zero_of(b, *w) : *w->zero);
    const ValueId scale = b.must(Op::kMul, {scalar(b, x->scale), w->one_scale ? scalar(b, w->scale) : w->scale});
    return scaled(b, b.must(Op::kIntegerMatMul, operands), scale);
  }

  std::optional<ValueId> conv(Builder& b, NodeId id) {
    const std::vector<ValueId> inputs = graph_.node(id).inputs;
    const auto x = bytes_behind(graph_, inputs[0], 0), w = bytes_behind(graph_, inputs[1], 0);
    const Shape window = graph_.type(inputs[1]).shape;
    if (!x || !w || !x->one_scale || !is_product_of_bytes(window)) return std::nullopt;
    std::vector<ValueId> operands{x->value, w->value};
    if (x->zero || w->zero) operands.push_back(zero_of(b, *x));
    if (w->zero) operands.push_back(w->one_scale ? zero_of(b, *w) : *w->zero);
    const ValueId sums = b.must(Op::kIntegerConv, operands, graph_.node(id).attrs);
    Shape column(window.size() - 1, Dim(1));
    column[0] = window[0];
    ValueId scale = scalar(b, x->scale);
    scale = b.must(Op::kMul, {scale, w->one_scale ? scalar(b, w->scale) : reshaped(b, w->scale, column)});
    const ValueId result = scaled(b, sums, scale);
    return inputs.size() < 3 ? result : b.must(Op::kAdd, {result, reshaped(b, inputs[2], column)});
  }

  static std::pair<std::int64_t, std::int64_t> limits_of(const Node& quantize) {
    const std::int64_t low = quantize.attrs.integer("low"), high = quantize.attrs.integer("high");
    if (low != 0 || high != 0) return {low, high};
    const DType dtype = quantize.attrs.dtype("dtype");
    const std::int64_t values = byte_size(dtype) == 1 ? 256 : 65536;
    return kind(dtype) == 'u' ? std::pair(std::int64_t{0}, values - 1) : std::pair(-values / 2, values / 2 - 1);
  }

  static bool has_few_terms(Dim terms) { return terms.constant().value_or(kMostTerms + 1) <= kMostTerms; }

  static bool is_product_of_bytes(const Shape& window) {
    Dim taps(1);
    for (std::size_t i = 2; i < window.size(); ++i) taps = taps * window[i];
    if (taps.constant().value_or(kMostTaps + 1) > kMostTaps || !has_few_terms(taps * window[1])) return false;
    return *window[1].constant() >= kFewestChannels;
  }

  ValueId reshaped(Builder& b, ValueId value, Shape shape) {
    return b.must(Op::kReshape, {value}, {{"shape", std::move(shape)}});
  }
  ValueId scalar(Builder& b, ValueId value) {
    return graph_.type(value).shape.empty() ? value : reshaped(b, value, {});
  }
  ValueId zero_of(Builder& b, const Bytes& bytes) {
    return bytes.zero ? scalar(b, *bytes.zero) : b.scalar(graph_.type(bytes.value).dtype, 0);
  }
  ValueId scaled(Builder& b, ValueId sums, ValueId scale) {
    return b.must(Op::kMul, {b.must(Op::kCast, {sums}, {{"dtype", DType::kF32}}), scale});
  }

  Graph& graph_;
  std::vector<std::uint32_t> uses_;  // by value, before the pass
};

}  // namespace

// Products first: what they read as bytes is no round trip.
bool quantized_products(Graph& graph) {
  QuantizedProducts products(graph);
  const bool joined = rewrite_nodes(graph, [&](Builder& builder, NodeId id) { return products.product(builder, id); });
  if (joined) remove_dead_nodes(graph);
  QuantizedProducts rest(graph);
  return rewrite_nodes(graph, [&](Builder& builder, NodeId id) { return rest.round_trip(builder, id); }) || joined;
}

}  // namespace tilewright::passes
