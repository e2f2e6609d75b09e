// A model whose axes are an input: each call gets the graph that its values ask for.
#include <gtest/gtest.h>

#include <thread>

#include "tilewright/frontends/onnx/model_testing.h"
#include "tilewright/runtime/model.h"
#include "tilewright/runtime/model_variants.h"

namespace tilewright::runtime {
namespace {
using namespace onnx::testing;

std::unique_ptr<Model> load_reduce() {
  const std::string bytes = onnx::testing::model(node("ReduceSum", {"x", "axes"}, {"y"}, attribute("keepdims", 0)) +
                                                 onnx::testing::input("x", 1, dim("A") + dim("B")) +
                                                 onnx::testing::input("axes", 7, dim("n")) + output("y"));
  auto model = Model::load(std::as_bytes(std::span(bytes)));
  TW_CHECK(model.ok(), "the model of a test is right");
  return std::move(*model);
}

Tensor ones(std::vector<std::int64_t> sizes) {
  Tensor out(DType::kF32, std::move(sizes));
  std::fill_n(out.data_as<float>(), out.count(), 1.0F);
  return out;
}

Tensor axes(std::vector<std::int64_t> values) {
  Tensor out(DType::kI64, {static_cast<std::int64_t>(values.size())});
  std::copy(values.begin(), values.end(), out.data_as<std::int64_t>());
  return out;
}

void expect_sum(Model& model, std::int64_t axis) {
  const auto got = model.run(std::vector{ones({2, 3}), axes({axis})});
  ASSERT_TRUE(got.ok()) << got.error().message;
  ASSERT_EQ((*got)[0].rank(), 1U);
  EXPECT_EQ((*got)[0].sizes()[0], axis == 0 ? 3 : 2);
  EXPECT_EQ((*got)[0].data_as<float>()[0], axis == 0 ? 2.0F : 3.0F);
}

TEST(ModelVariants, ACallGetsTheGraphOfItsValues) {
  const auto model = load_reduce();
  EXPECT_EQ(model->question(), "input 'axes'");
  for (const std::int64_t axis : {0, 1, 0, 1}) expect_sum(*model, axis);
  const auto both = model->run(std::vector{ones({2, 3}), axes({0, 1})});
  ASSERT_TRUE(both.ok()) << both.error().message;
  EXPECT_EQ((*both)[0].rank(), 0U);
}

TEST(ModelVariants, CallsFromThreadsGetTheirOwn) {
  const auto model = load_reduce();
  std::vector<std::thread> threads;
  for (std::int64_t i = 0; i < 4; ++i) {
    threads.emplace_back([&model, i] {
      for (int trip = 0; trip < 50; ++trip) expect_sum(*model, (i + trip) % 2);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(ModelVariants, ABadValueNamesTheInputAndItsElements) {
  const auto model = load_reduce();
  const auto got = model->run(std::vector{ones({2, 3}), axes({5})});
  ASSERT_FALSE(got.ok());
  EXPECT_EQ(got.error().message, "where input 'axes' is [5]: node 'y' (ReduceSum): axis 5 is out of range for rank 2");
  expect_sum(*model, 1);
}

TEST(ModelVariants, AreStoredAsTheModelTheyComeFrom) {
  const auto model = load_reduce();
  const std::string path = testing::TempDir() + "/variants.tilewright";
  ASSERT_TRUE(model->save(path).ok());
  const auto again = Model::load(path);
  ASSERT_TRUE(again.ok()) << again.error().message;
  for (const std::int64_t axis : {1, 0}) expect_sum(**again, axis);
}

TEST(ModelVariants, AnUnknownWeightIsRefused) {
  const auto model = load_reduce();
  EXPECT_EQ(model->set_weight("w", ones({1})).error().message, "the model has no weight 'w'");
}

}  // namespace
}  // namespace tilewright::runtime
