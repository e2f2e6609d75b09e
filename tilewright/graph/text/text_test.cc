// The text form: what is written, what is read, what is refused, and that reading what was written gives the same
// graph.
#include <bit>
#include <cstring>

#include "tilewright/graph/testing.h"
#include "tilewright/graph/text/random_graph.h"

namespace tilewright {
namespace {

// The canonical text of a graph that was written in any layout.
std::string reprint(std::string_view text) {
  return print(*parse_or_die(text));
}

TEST(Text, PrintsWhatItReads) {
  constexpr std::string_view kText = R"(graph encoder
fact s0 % 8 == 0
fact s0 in [2, 100]
scalar s0
scalar %f0
x: f32[B, 64]
weight w: f32[64, 2*s0]
y = matmul(x, w)
v, i = sort(y) axis=1 descending=true
t = transpose(v) perm=[1,0]
r = reshape(t) shape=[B, 2*s0]
e = mul(r, r)
assign(x, x)
return e as result, i
)";
  EXPECT_EQ(reprint(kText), kText);
}
TEST(Text, LayoutIsFree) {
  EXPECT_EQ(reprint("x:f32[ B,64 ]  y=neg( x )# a comment\n\n z = softmax(y)   axis=1 return z"),
            "x: f32[B, 64]\ny = neg(x)\nz = softmax(y) axis=1\nreturn z\n");
}
TEST(Text, LeavesOutDefaults) {
  EXPECT_EQ(reprint("x: f32[4]  y = reduce_sum(x) axes=[0] keepdim=false\n return y"),
            "x: f32[4]\ny = reduce_sum(x) axes=[0]\nreturn y\n");
}
TEST(Text, QuotesNamesThatAreNoWords) {
  constexpr std::string_view kText =
      "\"return\": f32[4]\n\"/l.0/w\\\"\" = neg(\"return\")\nreturn \"/l.0/w\\\"\" as \"a b\"\n";
  EXPECT_EQ(reprint(kText), kText);
}
TEST(Text, KeywordsMayNameValues) {
  EXPECT_EQ(reprint("weight: f32[4]  scalar = neg(weight)  return scalar"),
            "\"weight\": f32[4]\n\"scalar\" = neg(\"weight\")\nreturn \"scalar\"\n");
}
TEST(Text, ExpressionsWithBlanksStandInBrackets) {
  constexpr std::string_view kText = "scalar n\ny = iota() dtype=i64 shape=[n + 1] axis=0 start=(n + 1)\nreturn y\n";
  EXPECT_EQ(reprint(kText), kText);
}
TEST(Text, RegionsNestAndCapture) {
  constexpr std::string_view kText = R"(c: bool[]
x: f32[B]
y = if(c) {
  capture a = x
  b = call(a) {
    p: f32[B]
    capture q = a
    r = add(p, q)
    return r
  }
  return b
} {
  capture a = x
  return a
}
return y
)";
  EXPECT_EQ(reprint(kText), kText);
}
TEST(Text, AnotherTypeThanInferredIsWritten) {
  constexpr std::string_view kText = "x: f32[a]\nw: f32[b]\nscalar n\ny: f32[n] = add(x, w)\nreturn y\n";
  EXPECT_EQ(reprint(kText), "scalar n\nx: f32[a]\nw: f32[b]\ny: f32[n] = add(x, w)\nreturn y\n");
}
TEST(Text, EmptyGraph) {
  EXPECT_EQ(reprint("return"), "return\n");
}

