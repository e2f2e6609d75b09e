// Binding of inputs, guards, regions, effects, late sizes and random numbers.
#include "tilewright/graph/eval/one_op.h"
#include "tilewright/tensor/philox.h"

namespace tilewright::testing {
namespace {

EvalOptions scalars(std::initializer_list<std::pair<const std::string, DimValue>> values) {
  EvalOptions options;
  options.scalars = values;
  return options;
}

TEST(EvalBinding, GuardNamesInputAxisExpressionAndActual) {
  EXPECT_EQ(
      error_text(run_text("y: f32[s0]\nx: f32[3, 2*s0]\nreturn x", {f32({4}, {1, 2, 3, 4}), f32({3, 7}, Numbers(21))})),
      "input 'x', axis 1: expected 2*s0 = 8, got 7");
}

TEST(EvalBinding, OneSymbolHasOneSize) {
  EXPECT_EQ(error_text(run_text("x: f32[s0]\ny: f32[s0]\nreturn x", {f32({1}, {1}), f32({2}, {1, 2})})),
            "input 'y', axis 0: expected s0 = 1, got 2");
}

TEST(EvalBinding, ALaterInputMayBindTheSymbol) {
  expect_numbers(checked(run_text("x: f32[s0 + 1]\ny: f32[s0]\nreturn x", {f32({2}, {5, 6}), f32({1}, {1})}))[0],
                 {5, 6});
}

TEST(EvalBinding, RankDtypeAndCountAreNamed) {
  const std::string_view text = "x: f32[s0, 4]\nreturn x";
  EXPECT_EQ(error_text(run_text(text, {f32({4}, {1, 2, 3, 4})})), "input 'x': expected rank 2, got rank 1");
  EXPECT_EQ(error_text(run_text(text, {f64({1, 4}, {1, 2, 3, 4})})), "input 'x': expected f32, got f64");
  EXPECT_EQ(error_text(run_text(text, {f32({1, 3}, {1, 2, 3})})), "input 'x', axis 1: expected 4, got 3");
  EXPECT_EQ(error_text(run_text(text, {})), "expected 1 inputs, got 0");
}

TEST(EvalBinding, ScalarsComeFromTheOptions) {
  const std::string_view text =
      "scalar n\nscalar %e\nx: f32[1]\na = scalar() dtype=f32 value=%e\ny = add(x, a)\n"
      "z = expand(y) shape=[n]\nreturn z";
  const auto options = scalars({{"n", {.integer = 2}}, {"e", {.real = 0.5}}});
  expect_numbers(checked(run_text(text, {f32({1}, {1})}, options))[0], {1.5, 1.5});
  EXPECT_EQ(error_text(run_text(text, {f32({1}, {1})})), "scalar input 'n' has no value");
}

TEST(EvalBinding, OutputsHaveMemoryOfTheirOwn) {
  const Tensor x = f32({2}, {1, 2});
  const auto out = checked(run_text("x: f32[2]\nreturn x, x", {x}));
  EXPECT_NE(out[0].data(), x.data());
  EXPECT_NE(out[0].data(), out[1].data());
}

TEST(EvalIf, RunsOneBranchAndBindsLateSizes) {
  const std::string_view text = R"(
      c: bool[]
      x: f32[s0]
      y = if(c) late=[u0] {
        capture a = x
        b = slice(a) start=[0] stop=[1] step=[1]
        return b
      } {
        capture a = x
        return a
      }
      z = neg(y)
      return z)";
  const Tensor x = f32({3}, {1, 2, 3});
  expect_numbers(checked(run_text(text, {boolean({}, {1}), x}))[0], {-1});
  expect_numbers(checked(run_text(text, {boolean({}, {0}), x}))[0], {-1, -2, -3});
}

TEST(EvalWhile, CarriesValuesAndCounts) {
  const std::string_view text = R"(
      n: i64[]
      one: i64[]
      zero: i64[]
      a, b = while(n, one) {
        i: i64[]
        p: i64[]
        capture z = zero
        go = gt(i, z)
        return go
      } {
        i: i64[]
        p: i64[]
        capture s = one
        q = mul(p, i)
        j = sub(i, s)
        return j, q
      }
      return a, b)";
  const Tensor one = i64({}, {1});
  const Tensor zero = i64({}, {0});
  const auto five = checked(run_text(text, {i64({}, {5}), one, zero}));
  expect_numbers(five[0], {0});
  expect_numbers(five[1], {120});
  expect_numbers(checked(run_text(text, {zero, one, zero}))[1], {1});
}

