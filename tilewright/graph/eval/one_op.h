// For tests: runs one op, or a graph in text form, through the oracle, and shows tensors as plain numbers.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tilewright/graph/builder.h"
#include "tilewright/graph/eval/elements.h"
#include "tilewright/graph/eval/eval.h"

namespace tilewright::testing {

using Numbers = std::vector<double>;
using Outcome = Result<std::vector<Tensor>>;

// A tensor of `dtype`; the numbers are rounded or wrapped to it.
inline Tensor tensor(DType dtype, Ints sizes, const Numbers& numbers) {
  if (is_float(dtype)) return store(dtype, std::move(sizes), numbers);
  return store(dtype, std::move(sizes), Elements<std::int64_t>(numbers.begin(), numbers.end()));
}
inline Tensor f32(Ints sizes, const Numbers& numbers) {
  return tensor(DType::kF32, std::move(sizes), numbers);
}
inline Tensor f64(Ints sizes, const Numbers& numbers) {
  return tensor(DType::kF64, std::move(sizes), numbers);
}
inline Tensor i64(Ints sizes, const Numbers& numbers) {
  return tensor(DType::kI64, std::move(sizes), numbers);
}
inline Tensor boolean(Ints sizes, const Numbers& numbers) {
  return tensor(DType::kBool, std::move(sizes), numbers);
}

// Elements in row-major order.
inline Numbers numbers(const Tensor& tensor) {
  if (is_float(tensor.dtype())) return load<double>(tensor);
  const Elements<std::int64_t> elements = load<std::int64_t>(tensor);
  return Numbers(elements.begin(), elements.end());
}

// One node over inputs of exactly these sizes. The builder may refuse what it can see to be wrong.
inline Outcome try_op(Op op, std::vector<Tensor> inputs, Attrs attrs = {}) {
  Graph graph;
  std::vector<ValueId> values;
  for (const Tensor& input : inputs) {
    const TensorType type{input.dtype(), Shape(input.sizes().begin(), input.sizes().end())};
    values.push_back(graph.add_input(type, "x"));
  }
  Builder builder(graph);
  auto results = builder.op(op, values, std::move(attrs), {}, "y");
  if (!results.ok()) return std::move(results).error();
  graph.set_outputs(*results);
  return eval(graph, inputs);
}

// The same with every size a symbol of its own, so that only the oracle can see what is wrong.
inline Outcome try_op_unseen(Op op, std::vector<Tensor> inputs, Attrs attrs = {}) {
  Graph graph;
  std::vector<ValueId> values;
  int next = 0;
  for (const Tensor& input : inputs) {
    TensorType type{input.dtype(), {}};
    for (std::size_t axis = 0; axis < input.rank(); ++axis)
      type.shape.push_back(Dim::symbol("s" + std::to_string(next++)));
    values.push_back(graph.add_input(type, "x"));
  }
  Builder builder(graph);
  auto results = builder.op(op, values, std::move(attrs), {}, "y");
  if (!results.ok()) return std::move(results).error();
  graph.set_outputs(*results);
  return eval(graph, inputs);
}

inline std::vector<Tensor> checked(Outcome outcome) {
  if (!outcome.ok()) {
    ADD_FAILURE() << outcome.error().message;
    return std::vector<Tensor>(4);
  }
  return std::move(outcome).value();
}

inline Tensor run_op(Op op, std::vector<Tensor> inputs, Attrs attrs = {}) {
  return checked(try_op(op, std::move(inputs), std::move(attrs)))[0];
}

inline std::string error_text(const Outcome& outcome) {
  return outcome.ok() ? "no error" : outcome.error().message;
}

// A graph in text form.
inline Outcome run_text(std::string_view text, std::vector<Tensor> inputs, const EvalOptions& options = {}) {
  Result<std::unique_ptr<Graph>> graph = parse_graph(text);
  if (!graph.ok()) return std::move(graph).error();
  return eval(**graph, inputs, options);
}

// Equal numbers, nan equal to nan.
inline void expect_numbers(const Tensor& actual, const Numbers& expected, double tolerance = 0) {
  const Numbers got = numbers(actual);
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (std::isnan(expected[i])) {
      EXPECT_TRUE(std::isnan(got[i])) << "element " << i << " is " << got[i];
    } else if (tolerance == 0 || std::isinf(expected[i])) {
      EXPECT_EQ(got[i], expected[i]) << "element " << i;
    } else {
      EXPECT_NEAR(got[i], expected[i], tolerance * (1 + std::fabs(expected[i]))) << "element " << i;
    }
  }
}

inline constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
inline constexpr double kInf = std::numeric_limits<double>::infinity();

}  // namespace tilewright::testing