TEST(TextTensor, SmallOnesAreReadable) {
  EXPECT_EQ(reprint("y = constant() value=f32[2, 2]{1, -0, 0.1, nan}\n return y"),
            "y = constant() value=f32[2, 2]{1, -0, 0.1, nan}\nreturn y\n");
  EXPECT_EQ(reprint("y = constant() value=bool[3]{true,0,1}\n return y"),
            "y = constant() value=bool[3]{1, 0, 1}\nreturn y\n");
  EXPECT_EQ(reprint("y = constant() value=i64[]{-9223372036854775808}\n return y"),
            "y = constant() value=i64[]{-9223372036854775808}\nreturn y\n");
}
TEST(TextTensor, EveryBitSurvives) {
  for (const std::uint32_t bits :
       {0x00000001u, 0x7f7fffffu, 0xff800000u, 0x7fc00001u, 0xffc00000u, 0x7f800001u, 0x80000000u}) {
    Graph graph;
    const Tensor value = Tensor::scalar(std::bit_cast<float>(bits));
    graph.set_outputs({Builder(graph).must(Op::kConstant, {}, {{"value", value}})});
    const auto again = parse_or_die(print(graph));
    std::uint32_t found = 0;
    std::memcpy(&found, again->node(0).attrs.tensor("value").data(), sizeof found);
    EXPECT_EQ(found, bits) << print(graph);
  }
}
TEST(TextTensor, LargeOnesAreBytes) {
  Graph graph;
  Tensor value(DType::kU8, {40});
  for (int i = 0; i < 40; ++i) value.data_as<std::uint8_t>()[i] = static_cast<std::uint8_t>(6 * i);
  graph.set_outputs({Builder(graph).must(Op::kConstant, {}, {{"value", value}})});
  const std::string text = print(graph);
  EXPECT_NE(text.find("u8[40]{0x00060c"), std::string::npos) << text;
  EXPECT_EQ(reprint(text), text);
}
TEST(TextTensor, ChecksItsSize) {
  expect_error("y = constant() value=f32[2]{1}\n return y", "',' expected, found '}'");
  expect_error("y = constant() value=f32[1]{1, 2}\n return y", "'}' expected, found ','");
  expect_error("y = constant() value=f32[2]{0x00}\n return y", "8 bytes expected, 2 hexadecimal digits given");
  expect_error("y = constant() value=f32[1000000000000]{1}\n return y",
               "the text ends before the elements of f32[1000000000000]");
  expect_error("y = constant() value=f32[4000000000, 4000000000]{1}\n return y",
               "a constant is too large: f32[4000000000, 4000000000]");
  expect_error("y = constant() value=f32[n]{1}\n return y", "the sizes of a constant are numbers: f32[n]");
  expect_error("y = constant() value=u8[1]{256}\n return y", "a number that fits expected, found '256'");
  expect_error("y = constant() value=bool[1]{0x02}\n return y", "a bool byte must be 00 or 01");
}

