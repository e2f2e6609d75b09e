#include "tilewright/passes/recognise.h"

#include <algorithm>
#include <cmath>

namespace tilewright::passes {
namespace {

constexpr std::size_t kMostFactors = 8;

void add_factors(const Around& around, ValueId value, Product& product, int depth) {
  if (const auto number = known_number(around.graph, value)) {
    product.number *= *number;
    return;
  }
  if (depth < 6 && product.factors.size() < kMostFactors) {
    if (const Node* mul = around.made(value, Op::kMul)) {
      for (ValueId factor : mul->inputs) add_factors(around, factor, product, depth + 1);
      return;
    }
    if (const Node* neg = around.made(value, Op::kNeg)) {
      product.number = -product.number;
      return add_factors(around, neg->inputs[0], product, depth + 1);
    }
    if (const Node* div = around.made(value, Op::kDiv)) {
      if (const auto number = known_number(around.graph, div->inputs[1]); number && *number != 0) {
        product.number /= *number;
        return add_factors(around, div->inputs[0], product, depth + 1);
      }
    }
    if (const Node* pow = around.made(value, Op::kPow)) {
      const auto exponent = known_number(around.graph, pow->inputs[1]);
      if (exponent && (*exponent == 2 || *exponent == 3)) {
        for (int i = 0; i < static_cast<int>(*exponent); ++i) add_factors(around, pow->inputs[0], product, depth + 1);
        return;
      }
    }
  }
  product.factors.push_back(value);
}

}  // namespace

bool close(double a, double b, DType dtype) {
  const double tolerance = dtype == DType::kF64 ? 1e-12 : 4e-7;
  return std::fabs(a - b) <= tolerance * std::fabs(b);
}

bool Around::is(ValueId value, double number) const {
  const auto known = known_number(graph, value);
  return known && close(*known, number, dtype(value));
}

std::optional<ValueId> Around::other_than(const Node& node, double number) const {
  if (is(node.inputs[1], number)) return node.inputs[0];
  if (is(node.inputs[0], number)) return node.inputs[1];
  return std::nullopt;
}

std::optional<ValueId> Around::other_than(const Node& node, ValueId value) const {
  if (node.inputs[1] == value) return node.inputs[0];
  if (node.inputs[0] == value) return node.inputs[1];
  return std::nullopt;
}

Product product_of(const Around& around, ValueId value) {
  Product product;
  add_factors(around, value, product, 0);
  std::sort(product.factors.begin(), product.factors.end());
  return product;
}

bool Product::is(double wanted, DType dtype) const {
  return close(number, wanted, dtype);
}

std::optional<ValueId> reduced_over_last(const Around& around, ValueId value, Op op) {
  const Shape wanted = around.shape(value);
  while (const Node* expand = around.made(value, Op::kExpand)) value = expand->inputs[0];
  ValueId reduced = value;
  if (const Node* reshape = around.made(value, Op::kReshape)) reduced = reshape->inputs[0];
  const Node* reduce = around.made(reduced, op);
  if (reduce == nullptr) return std::nullopt;
  const ValueId x = reduce->inputs[0];
  Shape kept = around.shape(x);
  if (kept.empty() || reduce->attrs.ints("axes") != Ints{static_cast<std::int64_t>(kept.size()) - 1})
    return std::nullopt;
  kept.back() = Dim(1);
  return same_shape(around.shape(value), kept, around.graph.facts) ? std::optional(x) : std::nullopt;
}

std::optional<ValueId> mean_over_last(const Around& around, ValueId value) {
  if (const auto x = reduced_over_last(around, value, Op::kReduceMean)) return x;
  for (Op op : {Op::kDiv, Op::kMul}) {
    const Node* scaled = around.made(value, op);
    if (scaled == nullptr) continue;
    for (std::size_t i = 0; i < (op == Op::kMul ? 2u : 1u); ++i) {
      const auto x = reduced_over_last(around, scaled->inputs[i], Op::kReduceSum);
      if (!x) continue;
      const Dim size = around.shape(*x).back();
      const auto scalar = host_scalar(around.graph, scaled->inputs[1 - i]);
      if (!scalar || !same_shape(around.shape(value), around.shape(scaled->inputs[i]), around.graph.facts)) continue;
      if (op == Op::kDiv && !scalar->is_float() && around.graph.facts.same(*scalar, size) == Answer::kYes) return x;
      const auto number = known_number(around.graph, scaled->inputs[1 - i]);
      if (!number || !size.constant() || *size.constant() == 0) continue;
      const auto count = static_cast<double>(*size.constant());
      if (close(*number, op == Op::kDiv ? count : 1 / count, around.dtype(value))) return x;
    }
  }
  return std::nullopt;
}

}  // namespace tilewright::passes
