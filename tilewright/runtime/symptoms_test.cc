// Graphs that once failed, each named after what it showed. Every machine against the oracle, with inputs of any
// layout.
#include <array>

#include "tilewright/graph/eval/eval.h"
#include "tilewright/runtime/random_tensors.h"
#include "tilewright/runtime/session.h"
#include "tilewright/vm/cpu/machine.h"

namespace tilewright::runtime {
namespace {

std::vector<std::unique_ptr<vm::Machine>> machines() {
  std::vector<std::unique_ptr<vm::Machine>> made;
  made.push_back(vm::make_reference_machine());
  for (std::string_view level : vm::cpu_levels()) {
    auto machine = vm::make_cpu_machine({std::string(level)});
    if (machine.ok()) made.push_back(std::move(machine).value());
  }
  return made;
}

using Sizes = std::vector<std::vector<std::int64_t>>;

void expect_oracle(std::string_view text, const Sizes& sizes, double tolerance = 0,
                   const std::vector<Layout>& layouts = {}) {
  const auto graph = parse_graph(text);
  ASSERT_TRUE(graph.ok()) << graph.error().message;
  Random random(11);
  std::vector<Tensor> inputs;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    inputs.push_back(random_tensor(random, (*graph)->type((*graph)->inputs()[i]).dtype, sizes[i],
                                   i < layouts.size() ? layouts[i] : Layout::kContiguous));
  }
  std::vector<Tensor> want_inputs;
  for (const Tensor& input : inputs) want_inputs.push_back(clone(input));
  const auto want = eval(**graph, want_inputs);
  ASSERT_TRUE(want.ok()) << want.error().message;
  for (const auto& machine : machines()) {
    SCOPED_TRACE(std::string(machine->traits().name));
    SessionOptions options;
    options.machine = machine.get();
    auto session = Session::compile((*graph)->clone(), options);
    ASSERT_TRUE(session.ok()) << session.error().message;
    std::vector<Tensor> got_inputs;
    for (const Tensor& input : inputs) got_inputs.push_back(clone(input));
    const auto got = (*session)->run(got_inputs);
    ASSERT_TRUE(got.ok()) << got.error().message;
    for (std::size_t i = 0; i < want->size(); ++i)
      EXPECT_EQ(difference((*got)[i], (*want)[i], tolerance), "") << "output " << i;
    for (std::size_t i = 0; i < inputs.size(); ++i)
      EXPECT_EQ(difference(got_inputs[i], want_inputs[i], tolerance), "") << "input " << i;
  }
}

std::string error_of(std::string_view text, const Sizes& sizes) {
  auto graph = parse_graph(text);
  TW_CHECK(graph.ok(), graph.error().message);
  Random random(1);
  std::vector<Tensor> inputs;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    inputs.push_back(random_tensor(random, (*graph)->type((*graph)->inputs()[i]).dtype, sizes[i], Layout::kContiguous));
  }
  auto session = Session::compile(std::move(graph).value());
  if (!session.ok()) return session.error().message;
  const auto got = (*session)->run(inputs);
  return got.ok() ? "" : got.error().message;
}

TEST(Symptoms, NormWithAWeightOfEverySecondElement) {
  expect_oracle("x: f32[3, 9]\nw: f32[9]\nb: f32[9]\ny = layer_norm(x, w, b) num_axes=1 eps=0.1\nreturn y",
                {{3, 9}, {9}, {9}}, 1e-5, {Layout::kContiguous, Layout::kSteps, Layout::kReversed});
}

TEST(Symptoms, NormWithOneWeightForAll) {
  expect_oracle("x: f32[3, 9]\nw: f32[1]\ne = expand(w) shape=[9]\ny = rms_norm(x, e) num_axes=1 eps=0.1\nreturn y",
                {{3, 9}, {1}}, 1e-5);
}

TEST(Symptoms, SumOverTwoAxesThatAreNotOneLoop) {
  expect_oracle("x: f32[3, 4, 5]\ny: f32[4, 1]\na = mul(x, y)\ns = reduce_sum(a) axes=[1,2]\nreturn s, a",
                {{3, 4, 5}, {4, 1}}, 1e-5, {Layout::kTransposed});
}