TEST(EvalWhile, AGrowingSizeIsBoundToItsLast) {
  const std::string_view text = R"(
      n: i64[]
      one: i64[]
      zero: i64[]
      x: f32[s0]
      i, y = while(n, x) {
        i: i64[]
        x: f32[m0]
        capture z = zero
        go = gt(i, z)
        return go
      } {
        i: i64[]
        x: f32[m1]
        capture s = one
        j = sub(i, s)
        w = concat(x, x) axis=0
        return j, w
      }
      z = neg(y)
      return z)";
  const auto out = checked(run_text(text, {i64({}, {2}), i64({}, {1}), i64({}, {0}), f32({1}, {3})}));
  expect_numbers(out[0], {-3, -3, -3, -3});
}

TEST(EvalCall, ASymbolOfTheRegionStandsForTheSizePassed) {
  const std::string_view text = R"(
      x: f32[s0]
      y: f32[s1]
      a = call(x) {
        v: f32[s1]
        n = neg(v)
        return n
      }
      return a, y)";
  expect_numbers(checked(run_text(text, {f32({2}, {1, 2}), f32({3}, {1, 2, 3})}))[0], {-1, -2});
}

TEST(EvalFused, RunsItsRegion) {
  const std::string_view text = "x: f32[s0]\ny = fused(x) kind=map {\n v: f32[s0]\n w = exp(v)\n return w\n}\nreturn y";
  expect_numbers(checked(run_text(text, {f32({2}, {0, -kInf})}))[0], {1, 0});
}

TEST(EvalAssign, WritesAtTheEndAndReadersSeeTheOldValue) {
  const Tensor a = f32({2}, {1, 2});
  const auto out = checked(run_text("a: f32[2]\nb = neg(a)\nassign(a, b)\nc = add(a, b)\nreturn c, a", {a}));
  expect_numbers(out[0], {0, 0});
  expect_numbers(out[1], {1, 2});
  expect_numbers(a, {-1, -2});
}

TEST(EvalAssign, BuffersCanBeExchanged) {
  const Tensor a = f32({1}, {1});
  const Tensor b = f32({1}, {2});
  checked(run_text("a: f32[1]\nb: f32[1]\nassign(a, b)\nassign(b, a)\nreturn a", {a, b}));
  expect_numbers(a, {2});
  expect_numbers(b, {1});
}

TEST(EvalAssign, WritesThroughStrides) {
  const Tensor memory = f32({4}, {1, 2, 3, 4});
  const Tensor a(DType::kF32, {2}, {-2}, memory.data_as<float>() + 3, memory.owner());
  checked(run_text("a: f32[2]\nb: f32[2]\nassign(a, b)\nreturn b", {a, f32({2}, {8, 9})}));
  expect_numbers(memory, {1, 9, 3, 8});
}

TEST(EvalAssign, AFailedRunWritesNothing) {
  const Tensor a = f32({1}, {1});
  const std::string_view text = "a: f32[1]\ni: i64[1]\nb = neg(a)\nassign(a, b)\nc = gather(a, i) axis=0\nreturn c";
  EXPECT_EQ(error_text(run_text(text, {a, i64({1}, {5})})),
            "'c' = gather: index 5 is out of range for axis 0 of size 1");
  expect_numbers(a, {1});
}

