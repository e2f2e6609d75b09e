// The operator table is sane, and the builder's checks speak in its terms.
#include <set>

#include "tilewright/graph/infer/infer.h"
#include "tilewright/graph/ops_doc.h"
#include "tilewright/graph/testing.h"

namespace tilewright {
namespace {

TEST(OpTable, TextsAreUniqueAndParse) {
  for (const Op op : all_ops()) EXPECT_EQ(parse_op(info(op).text), op) << info(op).text;
  EXPECT_EQ(parse_op("no_such_op"), std::nullopt);
}
TEST(OpTable, EveryRowIsFilled) {
  for (const Op op : all_ops()) {
    const OpInfo& row = info(op);
    EXPECT_FALSE(row.meaning.empty()) << row.text;
    EXPECT_LE(row.min_inputs, row.max_inputs) << row.text;
    std::set<std::string_view> names;
    for (const AttrSpec& spec : row.attrs) EXPECT_TRUE(names.insert(spec.name).second) << row.text << " " << spec.name;
  }
}
TEST(OpTable, DefaultsHaveTheirKind) {
  for (const Op op : all_ops()) {
    for (const AttrSpec& spec : info(op).attrs) {
      if (spec.default_value) {
        EXPECT_EQ(spec.default_value->index(), static_cast<std::size_t>(spec.kind)) << spec.name;
      }
    }
  }
}
TEST(OpTable, ReadsArityAndAttributes) {
  const OpInfo& pad = info(Op::kPad);
  EXPECT_EQ(pad.min_inputs, 1u);
  EXPECT_EQ(pad.max_inputs, 2u);
  ASSERT_EQ(pad.attrs.size(), 3u);
  EXPECT_EQ(pad.attrs[2].name, "mode");
  EXPECT_EQ(std::get<std::string>(*pad.attrs[2].default_value), "constant");
  EXPECT_EQ(info(Op::kConcat).max_inputs, SIZE_MAX);
  EXPECT_EQ(info(Op::kIf).results, -1);
}
TEST(OpTable, EveryElementwiseOpHasOneResult) {
  for (const Op op : all_ops()) {
    EXPECT_TRUE(!is_elementwise(op) || info(op).results == 1) << info(op).text;
  }
}
// Guards infer functions that read an attribute their op lacks: no op may reach a check of ours.
TEST(OpTable, EveryOpInfersOrRefuses) {
  for (const Op op : all_ops()) {
    const OpInfo& row = info(op);
    for (std::size_t rank = 0; rank < 5; ++rank) {
      for (const DType dtype : {DType::kF32, DType::kI64, DType::kBool}) {
        Graph graph;
        std::vector<ValueId> inputs;
        for (std::size_t i = 0; i < row.min_inputs; ++i)
          inputs.push_back(graph.add_input({dtype, Shape(rank, Dim(3))}, "x"));
        Attrs attrs;
        for (const AttrSpec& spec : row.attrs) {
          const AttrValue values[] = {std::int64_t{1},
                                      1.0,
                                      true,
                                      std::string("none"),
                                      Ints(rank, 1),
                                      dtype,
                                      Dim(1),
                                      Dims(rank, Dim(1)),
                                      Tensor::zeros(dtype, {2})};
          attrs.set(spec.name, values[static_cast<std::size_t>(spec.kind)]);
        }
        const auto results = Builder(graph).op(op, std::move(inputs), std::move(attrs));
        EXPECT_TRUE(!results.ok() || std::ssize(*results) == row.results) << row.text;
      }
    }
  }
}
TEST(OpsDoc, ListsEveryOperatorOnce) {
  const std::string page = ops_markdown();
  for (const Op op : all_ops()) {
    const std::string row = fmt::format("\n| `{}` |", info(op).text);
    const std::size_t first = page.find(row);
    ASSERT_NE(first, std::string::npos) << row;
    EXPECT_EQ(page.find(row, first + 1), std::string::npos) << row;
  }
  EXPECT_NE(page.find("| `pad` | 1 to 2 | 1 | `low`: dims, `high`: dims, `mode`: str = constant |"), std::string::npos);
  EXPECT_NE(page.find("\\|x\\|"), std::string::npos);
}

std::string error_of(Graph& graph, Op op, std::vector<ValueId> inputs, Attrs attrs = {}, std::string_view name = "") {
  const auto results = Builder(graph).op(op, std::move(inputs), std::move(attrs), {}, name);
  return results.ok() ? "no error" : results.error().message;
}

struct BuilderErrors : testing::Test {
  Graph graph;
  ValueId x = graph.add_input({DType::kF32, {Dim::symbol("B"), 64}}, "x");
  ValueId w = graph.add_input({DType::kF32, {32, 16}}, "w");
};

TEST_F(BuilderErrors, NameTheNodeAndTheTypes) {
  EXPECT_EQ(error_of(graph, Op::kMatMul, {x, w}, {}, "y"),
            "'y' = matmul: inner dimensions differ: f32[B, 64] x f32[32, 16]");
}
TEST_F(BuilderErrors, NameTheOpOfANamelessNode) {
  EXPECT_EQ(error_of(graph, Op::kMatMul, {x, w}), "matmul: inner dimensions differ: f32[B, 64] x f32[32, 16]");
}
TEST_F(BuilderErrors, CountInputs) {
  EXPECT_EQ(error_of(graph, Op::kAdd, {x}), "add: 2 inputs expected, 1 given");
  EXPECT_EQ(error_of(graph, Op::kNeg, {}), "neg: 1 input expected, 0 given");
  EXPECT_EQ(error_of(graph, Op::kPad, {x, x, x}), "pad: 1 to 2 inputs expected, 3 given");
  EXPECT_EQ(error_of(graph, Op::kConcat, {}), "concat: at least 1 input expected, 0 given");
}
TEST_F(BuilderErrors, NameAttributes) {
  EXPECT_EQ(error_of(graph, Op::kSoftmax, {x}), "softmax: attribute 'axis' is missing");
  EXPECT_EQ(error_of(graph, Op::kSoftmax, {x}, {{"axis", 1}, {"dim", 1}}),
            "softmax: unknown attribute 'dim'; the attributes are: axis");
  EXPECT_EQ(error_of(graph, Op::kNeg, {x}, {{"axis", 1}}), "neg: unknown attribute 'axis'; the attributes are: none");
  EXPECT_EQ(error_of(graph, Op::kSoftmax, {x}, {{"axis", std::string("last")}}),
            "softmax: attribute 'axis' has the wrong kind: int expected, str given");
}
TEST_F(BuilderErrors, RefuseValuesOfNoGraph) {
  EXPECT_EQ(error_of(graph, Op::kNeg, {99}), "neg: input 99 is not a value of the graph, which has 2");
}
TEST_F(BuilderErrors, LeaveTheGraphAsItWas) {
  error_of(graph, Op::kMatMul, {x, w}, {}, "y");
  EXPECT_EQ(graph.num_values(), 2u);
  EXPECT_TRUE(graph.order().empty());
}

TEST(Builder, FillsDefaults) {
  Graph graph;
  const ValueId x = graph.add_input({DType::kF32, {4}}, "x");
  Builder(graph).must(Op::kReduceSum, {x}, {{"axes", Ints{0}}});
  EXPECT_FALSE(graph.node(0).attrs.flag("keepdim"));
}
TEST(Builder, TakesNumbersForDims) {
  Graph graph;
  const ValueId x = graph.add_input({DType::kF32, {4, 4}}, "x");
  Builder build(graph);
  build.must(Op::kReshape, {x}, {{"shape", Ints{2, 8}}});
  build.must(Op::kRmsNorm, {x}, {{"num_axes", 1}, {"eps", 1e-5}});
  EXPECT_EQ(graph.node(0).attrs.dims("shape"), (Dims{2, 8}));
  EXPECT_EQ(graph.node(1).attrs.dim("eps"), Dim::real(1e-5));
}
TEST(Builder, MakesNamesUnique) {
  Graph graph;
  const ValueId x = graph.add_input({DType::kF32, {4}}, "x");
  Builder build(graph);
  EXPECT_EQ(graph.value(build.must(Op::kNeg, {x})).name, "neg");
  EXPECT_EQ(graph.value(build.must(Op::kNeg, {x})).name, "neg_1");
  EXPECT_EQ(graph.value(build.op(Op::kNeg, {x}, {}, {}, "x").value()[0]).name, "x_1");
  const auto sorted = build.op(Op::kSort, {x}, {{"axis", 0}}, {}, "s").value();
  EXPECT_EQ(graph.value(sorted[0]).name, "s");
  EXPECT_EQ(graph.value(sorted[1]).name, "s_1");
}

}  // namespace
}  // namespace tilewright