TEST(Symptoms, AnIotaAlongOneOfTwoRowAxes) {
  expect_oracle(R"(
    x: f32[3, 4, 5]
    i = iota() dtype=f32 shape=[4, 5] axis=0 start=1 step=2
    a = mul(x, i)
    s = reduce_max(a) axes=[1,2]
    return s
  )",
                {{3, 4, 5}});
}

TEST(Symptoms, AnIotaOfSizeOneBroadcasts) {
  expect_oracle("x: f32[5]\ni = iota() dtype=f32 shape=[1] axis=0 start=3 step=2\ny = add(x, i)\nreturn y", {{5}});
}

TEST(Symptoms, TwoBuffersAreSwapped) {
  expect_oracle("x: f32[5]\ny: f32[5]\nassign(x, y)\nassign(y, x)\nreturn x", {{5}, {5}});
}

TEST(Symptoms, AScalarBeyond32Bits) {
  expect_oracle("k = scalar() dtype=i64 value=1099511627779\nx: i64[4]\ny = add(x, k)\nreturn y, k", {{4}});
}

TEST(Symptoms, AScalarThatWrapsAndAScalarThatIsCast) {
  expect_oracle(R"(
    x: u8[4]
    z: f32[4]
    k = scalar() dtype=u8 value=300
    w = scalar() dtype=i64 value=7
    f = cast(w) dtype=f32
    y = add(x, k)
    a = add(z, f)
    return y, a, k
  )",
                {{4}, {4}});
}

TEST(Symptoms, HalfOperandsOfAMatMul) {
  expect_oracle(
      "x: f16[3, 7]\nweight w: f16[5, 7]\nt = transpose(w) perm=[1,0]\ny = matmul(x, t)\nz = matmul(y, w)\nreturn y, z",
      {{3, 7}, {5, 7}}, 0.1);
}

TEST(Symptoms, AnOperandExpandedAlongTheSum) {
  expect_oracle(
      "x: f32[3, 1]\nw: f32[5]\na = expand(x) shape=[3, 7]\nb = expand(w) shape=[7, 5]\ny = matmul(a, b)\nreturn y",
      {{3, 1}, {5}}, 1e-5);
}

TEST(Symptoms, WhatAMatMulReadsIsAlsoInItsEpilogue) {
  expect_oracle("x: f32[6, 6]\nw: f32[6, 6]\na = neg(x)\ny = matmul(a, w)\nz = add(y, a)\nreturn z", {{6, 6}, {6, 6}},
                1e-5);
}

TEST(Symptoms, AnIotaIsMultiplied) {
  expect_oracle("w: f32[4, 3]\ni = iota() dtype=f32 shape=[2, 4] axis=1\ny = matmul(i, w)\nreturn y", {{4, 3}}, 1e-5);
}

TEST(Symptoms, ARowValueSpreadOverItsRowIsAnOutput) {
  expect_oracle(R"(
    x: f32[3, 5]
    k = scalar() dtype=f32 value=1
    m = reduce_max(x) axes=[1] keepdim=1
    e = expand(m) shape=[3, 5]
    y = add(e, k)
    z = sub(x, e)
    return y, z
  )",
                {{3, 5}});
}

TEST(Symptoms, ValuesOfARowAreWrittenWithoutElements) {
  expect_oracle(R"(
    x: f32[3, L]
    r: f32[3, 1]
    n = neg(r)
    s = reduce_sum(x) axes=[1] keepdim=1
    y = add(n, s)
    return y, n
  )",
                {{3, 0}, {3, 1}});
}

TEST(Symptoms, TheLargestOfNothingIsThatOfTheDType) {
  expect_oracle(R"(
    x: i8[2, L]
    y: u8[L, 2]
    z: f16[2, L]
    a = reduce_max(x) axes=[1]
    b = reduce_min(y) axes=[0]
    c = reduce_max(z) axes=[1]
    return a, b, c
  )",
                {{2, 0}, {0, 2}, {2, 0}});
}

