// Random valid graphs for property tests: ops, attributes and inputs are drawn, and what the builder refuses is
// dropped.
#pragma once

#include <random>

#include "tilewright/graph/builder.h"

namespace tilewright {

class RandomGraph {
 public:
  explicit RandomGraph(std::uint64_t seed) : random_(seed) {}

  std::unique_ptr<Graph> make(std::size_t num_nodes) {
    auto graph = std::make_unique<Graph>();
    if (below(2) == 0) graph->name = odd_name();
    add_facts(*graph);
    for (const Dim symbol : {Dim::symbol("s0"), Dim::symbol("n"), Dim::float_symbol("f0")})
      graph->add_scalar_input(symbol);
    for (std::size_t i = 0; i < 2 + below(4); ++i) {
      graph->add_input(type(), below(4) == 0 ? odd_name() : "x", below(3) == 0 ? InputRole::kWeight : InputRole::kData);
    }
    fill(*graph, num_nodes, 0);
    return graph;
  }

 private:
  std::size_t below(std::size_t limit) { return std::uniform_int_distribution<std::size_t>(0, limit - 1)(random_); }

  std::string odd_name() {
    static constexpr std::string_view kNames[] = {"return",     "weight",    "a b", "q\"uote",
                                                  "/layer.0/w", "new\nline", "as",  "\x01"};
    return std::string(kNames[below(std::size(kNames))]);
  }

  void add_facts(Graph& graph) {
    if (below(2) == 0) graph.facts.set_range(Dim::symbol("s0"), {2, below(2) == 0 ? INT64_MAX : 100});
    if (below(2) == 0) graph.facts.set_divisor(Dim::symbol("s0"), 8);
    if (below(3) == 0) graph.facts.set_equal(Dim::symbol("m"), Dim::symbol("n") * 2);
  }

  Dim dim() {
    static const Dim kDims[] = {0, 1, 2, 3, 3, 8, Dim::symbol("s0"), Dim::symbol("n"), Dim::symbol("s0") * 2 + 1};
    return kDims[below(std::size(kDims))];
  }

  Shape shape() {
    Shape out(below(4));
    for (Dim& one : out) one = dim();
    return out;
  }

  DType dtype() { return below(2) == 0 ? DType::kF32 : static_cast<DType>(below(10)); }
  TensorType type() { return {dtype(), shape()}; }

  Tensor tensor() {
    std::vector<std::int64_t> sizes(below(3));
    for (std::int64_t& size : sizes) size = static_cast<std::int64_t>(below(8));
    Tensor out = Tensor::zeros(dtype(), std::move(sizes));
    if (out.dtype() == DType::kBool) return out;
    auto* bytes = out.data_as<unsigned char>();
    for (std::int64_t i = 0; i < out.bytes(); ++i) bytes[i] = static_cast<unsigned char>(below(256));
    return out;
  }

  AttrValue value(AttrKind kind) {
    static constexpr std::string_view kWords[] = {"constant", "reflect", "add", "none", "normal", "two words"};
    switch (kind) {
      case AttrKind::kInt:
        return static_cast<std::int64_t>(below(3));
      case AttrKind::kFloat:
        return 0.1;
      case AttrKind::kBool:
        return below(2) == 0;
      case AttrKind::kStr:
        return std::string(kWords[below(std::size(kWords))]);
      case AttrKind::kDType:
        return dtype();
      case AttrKind::kDim:
        return below(3) == 0 ? Dim::float_symbol("f0") * Dim::real(1e-5) : dim();
      case AttrKind::kDims:
        return shape();
      case AttrKind::kTensor:
        return tensor();
      case AttrKind::kInts: {
        Ints out(below(3));
        for (std::int64_t& one : out) one = static_cast<std::int64_t>(below(3));
        return out;
      }
    }
    return false;
  }

  void fill(Graph& graph, std::size_t num_nodes, int depth) {
    for (std::size_t i = 0; i < 50 * num_nodes && graph.num_nodes() < num_nodes; ++i) add(graph, depth);
    std::vector<ValueId> outputs;
    for (std::size_t i = 0; i < below(4) && graph.num_values() > 0; ++i) outputs.push_back(pick(graph));
    graph.set_outputs(std::move(outputs));
  }

  ValueId pick(const Graph& graph) { return static_cast<ValueId>(below(graph.num_values())); }

  void add(Graph& graph, int depth) {
    const Op op = all_ops()[below(all_ops().size())];
    const OpInfo& row = info(op);
    if (row.op_class == OpClass::kLate || op == Op::kAssign) return add_late(graph);
    if (op == Op::kCall) return add_call(graph, depth);
    if (op == Op::kFused) return add_area(graph);
    std::vector<ValueId> inputs;
    const std::size_t most = std::min(row.max_inputs, row.min_inputs + 2);
    const std::size_t count = row.min_inputs + below(most - row.min_inputs + 1);
    for (std::size_t i = 0; i < count; ++i) {
      if (graph.num_values() == 0) return;
      inputs.push_back(pick(graph));
    }
    Attrs attrs;
    for (const AttrSpec& spec : row.attrs) {
      if (!spec.default_value || below(2) == 0) attrs.set(spec.name, value(spec.kind));
    }
    (void)Builder(graph).op(op, std::move(inputs), std::move(attrs), {}, below(8) == 0 ? odd_name() : "");
  }

  void add_late(Graph& graph) {
    if (graph.num_values() == 0) return;
    const Dim count = Dim::symbol(fmt::format("u{}", next_late_++));
    (void)Builder(graph).op(Op::kNonZero, {pick(graph)}, {{"count", count}});
  }

  void add_call(Graph& graph, int depth) {
    if (depth == 2 || graph.num_values() == 0) return;
    const ValueId passed = pick(graph);
    const ValueId captured = pick(graph);
    auto region = std::make_unique<Graph>();
    region->facts = graph.facts;
    region->add_input(graph.type(passed), "x");
    region->add_capture(captured, graph.type(captured), "c");
    fill(*region, 4, depth + 1);
    std::vector<std::unique_ptr<Graph>> regions;
    regions.push_back(std::move(region));
    (void)Builder(graph).op(Op::kCall, {passed}, {}, std::move(regions));
  }

  void add_area(Graph& graph) {
    static constexpr Op kOps[] = {Op::kNeg, Op::kAbs, Op::kExp, Op::kIsNan};
    if (graph.num_values() == 0) return;
    const ValueId passed = pick(graph);
    auto region = std::make_unique<Graph>();
    region->facts = graph.facts;
    ValueId last = region->add_input(graph.type(passed), below(4) == 0 ? odd_name() : "x");
    for (std::size_t i = 0; i < below(3); ++i) {
      const auto next = Builder(*region).op(kOps[below(std::size(kOps))], {last});
      if (next.ok()) last = (*next)[0];
    }
    region->set_outputs({last});
    std::vector<std::unique_ptr<Graph>> regions;
    regions.push_back(std::move(region));
    (void)Builder(graph).op(Op::kFused, {passed}, {{"kind", std::string("map")}}, std::move(regions));
  }

  std::mt19937_64 random_;
  int next_late_ = 0;
};

}  // namespace tilewright
