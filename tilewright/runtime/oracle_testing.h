// For tests: the same graph text, run by sessions on every machine and by graph/eval, on random inputs of given sizes.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>

#include "tilewright/graph/eval/eval.h"
#include "tilewright/runtime/session.h"
#include "tilewright/vm/cpu/machine.h"

namespace tilewright::runtime::testing {

using Shapes = std::vector<std::vector<std::int64_t>>;

// Floats in [-2, 2), integers in [-5, 5] (unsigned and bool from 0). Every seventh float is a small integer, so that
// ties occur.
inline Tensor random_tensor(DType dtype, std::vector<std::int64_t> sizes, std::uint32_t seed) {
  Tensor out(dtype, std::move(sizes));
  std::mt19937 engine(seed);
  visit(dtype, [&]<typename T>() {
    std::uniform_real_distribution<float> real(-2.0f, 2.0f);
    const int lowest = dtype == DType::kU8 || dtype == DType::kBool ? 0 : -5;
    std::uniform_int_distribution<int> integer(lowest, dtype == DType::kBool ? 1 : 5);
    for (std::int64_t i = 0; i < out.count(); ++i) {
      const int whole = integer(engine);
      const float value = i % 7 == 3 ? static_cast<float>(whole % 2) : real(engine);
      if constexpr (std::is_integral_v<T>) {
        out.data_as<T>()[i] = static_cast<T>(whole);
      } else {
        out.data_as<T>()[i] = static_cast<T>(value);
      }
    }
  });
  return out;
}

inline void expect_near(const Tensor& got, const Tensor& want, double tolerance) {
  ASSERT_EQ(std::vector(got.sizes().begin(), got.sizes().end()), std::vector(want.sizes().begin(), want.sizes().end()));
  ASSERT_EQ(got.dtype(), want.dtype());
  visit(got.dtype(), [&]<typename T>() {
    for (std::int64_t i = 0; i < got.count(); ++i) {
      const auto a = static_cast<double>(got.data_as<T>()[i]), b = static_cast<double>(want.data_as<T>()[i]);
      if (std::isnan(b)) {
        ASSERT_TRUE(std::isnan(a)) << "element " << i;
      } else if (std::isinf(b) || tolerance == 0) {
        ASSERT_EQ(a, b) << "element " << i;
      } else {
        ASSERT_NEAR(a, b, tolerance * std::max(1.0, std::abs(b))) << "element " << i;
      }
    }
  });
}

inline std::vector<std::unique_ptr<vm::Machine>>& machines() {
  static std::vector<std::unique_ptr<vm::Machine>> all = [] {
    std::vector<std::unique_ptr<vm::Machine>> made;
    made.push_back(vm::make_reference_machine());
    for (std::string_view level : vm::cpu_levels()) {
      auto machine = vm::make_cpu_machine({std::string(level)});
      if (machine.ok()) made.push_back(std::move(machine).value());
    }
    return made;
  }();
  return all;
}

inline std::unique_ptr<Session> compile(std::string_view text, vm::Machine& machine) {
  auto graph = parse_graph(text);
  EXPECT_TRUE(graph.ok()) << (graph.ok() ? "" : graph.error().message);
  if (!graph.ok()) return nullptr;
  SessionOptions options;
  options.machine = &machine;
  options.pipeline.verify_each = true;
  auto session = Session::compile(std::move(*graph), options);
  EXPECT_TRUE(session.ok()) << (session.ok() ? "" : session.error().message);
  return session.ok() ? std::move(session).value() : nullptr;
}

// Runs `text` on `inputs` on every machine and compares with the oracle.
inline void expect_oracle_on(std::string_view text, const std::vector<std::vector<Tensor>>& calls, double tolerance) {
  auto graph = parse_graph(text);
  ASSERT_TRUE(graph.ok()) << graph.error().message;
  for (auto& machine : machines()) {
    SCOPED_TRACE(std::string(machine->traits().name));
    auto session = compile(text, *machine);
    ASSERT_NE(session, nullptr);
    for (const std::vector<Tensor>& inputs : calls) {
      SCOPED_TRACE(::testing::Message() << "call " << &inputs - calls.data());
      auto want = eval(**graph, inputs);
      ASSERT_TRUE(want.ok()) << want.error().message;
      auto got = session->run(inputs);
      ASSERT_TRUE(got.ok()) << got.error().message;
      ASSERT_EQ(got->size(), want->size());
      for (std::size_t i = 0; i < want->size(); ++i) {
        SCOPED_TRACE(::testing::Message() << "result " << i);
        expect_near((*got)[i], (*want)[i], tolerance);
      }
    }
  }
}

// With random inputs of the sizes of each call.
inline void expect_oracle(std::string_view text, const std::vector<Shapes>& shapes, double tolerance = 0) {
  auto graph = parse_graph(text);
  ASSERT_TRUE(graph.ok()) << graph.error().message;
  std::vector<std::vector<Tensor>> calls;
  for (const Shapes& sizes : shapes) {
    std::vector<Tensor> inputs;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      inputs.push_back(
          random_tensor((*graph)->type((*graph)->inputs()[i]).dtype, sizes[i], static_cast<std::uint32_t>(i + 1)));
    }
    calls.push_back(std::move(inputs));
  }
  expect_oracle_on(text, calls, tolerance);
}

// The error that every machine gives for `inputs`; they must agree.
inline std::string run_error(std::string_view text, const std::vector<Tensor>& inputs) {
  std::string message;
  for (auto& machine : machines()) {
    auto session = compile(text, *machine);
    if (session == nullptr) return "no session";
    auto got = session->run(inputs);
    const std::string now = got.ok() ? "no error" : got.error().message;
    EXPECT_TRUE(message.empty() || now == message) << machine->traits().name << ": " << now;
    message = now;
  }
  return message;
}

// `text` once per dtype, which replaces "DTYPE".
inline std::string with_dtype(std::string_view text, DType dtype) {
  std::string out(text);
  for (std::size_t at; (at = out.find("DTYPE")) != std::string::npos;) out.replace(at, 5, to_string(dtype));
  return out;
}
inline constexpr DType kAllDTypes[] = {DType::kF32, DType::kF64, DType::kF16, DType::kBF16, DType::kI8,
                                       DType::kU8,  DType::kI16, DType::kI32, DType::kI64,  DType::kBool};

}  // namespace tilewright::runtime::testing