TEST(Symptoms, ReductionsOfTruth) {
  expect_oracle(R"(
    x: bool[4, 3]
    a = reduce_max(x) axes=[1]
    b = reduce_min(x) axes=[0]
    c = reduce_all(x) axes=[1,0]
    return a, b, c
  )",
                {{4, 3}});
}

TEST(Symptoms, ACastOf8BytesTo8Bytes) {
  expect_oracle(R"(
    x: i64[3]
    k = scalar() dtype=i64 value=4503599627370497
    y = add(x, k)
    z = cast(y) dtype=f64
    return z
  )",
                {{3}});
}

TEST(Symptoms, AnIntegerIsNeverNan) {
  expect_oracle("x: f32[3]\ni = cast(x) dtype=i32\na = is_nan(i)\nb = is_finite(i)\nreturn a, b", {{3}});
}

// `make(i)` is the expression of value v{i}; all of them are returned. v0 is x.
template <typename F>
std::string chain(std::string_view input, int length, F&& make) {
  std::string text = std::string(input) + "\n", outputs = "v1";
  for (int i = 1; i <= length; ++i) text += fmt::format("v{} = {}\n", i, make(i));
  for (int i = 2; i <= length; ++i) outputs += fmt::format(", v{}", i);
  return text + "return " + outputs;
}

TEST(Symptoms, EveryValueOfALongChainIsAnOutput) {
  expect_oracle(
      chain("v0: f32[3, 40]", 40, [](int i) { return fmt::format("{}(v{})", i % 2 == 0 ? "tanh" : "neg", i - 1); }),
      {{3, 40}}, 1e-5);
}

TEST(Symptoms, EveryRowValueOfALongChainIsAnOutput) {
  expect_oracle(chain("v0: f64[300, 2]", 40,
                      [](int i) {
                        return i == 1 ? std::string("reduce_sum(v0) axes=[1] keepdim=1")
                                      : fmt::format("sin(v{})", i - 1);
                      }),
                {{300, 2}}, 1e-9);
}

TEST(Symptoms, ManySoftmaxesInOneArea) {
  expect_oracle(chain("v0: f32[3, 40]", 30, [](int i) { return fmt::format("softmax(v{}) axis=1", i - 1); }), {{3, 40}},
                1e-5);
}

TEST(Symptoms, ManyScalarsAndReductionsInOneArea) {
  std::string text = "x: f32[5, 33]\ns0 = reduce_sum(x) axes=[1] keepdim=1\n";
  for (int i = 1; i < 14; ++i) {
    text += fmt::format(
        "k{0} = scalar() dtype=f32 value={0}\na{0} = mul(x, k{0})\nt{0} = sub(a{0}, s{1})\ns{0} = reduce_max(t{0}) "
        "axes=[1] keepdim=1\n",
        i, i - 1);
  }
  expect_oracle(text + "return s13, s7, t13", {{5, 33}}, 1e-3);
}

TEST(Symptoms, RowsLongerThanTheScratch) {
  expect_oracle(R"(
    x: f32[2, L]
    y: f16[2, L]
    c = cast(y) dtype=f32
    s = add(x, c)
    n = layer_norm(s) num_axes=1 eps=0.1
    m = reduce_max(n) axes=[1] keepdim=1
    d = sub(n, m)
    p = softmax(d) axis=1
    return d, p
  )",
                {{2, 200003}, {2, 200003}}, 1e-4);
}

TEST(Symptoms, ShortRowsWithManyRowValues) {
  expect_oracle(chain("v0: f64[20000, 1]", 12,
                      [](int i) {
                        return i == 1 ? std::string("reduce_sum(v0) axes=[1] keepdim=1")
                                      : fmt::format("cos(v{})", i - 1);
                      }),
                {{20000, 1}}, 1e-9);
}

TEST(Symptoms, AMaskOfManyValues) {
  std::string text = "x: f32[7]\n", last = "x";
  for (int i = 0; i < 12; ++i) {
    text += fmt::format("y{0}: f16[7]\n", i);
  }
  for (int i = 0; i < 12; ++i) {
    text += fmt::format(
        "c{0} = cast(y{0}) dtype=f32\nm{0} = lt(c{0}, x)\nn{0} = ge(c{0}, x)\na{0} = select(m{0}, c{0}, {1})\nb{0} = "
        "select(n{0}, a{0}, c{0})\n",
        i, last);
    last = fmt::format("b{}", i);
  }
  expect_oracle(text + "return " + last, Sizes(13, {7}));
}