TEST(EvalAssign, WritesFromInsideARegion) {
  const std::string_view text = R"(
      c: bool[]
      a: f32[1]
      r = if(c) {
        capture b = a
        n = neg(b)
        assign(b, n)
        return n
      } {
        capture b = a
        return b
      }
      return r)";
  const Tensor a = f32({1}, {3});
  checked(run_text(text, {boolean({}, {0}), a}));
  expect_numbers(a, {3});
  checked(run_text(text, {boolean({}, {1}), a}));
  expect_numbers(a, {-3});
}

TEST(EvalIf, ARegionInARegionSeesOuterValues) {
  const std::string_view text = R"(
      c: bool[]
      x: f32[s0]
      r = if(c) {
        capture c1 = c
        capture x1 = x
        q = if(c1) {
          capture x2 = x1
          n = neg(x2)
          return n
        } {
          capture x2 = x1
          return x2
        }
        return q
      } {
        capture x1 = x
        return x1
      }
      return r)";
  expect_numbers(checked(run_text(text, {boolean({}, {1}), f32({1}, {3})}))[0], {-3});
}

TEST(EvalAssert, GivesItsMessage) {
  const std::string_view text = "x: f32[s0]\nassert() condition=le(s0, 2) message=\"too long\"\nreturn x";
  EXPECT_EQ(error_text(run_text(text, {f32({3}, {1, 2, 3})})), "assert: too long");
  expect_numbers(checked(run_text(text, {f32({2}, {1, 2})}))[0], {1, 2});
}

TEST(EvalHostCall, RunsTheHostFunctionOrSaysThereIsNone) {
  Graph graph;
  const TensorType type{DType::kF32, {Dim::symbol("s0")}};
  const ValueId x = graph.add_input(type, "x");
  const NodeId node = graph.add_node(Op::kHostCall, {x}, {{"target", std::int64_t{7}}}, {type}, {}, "y");
  graph.set_outputs(graph.node(node).outputs);
  const Tensor in[] = {f32({1}, {4})};
  EXPECT_EQ(error_text(eval(graph, in)), "'y' = host_call: host function 7 is not available");
  EvalOptions options;
  options.host_call = [](std::int64_t target, std::span<const Tensor> inputs) -> Outcome {
    return std::vector<Tensor>{f32({1}, {numbers(inputs[0])[0] + static_cast<double>(target)})};
  };
  expect_numbers(checked(eval(graph, in, options))[0], {11});
}

TEST(EvalHostCall, AResultThatContradictsItsTypeIsNamed) {
  Graph graph;
  const TensorType type{DType::kF32, {Dim::symbol("s0")}};
  const ValueId x = graph.add_input(type, "x");
  const NodeId node = graph.add_node(Op::kHostCall, {x}, {{"target", std::int64_t{7}}}, {type}, {}, "y");
  graph.set_outputs(graph.node(node).outputs);
  EvalOptions options;
  options.host_call = [](std::int64_t, std::span<const Tensor>) -> Outcome {
    return std::vector<Tensor>{f32({2}, {1, 2})};
  };
  const Tensor in[] = {f32({1}, {4})};
  EXPECT_EQ(error_text(eval(graph, in, options)), "'y' = host_call: result 'y', axis 0: expected s0 = 1, got 2");
}

TEST(EvalLate, NonZeroBindsItsCount) {
  const std::string_view text =
      "x: f32[2, 2]\ny = nonzero(x) count=u0\nz = iota() dtype=i64 shape=[u0] axis=0\nreturn y, z";
  const auto out = checked(run_text(text, {f32({2, 2}, {0, 1, kNan, 0})}));
  EXPECT_EQ(sizes_of(out[0]), (Ints{2, 2}));
  expect_numbers(out[0], {0, 1, 1, 0});
  expect_numbers(out[1], {0, 1});
}

