// The optimiser on = the optimiser off, by the oracle, for random graphs; and every pass leaves a valid graph.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "tilewright/graph/eval/elements.h"
#include "tilewright/graph/eval/eval.h"
#include "tilewright/graph/testing.h"
#include "tilewright/passes/pass.h"

namespace tilewright::passes {
namespace {

// Graphs of the kind that models are made of: elementwise chains, broadcasts, reductions, norms, matmuls, reshapes,
// over the shapes [B, S, 8] and what broadcasts into it.
class ModelGraph {
 public:
  explicit ModelGraph(std::uint64_t seed) : random_(seed), graph_(std::make_unique<Graph>()), builder_(*graph_) {}

  std::unique_ptr<Graph> make(std::size_t nodes) {
    const Dim b = Dim::symbol("B"), s = Dim::symbol("S");
    for (const Shape& shape :
         {Shape{b, s, 8}, Shape{b, s, 8}, Shape{s, 8}, Shape{8}, Shape{8, 8}, Shape{b, 1, 8}, Shape{b, s, 1}}) {
      graph_->add_input({DType::kF32, shape}, "x");
    }
    graph_->add_input({DType::kI64, {b, s, 8}}, "i");
    while (graph_->num_nodes() < nodes) add();
    std::vector<ValueId> outputs;
    for (std::size_t i = 0; i < 1 + below(4); ++i) outputs.push_back(pick());
    outputs.push_back(static_cast<ValueId>(graph_->num_values() - 1));
    graph_->set_outputs(outputs);
    return std::move(graph_);
  }

 private:
  std::size_t below(std::size_t limit) { return std::uniform_int_distribution<std::size_t>(0, limit - 1)(random_); }
  // Late values more often, so that chains grow.
  ValueId pick() { return static_cast<ValueId>(std::max(below(graph_->num_values()), below(graph_->num_values()))); }

  void try_op(Op op, std::vector<ValueId> inputs, Attrs attrs = {}) {
    (void)builder_.op(op, std::move(inputs), std::move(attrs));
  }

  void add() {
    static constexpr Op kUnary[] = {Op::kNeg,  Op::kAbs,  Op::kTanh, Op::kSigmoid,
                                    Op::kRelu, Op::kGelu, Op::kSilu, Op::kFloor};
    static constexpr Op kBinary[] = {Op::kAdd, Op::kSub, Op::kMul, Op::kMax, Op::kMin};
    static constexpr Op kReduces[] = {Op::kReduceSum, Op::kReduceMax, Op::kReduceMin, Op::kReduceMean};
    const ValueId a = pick(), b = pick();
    const Shape shape = graph_->type(a).shape;
    const DType dtype = graph_->type(a).dtype;
    const auto rank = static_cast<std::int64_t>(shape.size());
    switch (below(13)) {
      case 0:
      case 1:
        return try_op(kUnary[below(std::size(kUnary))], {a});
      case 2:
      case 3:
      case 4:
        if (dtype == graph_->type(b).dtype) try_op(kBinary[below(std::size(kBinary))], {a, b});
        return;
      case 5: {
        const ValueId number =
            builder_.scalar(dtype, is_float(dtype) ? Dim::real(static_cast<double>(below(3)) / 2) : Dim(below(3)));
        return try_op(kBinary[below(std::size(kBinary))], {a, number});
      }
      case 6:
        if (rank > 0)
          try_op(kReduces[below(4)], {a},
                 {{"axes", Ints{static_cast<std::int64_t>(below(shape.size()))}}, {"keepdim", below(2) == 0}});
        return;
      case 7: {
        static constexpr DType kTo[] = {DType::kF32, DType::kF32, DType::kI64, DType::kF64, DType::kF16, DType::kI32};
        return try_op(Op::kCast, {a}, {{"dtype", kTo[below(6)]}});
      }
      case 8:
        if (below(2) == 0) return try_op(Op::kSoftmax, {a}, {{"axis", rank - 1}});
        return try_op(Op::kLayerNorm, {a}, {{"num_axes", 1}, {"eps", Dim::real(0.25)}});
      case 9:
        return below(2) == 0 ? try_op(Op::kMatMul, {a, 4})
                             : try_op(Op::kExpand, {a}, {{"shape", graph_->type(0).shape}});
      case 10: {
        Shape with_unit = shape;
        if (below(2) == 0) {
          with_unit.insert(with_unit.begin() + static_cast<std::ptrdiff_t>(below(shape.size() + 1)), Dim(1));
        } else if (auto unit = std::find(with_unit.begin(), with_unit.end(), Dim(1)); unit != with_unit.end()) {
          with_unit.erase(unit);
        }
        return try_op(Op::kReshape, {a}, {{"shape", with_unit}});
      }
      case 11:
        if (below(3) != 0) break;
        if (rank == 3 && shape[2] == Dim(8)) {
          const Shape regrouped = below(2) == 0 ? Shape{shape[0] * shape[1], 8} : Shape{shape[0], shape[1], 2, 4};
          return try_op(Op::kReshape, {a}, {{"shape", regrouped}});
        }
        if (rank == 2 || rank == 4) return try_op(Op::kReshape, {a}, {{"shape", graph_->type(0).shape}});
        break;
      default:
        if (rank == 3) return try_op(Op::kTranspose, {a}, {{"perm", below(2) == 0 ? Ints{1, 0, 2} : Ints{0, 2, 1}}});
        return try_op(Op::kLt, {a, b});
    }
  }

