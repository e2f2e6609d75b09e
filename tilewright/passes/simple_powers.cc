// A power whose exponent is a small number is a product, a root or a reciprocal, which cost a cycle where a power costs
// a logarithm and an exponential:
//   pow(x, 2)  ->  mul(x, x)
// The root of an infinity below 0 is that of the power, infinity, and the root of -0 is 0.
#include <limits>

#include "tilewright/passes/pass.h"
#include "tilewright/passes/pattern.h"
#include "tilewright/passes/replacements.h"

namespace tilewright::passes {
namespace {

ValueId square(Builder& b, ValueId x) {
  return b.must(Op::kMul, {x, x});
}

ValueId root(Builder& b, ValueId x) {
  const DType dtype = b.type(x).dtype;
  const auto number = [&](double value) { return b.scalar(dtype, Dim::real(value)); };
  const double infinity = std::numeric_limits<double>::infinity();
  const ValueId plain = b.must(Op::kSqrt, {b.must(Op::kAdd, {x, number(0)})});
  return b.must(Op::kSelect, {b.must(Op::kEq, {x, number(-infinity)}), number(infinity), plain});
}

std::optional<ValueId> power(Builder& b, ValueId x, double exponent) {
  const DType dtype = b.type(x).dtype;
  const bool several =
      !is_float(dtype) || dtype == DType::kF32 || dtype == DType::kF64;  // products are not rounded more
  if (exponent == 1) return x;
  if (exponent == 2) return square(b, x);
  if (exponent == 3 && several) return b.must(Op::kMul, {square(b, x), x});
  if (exponent == 4 && several) return square(b, square(b, x));
  if (!is_float(dtype)) return std::nullopt;
  if (exponent == 0.5) return root(b, x);
  if (exponent == -1) return b.must(Op::kReciprocal, {x});
  return std::nullopt;
}

}  // namespace

bool simple_powers(Graph& graph) {
  return rewrite_nodes(graph, [&](Builder& builder, NodeId id) -> std::optional<ValueId> {
    const Node& node = graph.node(id);
    if (node.op != Op::kPow) return std::nullopt;
    const ValueId x = node.inputs[0];
    const std::optional<double> exponent = known_number(graph, node.inputs[1]);
    if (!exponent || !same_shape(graph.type(x).shape, graph.type(node.outputs[0]).shape, graph.facts))
      return std::nullopt;
    return power(builder, x, *exponent);
  });
}

}  // namespace tilewright::passes