TEST(TextErrors, NameTheLine) {
  const auto graph = parse_graph("x: f32[4]\n\ny = nag(x)\nreturn y");
  ASSERT_FALSE(graph.ok());
  EXPECT_EQ(graph.error().message, "line 3: unknown operator 'nag'");
  EXPECT_EQ(graph.error().kind, ErrorKind::kParse);
}
TEST(TextErrors, Names) {
  expect_error("x: f32[4]  y = neg(z)  return y", "'z' is not defined");
  expect_error("x: f32[4]  x = neg(x)  return x", "'x' is defined twice");
  expect_error("x: f32[4]  v, v = sort(x) axis=0\n return v", "'v' is defined twice");
  expect_error("x: f32[4]  y = sort(x) axis=0\n return y", "'sort' gives 2 results, 1 named");
  expect_error("x: f32[4]  sort(x) axis=0\n return x", "'sort' gives 2 results, 0 named");
  expect_error("\"\": f32[4]  return", "a name is empty");
}
TEST(TextErrors, Statements) {
  expect_error("", "a graph ends with 'return', found the end of the text");
  expect_error("x: f32[4]", "a graph ends with 'return', found the end of the text");
  expect_error("return  x: f32[4]", "'x' is not defined");
  expect_error("x: f32[4]  return x  y = neg(x)", "'return' ends a graph, found 'y'");
  expect_error("x: f31[4]  return x", "a dtype expected, found 'f31'");
  expect_error("x: f32[%f0]  return x", "a size is an integer: %f0");
  expect_error("x  return", "'=' expected, found 'return'");
  expect_error("capture x = y  return", "'capture x' stands outside of a region");
  expect_error("scalar 2*n  return", "a host scalar is a symbol: 2*n");
  expect_error("?", "a name expected, found '?'");
  expect_error("\"abc", "a string does not end");
  expect_error("\"a\\q\"", "unknown escape in a string");
}
TEST(TextErrors, Attributes) {
  expect_error("x: f32[4]  y = softmax(x) axes=1\n return y", "'softmax' has no attribute 'axes'");
  expect_error("x: f32[4]  y = softmax(x) axis=0 axis=0\n return y", "attribute 'axis' is given twice");
  expect_error("x: f32[4]  y = softmax(x) axis=one\n return y", "a number that fits expected, found 'one'");
  expect_error("x: f32[4]  y = softmax(x)\n return y", "'y' = softmax: attribute 'axis' is missing");
  expect_error("x: f32[4]  y = transpose(x) perm=0\n return y", "'[' expected, found '0'");
}
TEST(TextErrors, Facts) {
  expect_error("fact s0 in [5, 4]  return", "a range is empty: [5, 4]");
  expect_error("fact s0 % 0 == 0  return", "a divisor is at least 1: 0");
  expect_error("fact s0 % 8 == 1  return", "a divisibility fact ends with '== 0': 1");
  expect_error("fact s0 > 3  return", "'in', '%' or '==' expected in a fact, found '>'");
  expect_error("fact 2*s0 in [1, 2]  return", "a range or divisor is known of a symbol: 2*s0");
}
TEST(TextErrors, AWrittenTypeMustBePossible) {
  expect_error("x: f32[4]  y: f32[5] = neg(x)  return y", "'y' is written as f32[5] but is f32[4]");
}
TEST(TextErrors, NestingIsBounded) {
  std::string text;
  for (int i = 0; i < 40; ++i) text += "call() {";
  expect_error(text, "regions nest deeper than 32");
  expect_error("x: f32[" + std::string(5000, '(') + "] return", "brackets nest deeper than 32");
  expect_error("x: f32[" + std::string(5000, '-') + "1] return", "an expression exceeds 4096 characters");
}

TEST(TextErrors, SizesThatWouldFillTheMemoryWhenWrittenOut) {
  std::string text = "x0: f32[n]\n";
  for (int i = 0; i < 60; ++i) {
    text += fmt::format("p{0} = pad(x{0}) low=[1] high=[0]\nx{1} = add(x{0}, p{0})\n", i, i + 1);
  }
  expect_error(text + "return", "a size of 'x9' is too long an expression");
}

TEST(TextProperty, ReadingWhatWasWrittenGivesTheSameGraph) {
  std::size_t nodes = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const std::unique_ptr<Graph> graph = RandomGraph(seed).make(30);
    nodes += graph->num_nodes();
    const Status status = verify(*graph);
    ASSERT_TRUE(status.ok()) << "seed " << seed << ": " << status.error().message << "\n" << print(*graph);
    const std::string text = print(*graph);
    const Result<std::unique_ptr<Graph>> again = parse_graph(text);
    ASSERT_TRUE(again.ok()) << "seed " << seed << ": " << again.error().message << "\n" << text;
    ASSERT_EQ(print(**again), text) << "seed " << seed;
    ASSERT_EQ((*again)->num_nodes(), graph->num_nodes());
    for (NodeId id = 0; id < graph->num_nodes(); ++id) {
      for (std::size_t i = 0; i < graph->node(id).outputs.size(); ++i) {
        ASSERT_EQ((*again)->type((*again)->node(id).outputs[i]), graph->type(graph->node(id).outputs[i]))
            << "seed " << seed;
      }
    }
  }
  EXPECT_GT(nodes, 6000u);
}

}  // namespace
}  // namespace tilewright
