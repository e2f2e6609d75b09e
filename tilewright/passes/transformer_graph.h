// For tests and benchmarks of passes: an encoder as an exporter writes it, with decomposed norms and gelus. Include in
// *_test.cc and *_bench.cc only.
#pragma once

#include "tilewright/graph/builder.h"

namespace tilewright::passes {

class TransformerGraph {
 public:
  // About 40 nodes a layer: hidden size 64, 4 heads, feed-forward 256.
  static std::unique_ptr<Graph> make(int layers) {
    TransformerGraph maker;
    ValueId x = maker.graph_->add_input({DType::kF32, {Dim::symbol("B"), Dim::symbol("S"), kHidden}}, "x");
    for (int i = 0; i < layers; ++i) x = maker.layer(x);
    maker.graph_->set_outputs({x});
    return std::move(maker.graph_);
  }

 private:
  static constexpr std::int64_t kHidden = 64, kHeads = 4, kInner = 256;

  TransformerGraph() : graph_(std::make_unique<Graph>()), builder_(*graph_) {}

  ValueId op(Op op, std::vector<ValueId> inputs, Attrs attrs = {}) {
    return builder_.must(op, std::move(inputs), std::move(attrs));
  }
  ValueId weight(Shape shape) { return graph_->add_input({DType::kF32, std::move(shape)}, "w", InputRole::kWeight); }
  ValueId number(double value) { return builder_.scalar(DType::kF32, Dim::real(value)); }

  ValueId linear(ValueId x, std::int64_t from, std::int64_t to) {
    const ValueId transposed = op(Op::kTranspose, {weight({to, from})}, {{"perm", Ints{1, 0}}});
    return op(Op::kAdd, {op(Op::kMatMul, {x, transposed}), weight({to})});
  }

  ValueId heads(ValueId x) {
    const ValueId split =
        op(Op::kReshape, {x}, {{"shape", Shape{Dim::symbol("B"), Dim::symbol("S"), kHeads, kHidden / kHeads}}});
    return op(Op::kTranspose, {split}, {{"perm", Ints{0, 2, 1, 3}}});
  }

  ValueId norm(ValueId x) {
    const Attrs last{{"axes", Ints{2}}, {"keepdim", true}};
    const ValueId centered = op(Op::kSub, {x, op(Op::kReduceMean, {x}, last)});
    const ValueId variance = op(Op::kReduceMean, {op(Op::kPow, {centered, number(2)})}, last);
    const ValueId deviation = op(Op::kSqrt, {op(Op::kAdd, {variance, number(1e-5)})});
    return op(Op::kAdd, {op(Op::kMul, {op(Op::kDiv, {centered, deviation}), weight({kHidden})}), weight({kHidden})});
  }

  ValueId gelu(ValueId x) {
    const ValueId erf = op(Op::kErf, {op(Op::kDiv, {x, number(1.4142135623730951)})});
    return op(Op::kMul, {op(Op::kMul, {x, op(Op::kAdd, {erf, number(1)})}), number(0.5)});
  }

  ValueId layer(ValueId x) {
    const ValueId q = heads(linear(x, kHidden, kHidden)), k = heads(linear(x, kHidden, kHidden)),
                  v = heads(linear(x, kHidden, kHidden));
    const ValueId scores = op(Op::kMatMul, {q, op(Op::kTranspose, {k}, {{"perm", Ints{0, 1, 3, 2}}})});
    const ValueId weights = op(Op::kSoftmax, {op(Op::kDiv, {scores, number(4)})}, {{"axis", 3}});
    const ValueId mixed = op(Op::kTranspose, {op(Op::kMatMul, {weights, v})}, {{"perm", Ints{0, 2, 1, 3}}});
    const ValueId joined = op(Op::kReshape, {mixed}, {{"shape", Shape{Dim::symbol("B"), Dim::symbol("S"), kHidden}}});
    const ValueId attended = norm(op(Op::kAdd, {linear(joined, kHidden, kHidden), x}));
    const ValueId inner = gelu(linear(attended, kHidden, kInner));
    return norm(op(Op::kAdd, {linear(inner, kInner, kHidden), attended}));
  }

  std::unique_ptr<Graph> graph_;
  Builder builder_;
};

}  // namespace tilewright::passes
