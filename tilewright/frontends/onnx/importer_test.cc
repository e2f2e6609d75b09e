// What the importer makes of small models: the text of the graph, or of the error.
#include <gtest/gtest.h>

#include "tilewright/frontends/onnx/load.h"
#include "tilewright/frontends/onnx/model_testing.h"

namespace tilewright::onnx {
namespace {
using namespace testing;

Result<Imported> import(const std::string& bytes) {
  const auto owner = std::make_shared<std::string>(bytes);
  return import_bytes({*owner, owner});
}

std::string graph_of(const std::string& bytes) {
  const auto imported = import(bytes);
  if (!imported.ok()) return imported.error().message;
  const Status good = verify(*imported->graph);
  return good.ok() ? print(*imported->graph) : good.error().message;
}

std::string error_of(const std::string& bytes) {
  const auto imported = import(bytes);
  return imported.ok() ? "imported" : imported.error().message;
}

bool contains(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

TEST(OnnxImporter, NamedSizesAreSymbols) {
  EXPECT_EQ(graph_of(model(node("Relu", {"x"}, {"y"}) + input("x", 1, dim("B") + dim(64)) + output("y"))),
            "x: f32[B, 64]\ny = relu(x)\nreturn y\n");
}

TEST(OnnxImporter, ShapeArithmeticLeavesOnlyTheReshape) {
  const std::string graph =
      node("Shape", {"x"}, {"s"}) + node("Gather", {"s", "zero"}, {"b"}) + node("Unsqueeze", {"b", "axes"}, {"b1"}) +
      node("Concat", {"b1", "rest"}, {"shape"}, attribute("axis", 0)) + node("Reshape", {"x", "shape"}, {"y"}) +
      initializer("axes", {0}) + initializer("rest", {4, -1}) +
      field(5, field(2, std::int64_t{7}) + field(8, "zero") + field(7, std::int64_t{0})) +
      input("x", 1, dim("B") + dim(8) + dim("S")) + output("y");
  EXPECT_EQ(graph_of(model(graph)), "x: f32[B, 8, S]\ny = reshape(x) shape=[B, 4, 2*S]\nreturn y\n");
}

TEST(OnnxImporter, ASizeThatIsAnExpressionOfOthersIsTheirExpression) {
  const std::string text = graph_of(model(node("Relu", {"m"}, {"y"}) + input("a", 1, dim("past")) +
                                          input("b", 1, dim("seq")) + input("m", 1, dim("past + seq")) + output("y")));
  EXPECT_TRUE(contains(text, "m: f32[past + seq]")) << text;
}

TEST(OnnxImporter, AFunctionBodyOfASchemaIsInlined) {
  const std::string text = graph_of(model(node("HammingWindow", {"n"}, {"y"}) + initializer("n", {8}) + output("y")));
  EXPECT_TRUE(contains(text, "cos")) << text;
}

TEST(OnnxImporter, MissingOperatorsAreListedTogether) {
  EXPECT_EQ(
      error_of(model(node("Foo", {"x"}, {"y"}) + node("Bar", {"y"}, {"z"}) + node("Foo", {"z"}, {"w"}) +
                     input("x", 1, dim(1)) + output("w"))),
      "node 'y' (Foo): operator Foo of opset 18 has no importer; missing in this model: Bar (1 node), Foo (2 nodes)");
}

TEST(OnnxImporter, ANameThatNothingMakesIsNamed) {
  EXPECT_EQ(error_of(model(node("Relu", {"later"}, {"y"}) + node("Relu", {"y"}, {"later"}) + output("y"))),
            "node 'y' (Relu): reads 'later', which no node before it makes");
}

TEST(OnnxImporter, ANameGivenTwiceIsAnError) {
  EXPECT_TRUE(contains(
      error_of(model(node("Relu", {"x"}, {"y"}) + node("Relu", {"x"}, {"y"}) + input("x", 1, dim(1)) + output("y"))),
      "the name 'y' is given twice"));
}

TEST(OnnxImporter, AbsurdSizesOfAConstantAreAnError) {
  const std::string tensor = field(1, INT64_MAX) + field(1, INT64_MAX) + field(2, std::int64_t{1}) + field(8, "c");
  EXPECT_TRUE(contains(error_of(model(field(5, tensor) + output("c"))), "of a tensor are not possible"));
}

TEST(OnnxImporter, AConstantWithFewerValuesThanElementsIsAnError) {
  const std::string tensor = field(1, std::int64_t{1'000'000'000}) + field(2, std::int64_t{1}) + field(8, "c");
  EXPECT_TRUE(
      contains(error_of(model(field(5, tensor) + output("c"))), "a tensor of 1000000000 elements has values for 0"));
}

TEST(OnnxImporter, ExternalDataMayNotLeaveTheFolder) {
  for (const std::string_view location : {"../secret", "/etc/passwd", "a/../../b", ""}) {
    const std::string entry = field(13, field(1, "location") + field(2, location));
    const std::string tensor =
        field(1, std::int64_t{1}) + field(2, std::int64_t{1}) + field(8, "c") + entry + field(14, std::int64_t{1});
    EXPECT_TRUE(contains(error_of(model(field(5, tensor) + output("c"))), "external data at")) << location;
  }
}

TEST(OnnxImporter, FunctionsThatCallThemselvesAreAnError) {
  const std::string body = field(1, "F") + field(10, "own") + field(4, "a") + field(5, "b") +
                           field(7, field(1, "a") + field(2, "b") + field(4, "F") + field(7, "own"));
  const std::string call = field(1, field(1, "x") + field(2, "y") + field(4, "F") + field(7, "own"));
  EXPECT_TRUE(contains(error_of(model(call + input("x", 1, dim(1)) + output("y")) + field(25, body)),
                       "functions call each other"));
}

std::string axes_model() {
  return model(node("Unsqueeze", {"x", "axes"}, {"y"}) + input("x", 1, dim("B") + dim(4)) + input("axes", 7, dim("n")) +
               output("y"));
}

Tensor row(std::initializer_list<std::int64_t> values) {
  Tensor out(DType::kI64, {static_cast<std::int64_t>(values.size())});
  std::copy(values.begin(), values.end(), out.data_as<std::int64_t>());
  return out;
}

std::shared_ptr<ModelReader> reader_of(const std::string& bytes) {
  const auto owner = std::make_shared<std::string>(bytes);
  auto reader = ModelReader::open({*owner, owner});
  TW_CHECK(reader.ok(), "the model of a test can be read");
  return std::move(*reader);
}

TEST(OnnxQuestions, AxesThatAreAnInputAreAsked) {
  const auto imported = reader_of(axes_model())->import();
  ASSERT_TRUE(imported.ok()) << imported.error().message;
  EXPECT_EQ(imported->question, "input 'axes'");
  EXPECT_EQ(print(*imported->graph), "x: f32[B, 4]\naxes: i64[n]\nreturn axes as answer\n");
  ASSERT_EQ(imported->outputs.size(), 1U);
  EXPECT_EQ(imported->outputs[0].name, "y");
}

TEST(OnnxQuestions, AnAnswerGivesTheGraph) {
  const std::vector answers{row({0, 2})};
  const auto imported = reader_of(axes_model())->import(answers);
  ASSERT_TRUE(imported.ok()) << imported.error().message;
  EXPECT_EQ(imported->question, "");
  EXPECT_TRUE(contains(print(*imported->graph), "shape=[1, B, 1, 4]")) << print(*imported->graph);
}

TEST(OnnxQuestions, ASqueezeWithoutAxesAsksEachUnknownSizeOnce) {
  const auto reader = reader_of(model(node("Squeeze", {"x"}, {"y"}) + node("Squeeze", {"x"}, {"z"}) +
                                      input("x", 1, dim("B") + dim(4) + dim("B")) + output("y") + output("z")));
  const auto first = reader->import();
  ASSERT_TRUE(first.ok()) << first.error().message;
  EXPECT_TRUE(contains(first->question, "B")) << first->question;
  Tensor yes(DType::kI64, {});
  *yes.data_as<std::int64_t>() = 1;
  const auto second = reader->import(std::vector{yes});
  ASSERT_TRUE(second.ok()) << second.error().message;
  EXPECT_EQ(second->question, "");
  EXPECT_TRUE(contains(print(*second->graph), "shape=[4]")) << print(*second->graph);
}

TEST(OnnxQuestions, AModelWithAQuestionIsNoSingleGraph) {
  EXPECT_EQ(error_of(axes_model()), "the structure of the model depends on input 'axes', which only a call can tell");
}

TEST(OnnxQuestions, ABadAnswerIsAnError) {
  const auto imported = reader_of(axes_model())->import(std::vector{row({7})});
  ASSERT_FALSE(imported.ok());
  EXPECT_EQ(imported.error().message, "node 'y' (Unsqueeze): axis 7 is out of range for rank 3");
}

}  // namespace
}  // namespace tilewright::onnx