TEST(EvalLate, NonZeroOfAScalarHasNoCoordinates) {
  EXPECT_EQ(sizes_of(checked(run_text("x: f32[]\ny = nonzero(x) count=u0\nreturn y", {f32({}, {3})}))[0]),
            (Ints{1, 0}));
  EXPECT_EQ(sizes_of(checked(run_text("x: f32[]\ny = nonzero(x) count=u0\nreturn y", {f32({}, {0})}))[0]),
            (Ints{0, 0}));
}

TEST(EvalLate, ItemBecomesASize) {
  const std::string_view text = "n: i64[]\nx: f32[1]\nitem(n) symbol=u0\ny = expand(x) shape=[2*u0]\nreturn y";
  expect_numbers(checked(run_text(text, {i64({}, {2}), f32({1}, {5})}))[0], {5, 5, 5, 5});
  EXPECT_EQ(error_text(run_text(text, {i64({}, {-1}), f32({1}, {5})})), "'y' = expand: size -2 of axis 0 is negative");
}

TEST(EvalLate, AnImpossibleSizeIsAnErrorNotACrash) {
  const std::string_view text = "n: i64[]\nx: f32[1]\nitem(n) symbol=u0\ny = expand(x) shape=[u0, u0]\nreturn y";
  EXPECT_EQ(error_text(run_text(text, {store(DType::kI64, {}, Elements<std::int64_t>{INT64_MAX}), f32({1}, {5})})),
            "'y' = expand: the sizes up to axis 0 = 9223372036854775807 exceed any memory");
}

TEST(EvalLate, ASizeThatOverflowsIsAnError) {
  const std::string_view text = "n: i64[]\nx: f32[1]\nitem(n) symbol=u0\ny = expand(x) shape=[2*u0]\nreturn y";
  const Tensor n = store(DType::kI64, {}, Elements<std::int64_t>{INT64_MAX});
  EXPECT_NE(error_text(run_text(text, {n, f32({1}, {5})})).find("overflow"), std::string::npos);
}

TEST(EvalLate, UniqueSortsCountsAndInverts) {
  const std::string_view text = "x: f32[s0]\na, b, c = unique(x) count=u0\nreturn a, b, c";
  const auto out = checked(run_text(text, {f32({6}, {3, 1, 3, kNan, 2, kNan})}));
  expect_numbers(out[0], {1, 2, 3, kNan, kNan});
  expect_numbers(out[1], {2, 0, 2, 3, 1, 4});
  expect_numbers(out[2], {1, 1, 2, 1, 1});
  EXPECT_EQ(checked(run_text(text, {f32({0}, {})}))[0].count(), 0);
}

TEST(EvalRandom, ElementsFollowTheStream) {
  const Attrs attrs{{"dtype", DType::kF32}, {"shape", Dims{2, 3}}};
  const Numbers out = numbers(run_op(Op::kRandom, {i64({2}, {42, 3})}, attrs));
  const RandomStream stream{42, 3};
  for (std::size_t i = 0; i < out.size(); ++i) EXPECT_EQ(out[i], uniform_f32(stream.word(i)));
}

TEST(EvalRandom, BitsOf64UseTwoWords) {
  const Attrs attrs{{"dtype", DType::kI64}, {"shape", Dims{3}}, {"distribution", std::string("bits")}};
  const auto out = load<std::int64_t>(run_op(Op::kRandom, {i64({2}, {1, 0})}, attrs));
  const RandomStream stream{1, 0};
  EXPECT_EQ(static_cast<std::uint64_t>(out[2]), stream.word(4) | static_cast<std::uint64_t>(stream.word(5)) << 32);
}

TEST(EvalRandom, EveryFloatDtypeStaysInRange) {
  for (const DType dtype : {DType::kF32, DType::kF64, DType::kF16, DType::kBF16}) {
    for (const double x : numbers(run_op(Op::kRandom, {i64({2}, {9, 0})}, {{"dtype", dtype}, {"shape", Dims{999}}}))) {
      ASSERT_TRUE(x >= 0 && x < 1) << to_string(dtype) << " " << x;
    }
  }
}

}  // namespace
}  // namespace tilewright::testing