  std::mt19937_64 random_;
  std::unique_ptr<Graph> graph_;
  Builder builder_;
};

std::vector<Tensor> random_inputs(const Graph& graph, std::int64_t batch, std::int64_t length, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<Tensor> tensors;
  for (ValueId input : graph.inputs()) {
    std::vector<std::int64_t> sizes;
    std::int64_t count = 1;
    for (Dim dim : graph.type(input).shape) {
      sizes.push_back(dim.constant().value_or(dim == Dim::symbol("B") ? batch : length));
      count *= sizes.back();
    }
    std::vector<double> elements(static_cast<std::size_t>(count));
    for (double& element : elements) element = std::round(std::normal_distribution<double>(0, 16)(random)) / 8;
    Tensor tensor = Tensor::zeros(graph.type(input).dtype, sizes);
    visit(tensor.dtype(), [&]<typename T>() {
      for (std::int64_t i = 0; i < count; ++i)
        tensor.data_as<T>()[i] = static_cast<T>(static_cast<float>(elements[static_cast<std::size_t>(i)]));
    });
    tensors.push_back(tensor);
  }
  return tensors;
}

void expect_close(const Tensor& got, const Tensor& want) {
  ASSERT_EQ(got.dtype(), want.dtype());
  ASSERT_TRUE(std::ranges::equal(got.sizes(), want.sizes()));
  visit(got.dtype(), [&]<typename T>() {
    for (std::int64_t i = 0; i < got.count(); ++i) {
      const auto a = static_cast<double>(got.data_as<T>()[i]), b = static_cast<double>(want.data_as<T>()[i]);
      if (std::isnan(b)) {
        ASSERT_TRUE(std::isnan(a)) << "element " << i;
      } else {
        ASSERT_TRUE(a == b || std::abs(a - b) <= 1e-4 * std::max(1.0, std::abs(b)))
            << "element " << i << ": " << a << " and " << b;
      }
    }
  });
}

void expect_same(const Graph& graph, const Graph& optimised, std::uint64_t seed) {
  for (const auto& [batch, length] : {std::pair{2, 3}, {1, 1}, {0, 2}, {3, 8}}) {
    const std::vector<Tensor> inputs = random_inputs(graph, batch, length, seed);
    const auto want = eval(graph, inputs);
    if (!want.ok()) continue;  // sizes that the graph does not take
    const auto got = eval(optimised, inputs);
    ASSERT_TRUE(got.ok()) << got.error().message << "\n" << print(graph) << "\n" << print(optimised);
    for (std::size_t i = 0; i < want->size(); ++i) {
      ASSERT_NO_FATAL_FAILURE(expect_close((*got)[i], (*want)[i])) << "output " << i;
      if (::testing::Test::HasFatalFailure()) return;
    }
  }
}

TEST(Pipeline, OptimisedGraphsComputeTheSame) {
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    const auto graph = ModelGraph(seed).make(4 + seed % 40);
    ASSERT_TRUE(verify(*graph).ok());
    const auto optimised = graph->clone();
    const auto reports = run_pipeline(*optimised, {.verify_each = true});
    ASSERT_TRUE(reports.ok()) << reports.error().message << "\n" << print(*graph);
    expect_same(*graph, *optimised, seed);
    if (::testing::Test::HasFailure()) FAIL() << print(*graph) << "\nbecame\n" << print(*optimised);
  }
}

TEST(Pipeline, FusedGraphsComputeWhatUnfusedOnesDo) {
  for (const std::vector<std::string>& skip :
       {std::vector<std::string>{"fuse_areas"}, {"fuse_areas", "fuse_decided_areas"}}) {
    for (std::uint64_t seed = 2000; seed < 2100; ++seed) {
      SCOPED_TRACE(fmt::format("seed {}", seed));
      const auto graph = ModelGraph(seed).make(4 + seed % 40);
      const auto optimised = graph->clone();
      ASSERT_TRUE(run_pipeline(*optimised, {.skip = skip, .verify_each = true}).ok());
      expect_same(*graph, *optimised, seed);
      if (::testing::Test::HasFailure()) FAIL() << print(*graph) << "\nbecame\n" << print(*optimised);
    }
  }
}

TEST(Pipeline, EachPassAloneComputesTheSame) {
  for (const Pass& pass : pipeline()) {
    if (pass.name.starts_with("fuse_")) continue;  // works on what split_reduces leaves
    for (std::uint64_t seed = 1000; seed < 1060; ++seed) {
      SCOPED_TRACE(fmt::format("{}, seed {}", pass.name, seed));
      const auto graph = ModelGraph(seed).make(24);
      const auto changed = graph->clone();
      FuseReport report;
      pass.run(*changed, report);
      const Status status = verify(*changed);
      ASSERT_TRUE(status.ok()) << status.error().message << print(*graph) << "\nbecame\n" << print(*changed);
      expect_same(*graph, *changed, seed);
      if (::testing::Test::HasFailure()) FAIL() << print(*graph) << "\nbecame\n" << print(*changed);
    }
  }
}

}  // namespace
}  // namespace tilewright::passes
