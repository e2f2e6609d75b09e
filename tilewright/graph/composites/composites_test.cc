// Composites against their formulas, written directly in double; and their definitions at symbolic sizes.
#include "tilewright/graph/composites/composites.h"

#include <cmath>

#include "tilewright/graph/eval/one_op.h"

namespace tilewright::testing {
namespace {

// Numbers without a pattern that an axis mistake could keep: sin of growing steps.
Numbers wave(std::int64_t count, double phase = 0) {
  Numbers out;
  for (std::int64_t i = 0; i < count; ++i) out.push_back(3 * std::sin(static_cast<double>(i * i) * 0.7 + phase));
  return out;
}

Numbers map(const Numbers& x, double (*f)(double)) {
  Numbers out;
  for (const double value : x) out.push_back(f(value));
  return out;
}

TEST(Composite, ActivationsFollowTheirFormulas) {
  const Numbers x = wave(40);
  const auto run = [&](Op op, Attrs attrs = {}) { return run_op(op, {f64({40}, x)}, std::move(attrs)); };
  expect_numbers(run(Op::kGelu), map(x, [](double v) { return v * std::erfc(-v / std::sqrt(2.0)) / 2; }), 1e-14);
  expect_numbers(
      run(Op::kGelu, {{"tanh", true}}),
      map(x, [](double v) { return v / 2 * (1 + std::tanh(std::sqrt(2 / M_PI) * (v + 0.044715 * v * v * v))); }),
      1e-14);
  expect_numbers(run(Op::kSilu), map(x, [](double v) { return v / (1 + std::exp(-v)); }), 1e-14);
  expect_numbers(run(Op::kLeakyRelu, {{"slope", Dim::real(0.1)}}), map(x, [](double v) { return v > 0 ? v : 0.1 * v; }),
                 1e-14);
  expect_numbers(run(Op::kElu, {{"alpha", Dim::real(1.5)}, {"scale", Dim(2)}, {"input_scale", Dim::real(0.5)}}),
                 map(x, [](double v) { return 2 * (v > 0 ? v : 1.5 * (std::exp(v * 0.5) - 1)); }), 1e-14);
  expect_numbers(run(Op::kSoftplus, {{"beta", Dim(2)}, {"threshold", Dim(5)}}),
                 map(x, [](double v) { return 2 * v > 5 ? v : std::log(1 + std::exp(2 * v)) / 2; }), 1e-14);
  expect_numbers(run(Op::kHardSigmoid), map(x, [](double v) { return std::fmin(std::fmax(v + 3, 0), 6) / 6; }), 1e-14);
  expect_numbers(run(Op::kHardSwish), map(x, [](double v) { return v * std::fmin(std::fmax(v + 3, 0), 6) / 6; }),
                 1e-14);
  expect_numbers(run(Op::kMish), map(x, [](double v) { return v * std::tanh(std::log(1 + std::exp(v))); }), 1e-14);
}

TEST(Composite, ActivationsOfExtremes) {
  const Tensor x = f32({4}, {-kInf, -1000, 1000, kNan});
  expect_numbers(run_op(Op::kMish, {x}), {kNan, 0, 1000, kNan});
  expect_numbers(run_op(Op::kSoftplus, {x}), {0, 0, 1000, kNan});
  expect_numbers(run_op(Op::kElu, {x}), {-1, -1, 1000, kNan});
  expect_numbers(run_op(Op::kHardSwish, {x}), {kNan, 0, 1000, kNan});
}

TEST(Composite, SoftmaxAlongEachAxis) {
  const Numbers x = wave(24);
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const Ints sizes{2, 3, 4};
    Numbers expected, logs;
    for_each_index(sizes, [&](const Ints& index) {
      double sum = 0;
      Ints other = index;
      for (other[axis] = 0; other[axis] < sizes[axis]; ++other[axis])
        sum += std::exp(x[static_cast<std::size_t>(position(other, sizes))]);
      const double value = x[static_cast<std::size_t>(position(index, sizes))];
      expected.push_back(std::exp(value) / sum);
      logs.push_back(value - std::log(sum));
    });
    const Attrs attrs{{"axis", static_cast<std::int64_t>(axis)}};
    expect_numbers(run_op(Op::kSoftmax, {f64(sizes, x)}, attrs), expected, 1e-14);
    expect_numbers(run_op(Op::kLogSoftmax, {f64(sizes, x)}, attrs), logs, 1e-14);
  }
}

TEST(Composite, SoftmaxOfLargeNumbersAndOfMinusInfinity) {
  const Tensor x = f32({3, 2}, {1e38, 1e38, -kInf, -kInf, -kInf, 0});
  expect_numbers(run_op(Op::kSoftmax, {x}, {{"axis", 1}}), {0.5, 0.5, kNan, kNan, 0, 1});
}

TEST(Composite, SoftmaxOfNothing) {
  EXPECT_EQ(sizes_of(run_op(Op::kSoftmax, {f32({2, 0}, {})}, {{"axis", 1}})), (Ints{2, 0}));
}

// (x - mean) / sqrt(var + eps) over groups of `size` elements in a row.
Numbers normalised(const Numbers& x, std::size_t size, double eps) {
  Numbers out;
  for (std::size_t start = 0; start < x.size(); start += size) {
    double mean = 0, variance = 0;
    for (std::size_t i = start; i < start + size; ++i) mean += x[i] / static_cast<double>(size);
    for (std::size_t i = start; i < start + size; ++i)
      variance += (x[i] - mean) * (x[i] - mean) / static_cast<double>(size);
    for (std::size_t i = start; i < start + size; ++i) out.push_back((x[i] - mean) / std::sqrt(variance + eps));
  }
  return out;
}

TEST(Composite, LayerNormOverOneAndTwoAxes) {
  const Numbers x = wave(24), w = wave(4, 1), b = wave(4, 2);
  Numbers expected = normalised(x, 4, 0.01);
  expect_numbers(run_op(Op::kLayerNorm, {f64({2, 3, 4}, x)}, {{"num_axes", 1}, {"eps", Dim::real(0.01)}}), expected,
                 1e-13);
  for (std::size_t i = 0; i < x.size(); ++i) expected[i] = expected[i] * w[i % 4] + b[i % 4];
  expect_numbers(run_op(Op::kLayerNorm, {f64({2, 3, 4}, x), f64({4}, w), f64({4}, b)},
                        {{"num_axes", 1}, {"eps", Dim::real(0.01)}}),
                 expected, 1e-13);
  expect_numbers(run_op(Op::kLayerNorm, {f64({2, 3, 4}, x)}, {{"num_axes", 2}, {"eps", Dim::real(0.01)}}),
                 normalised(x, 12, 0.01), 1e-13);
}

TEST(Composite, LayerNormFarFromZero) {
  Numbers x{10000, 10001, 10002, 10003};
  expect_numbers(run_op(Op::kLayerNorm, {f32({4}, x)}, {{"num_axes", 1}, {"eps", Dim::real(1e-5)}}),
                 normalised(x, 4, 1e-5), 1e-6);
}

TEST(Composite, RmsNorm) {
  const Numbers x = wave(12), w = wave(4, 1);
  Numbers expected;
  for (std::size_t row = 0; row < 3; ++row) {
    double squares = 0;
    for (std::size_t i = 0; i < 4; ++i) squares += x[row * 4 + i] * x[row * 4 + i];
    for (std::size_t i = 0; i < 4; ++i) expected.push_back(x[row * 4 + i] / std::sqrt(squares / 4 + 0.1) * w[i]);
  }
  expect_numbers(run_op(Op::kRmsNorm, {f64({3, 4}, x), f64({4}, w)}, {{"num_axes", 1}, {"eps", Dim::real(0.1)}}),
                 expected, 1e-13);
}

TEST(Composite, GroupNormScalesChannels) {
  const Numbers x = wave(2 * 4 * 3), w = wave(4, 1), b = wave(4, 2);
  Numbers expected = normalised(x, 6, 0.1);
  for (std::size_t i = 0; i < x.size(); ++i) expected[i] = expected[i] * w[i / 3 % 4] + b[i / 3 % 4];
  expect_numbers(
      run_op(Op::kGroupNorm, {f64({2, 4, 3}, x), f64({4}, w), f64({4}, b)}, {{"groups", 2}, {"eps", Dim::real(0.1)}}),
      expected, 1e-13);
}

TEST(Composite, BatchNormUsesTheGivenStatistics) {
  const Tensor out =
      run_op(Op::kBatchNorm,
             {f64({1, 2, 2}, {1, 2, 3, 4}), f64({2}, {2, 3}), f64({2}, {10, 20}), f64({2}, {1, 3}), f64({2}, {3, 0})},
             {{"eps", Dim(1)}});
  expect_numbers(out, {10, 11, 20, 23}, 1e-14);
}

struct AttentionCase {
  std::int64_t batch = 2, heads = 4, groups = 2, queries = 3, keys = 5, depth = 4, value = 3;
  bool causal = false;
  double scale = 0.5;
};

// Straight from the definition; hidden(b, h, s, t) adds to a score.
template <typename F>
Numbers attend(const AttentionCase& c, const Numbers& q, const Numbers& k, const Numbers& v, F&& added) {
  Numbers out;
  for_each_index(Ints{c.batch, c.heads, c.queries}, [&](const Ints& at) {
    const std::int64_t group = at[1] * c.groups / c.heads;
    Numbers weights;
    double sum = 0;
    for (std::int64_t t = 0; t < c.keys; ++t) {
      double score = 0;
      for (std::int64_t d = 0; d < c.depth; ++d) {
        score += q[static_cast<std::size_t>(((at[0] * c.heads + at[1]) * c.queries + at[2]) * c.depth + d)] *
                 k[static_cast<std::size_t>(((at[0] * c.groups + group) * c.keys + t) * c.depth + d)];
      }
      const double hidden = c.causal && t > at[2] ? -kInf : added(at, t);
      weights.push_back(std::exp(score * c.scale + hidden));
      sum += weights.back();
    }
    for (std::int64_t e = 0; e < c.value; ++e) {
      double value = 0;
      for (std::int64_t t = 0; t < c.keys && sum > 0; ++t) {
        value += weights[static_cast<std::size_t>(t)] / sum *
                 v[static_cast<std::size_t>(((at[0] * c.groups + group) * c.keys + t) * c.value + e)];
      }
      out.push_back(value);
    }
  });
  return out;
}

void check_attention(const AttentionCase& c, const Tensor* mask, auto&& added) {
  const Numbers q = wave(c.batch * c.heads * c.queries * c.depth);
  const Numbers k = wave(c.batch * c.groups * c.keys * c.depth, 1);
  const Numbers v = wave(c.batch * c.groups * c.keys * c.value, 2);
  std::vector<Tensor> in{f64({c.batch, c.heads, c.queries, c.depth}, q), f64({c.batch, c.groups, c.keys, c.depth}, k),
                         f64({c.batch, c.groups, c.keys, c.value}, v)};
  if (mask != nullptr) in.push_back(*mask);
  const Tensor out = run_op(Op::kAttention, in, {{"scale", Dim::real(c.scale)}, {"causal", c.causal}});
  EXPECT_EQ(sizes_of(out), (Ints{c.batch, c.heads, c.queries, c.value}));
  expect_numbers(out, attend(c, q, k, v, added), 1e-13);
}

constexpr auto kNothingAdded = [](const Ints&, std::int64_t) { return 0.0; };

TEST(Composite, AttentionWithGroupedHeads) {
  check_attention({}, nullptr, kNothingAdded);
}
TEST(Composite, AttentionWithOneGroupPerHead) {
  check_attention({.groups = 4}, nullptr, kNothingAdded);
}
TEST(Composite, AttentionWithOneGroup) {
  check_attention({.groups = 1}, nullptr, kNothingAdded);
}
TEST(Composite, CausalAttention) {
  check_attention({.queries = 5, .causal = true}, nullptr, kNothingAdded);
}
TEST(Composite, CausalAttentionOfUnequalLengths) {
  check_attention({.queries = 7, .causal = true}, nullptr, kNothingAdded);
}

TEST(Composite, ARowThatAttendsToNothingIsNanOnRequest) {
  const Numbers ones(6, 1.0);
  const Tensor mask = f64({1, 3}, Numbers(3, -std::numeric_limits<double>::infinity()));
  const std::vector<Tensor> in{f64({1, 1, 1, 2}, {1, 1}), f64({1, 1, 3, 2}, ones), f64({1, 1, 3, 2}, ones), mask};
  const Tensor out = run_op(Op::kAttention, in, {{"scale", Dim::real(1.0)}, {"empty_is_nan", true}});
  expect_numbers(out, Numbers(2, std::numeric_limits<double>::quiet_NaN()), 0);
}

TEST(Composite, AttentionWithAFloatMask) {
  const Numbers m = wave(5, 3);
  const Tensor mask = f64({5}, m);
  check_attention({}, &mask, [&](const Ints&, std::int64_t t) { return m[static_cast<std::size_t>(t)]; });
}

TEST(Composite, ARowThatAttendsToNothingIsZero) {
  const Tensor mask = boolean({2, 1, 3, 1}, {1, 0, 1, 0, 0, 1});
  check_attention({}, &mask, [&](const Ints& at, std::int64_t) {
    return numbers(mask)[static_cast<std::size_t>(at[0] * 3 + at[2])] != 0 ? 0.0 : -kInf;
  });
}

TEST(Composite, AttentionToNoKeysIsZero) {
  const Tensor out =
      run_op(Op::kAttention, {f32({1, 1, 2, 2}, {1, 2, 3, 4}), f32({1, 1, 0, 2}, {}), f32({1, 1, 0, 1}, {})},
             {{"scale", Dim(1)}});
  expect_numbers(out, {0, 0});
}

TEST(Composite, HalfComputesInSingle) {
  // The sum of squares, 4 * 300**2, exceeds the largest f16.
  const Tensor x = tensor(DType::kF16, {4}, {300, -300, 300, -300});
  const Tensor out = run_op(Op::kLayerNorm, {x}, {{"num_axes", 1}, {"eps", Dim::real(1e-5)}});
  EXPECT_EQ(out.dtype(), DType::kF16);
  expect_numbers(out, {1, -1, 1, -1}, 1e-3);
}

struct SymbolicCase {
  Op op;
  std::vector<Ints> sizes;
  Attrs attrs;
  std::vector<DType> dtypes = {};  // of the inputs; else all are of the dtype that is tried
};

std::vector<SymbolicCase> symbolic_cases() {
  const Dim eps = Dim::real(1e-3);
  return {{Op::kRoll, {{2, 5}}, {{"axes", Ints{1}}, {"shift", Dims{2}}}},
          {Op::kReduceMean, {{2, 5}}, {{"axes", Ints{0}}}},
          {Op::kVariance, {{2, 5}}, {{"axes", Ints{0, 1}}, {"keepdim", true}}},
          {Op::kLogSumExp, {{2, 5}}, {{"axes", Ints{1}}}},
          {Op::kSoftmax, {{2, 5}}, {{"axis", 0}}},
          {Op::kLogSoftmax, {{2, 5}}, {{"axis", 1}}},
          {Op::kLayerNorm, {{2, 5}, {5}, {5}}, {{"num_axes", 1}, {"eps", eps}}},
          {Op::kRmsNorm, {{2, 5}, {5}}, {{"num_axes", 1}, {"eps", eps}}},
          {Op::kGroupNorm, {{2, 4, 3}, {4}, {4}}, {{"groups", 2}, {"eps", eps}}},
          {Op::kBatchNorm, {{2, 3, 4}, {3}, {3}, {3}, {3}}, {{"eps", Dim(30)}}},
          {Op::kGelu, {{7}}, {}},
          {Op::kSilu, {{7}}, {}},
          {Op::kLeakyRelu, {{7}}, {{"slope", Dim::real(0.1)}}},
          {Op::kElu, {{7}}, {}},
          {Op::kSoftplus, {{7}}, {}},
          {Op::kHardSigmoid, {{7}}, {}},
          {Op::kHardSwish, {{7}}, {}},
          {Op::kMish, {{7}}, {}},
          {Op::kAttention, {{1, 4, 3, 2}, {1, 2, 5, 2}, {1, 2, 5, 3}, {3, 5}}, {{"scale", Dim(1)}, {"causal", true}}},
          {Op::kQuantizeLinear, {{2, 5}, {5}}, {{"dtype", DType::kU8}, {"axis", 1}}},
          {Op::kDequantizeLinear, {{2, 5}, {5}, {5}}, {{"axis", 1}}, {DType::kI8, DType::kF32, DType::kI8}},
          {Op::kIntegerMatMul, {{2, 3}, {3, 4}, {2, 1}, {4}}, {}, {DType::kU8, DType::kI8, DType::kU8, DType::kI8}},
          {Op::kIntegerConv,
           {{1, 2, 5}, {3, 2, 2}, {}, {3}},
           {{"stride", Ints{1}}, {"low", Dims{1}}, {"high", Dims{0}}, {"dilation", Ints{1}}},
           {DType::kU8, DType::kI8, DType::kU8, DType::kI8}},
          {Op::kBlockMatMul,
           {{2, 40}, {3, 3, 8}, {3, 3}, {3, 2}},
           {{"block", 16}},
           {DType::kF32, DType::kU8, DType::kF32, DType::kU8}}};
}

TEST(Composite, EveryCompositeIsTried) {
  for (const Op op : all_ops()) {
    if (!is_composite(op)) continue;
    bool found = false;
    for (const SymbolicCase& one : symbolic_cases()) found = found || one.op == op;
    EXPECT_TRUE(found) << info(op).text;
  }
}

// A definition built where no size is known is valid, can be printed and read, and computes the same as one at known
// sizes.
TEST(Composite, DefinitionsHoldForSymbolicSizes) {
  for (const DType dtype : {DType::kF32, DType::kF16}) {
    for (const SymbolicCase& one : symbolic_cases()) {
      SCOPED_TRACE(fmt::format("{} of {}", info(one.op).text, to_string(dtype)));
      Graph graph;
      std::vector<ValueId> values;
      std::vector<Tensor> inputs;
      for (const Ints& sizes : one.sizes) {
        TensorType type{one.dtypes.empty() ? dtype : one.dtypes[values.size()], {}};
        for (std::size_t i = 0; i < sizes.size(); ++i)
          type.shape.push_back(Dim::symbol(fmt::format("d{}_{}", values.size(), i)));
        values.push_back(graph.add_input(type, "x"));
        inputs.push_back(tensor(type.dtype, sizes, wave(product(sizes), static_cast<double>(values.size()))));
      }
      Builder builder(graph);
      graph.set_outputs(define_composite(builder, one.op, values, one.attrs));
      const Status status = verify(graph);
      EXPECT_TRUE(status.ok()) << status.error().message << print(graph);
      const Tensor expected = run_op(one.op, inputs, one.attrs);
      const Tensor actual = checked(eval(graph, inputs))[0];
      EXPECT_EQ(actual.dtype(), expected.dtype());
      EXPECT_EQ(sizes_of(actual), sizes_of(expected));
      expect_numbers(actual, numbers(expected));
      const auto reread = parse_graph(print(graph));
      ASSERT_TRUE(reread.ok()) << reread.error().message << print(graph);
      expect_numbers(checked(eval(**reread, inputs))[0], numbers(expected));
    }
  }
}

}  // namespace
}  // namespace tilewright::testing