TEST(Symptoms, RowsThatAreReducedInParts) {
  expect_oracle(R"(
    x: f32[3, L]
    y: i16[3, L]
    c = cast(y) dtype=f32
    a = mul(x, c)
    s = reduce_sum(a) axes=[1] keepdim=1
    m = reduce_max(a) axes=[1] keepdim=1
    e = neg(m)
    d = add(s, e)
    return d, s
  )",
                {{3, 140003}, {3, 140003}}, 0.5, {Layout::kTransposed});
  expect_oracle("x: bool[L]\na = reduce_any(x) axes=[0]\nreturn a", {{131072}});
  expect_oracle(R"(
    x: i64[L]
    i = iota() dtype=i64 shape=[L] axis=0
    y = mul(x, i)
    s = reduce_sum(y) axes=[0]
    return s
  )",
                {{100001}}, 0, {Layout::kReversed});
}

TEST(Symptoms, SizesThatOnlyTheCallKnowsDoNotFit) {
  EXPECT_EQ(error_of("x: f32[B]\ny: f32[2]\nz = add(x, y)\nreturn z", {{3}, {2}}),
            "'z': sizes do not fit: B = 3, expected 1 or 2 (B is axis 0 of input 'x')");
}

TEST(Symptoms, ARecordedSizeThatTurnsOutWrong) {
  EXPECT_EQ(error_of("x: f32[B]\nc: f32[C]\ny: f32[C] = reduce_sum(x) axes=[0] keepdim=true\nz = atan(y)\nreturn z",
                     {{3}, {2}}),
            "'y': sizes do not fit: C = 2, expected 1 (C is axis 0 of input 'c')");
}

TEST(Symptoms, ASliceReachesBeyondTheEnd) {
  EXPECT_EQ(error_of("x: f32[B]\ny = slice(x) start=[0] stop=[4] step=[1]\nreturn y", {{3}}),
            "'y': sizes do not fit: 4, expected at most B = 3 (B is axis 0 of input 'x')");
}

TEST(Symptoms, MoreAxesThanThereMayBe) {
  EXPECT_EQ(
      error_of("x: f32[1,1,1,1,1,1,1,1,1,1,1,1,1]\ny = neg(x)\nreturn y", {{1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}}),
      "'x': rank 13, at most 12 is supported");
}

TEST(Symptoms, AnOutputThatViewsAnEarlyValueMayHaveALateSize) {
  const auto graph = parse_graph(R"(
      x: f32[5]
      p: i64[]
      e: i64[]
      item(p) symbol=n
      a = pad(x) low=[n] high=[0]
      item(e) symbol=m
      y = slice(a) start=[0] stop=[m] step=[1]
      return y
  )");
  ASSERT_TRUE(graph.ok()) << graph.error().message;
  auto session = Session::compile((*graph)->clone());
  ASSERT_TRUE(session.ok()) << session.error().message;
  const auto got = (*session)->run(std::vector{Tensor::from<float>({5}, std::array{1.F, 2.F, 3.F, 4.F, 5.F}),
                                               Tensor::scalar<std::int64_t>(1), Tensor::scalar<std::int64_t>(3)});
  ASSERT_TRUE(got.ok()) << got.error().message;
  ASSERT_EQ((*got)[0].count(), 3);
  EXPECT_EQ((*got)[0].data_as<float>()[2], 2.F);
}

TEST(Symptoms, AMatrixProductPacksAConstantBeforeItsFirstBind) {
  expect_oracle(R"(
      x: f32[4, 2]
      w = constant() value=f32[2, 3]{1, 2, 3, 4, 5, 6}
      y = matmul(x, w)
      return y
  )",
                {{4, 2}}, 1e-6);
}

}  // namespace
}  // namespace tilewright::runtime
