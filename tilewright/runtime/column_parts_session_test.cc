// Reductions over leading axes that keep few positions are reduced in parts: against the oracle on every machine, and
// the same bits with any number of threads.
#include "tilewright/runtime/oracle_testing.h"
#include "tilewright/vm/cpu/pool.h"

namespace tilewright::runtime {
namespace {

using testing::expect_oracle;
using testing::random_tensor;

constexpr std::string_view kSums = R"(
    x: f32[A, B]
    b: f32[B]
    s = reduce_sum(x) axes=[0]
    m = reduce_max(x) axes=[0]
    q = mul(x, x)
    n = reduce_sum(q) axes=[0]
    r = add(s, b)
    t = sub(r, m)
    return t, n
  )";

TEST(ColumnParts, SumsAndMaximaOfManyRows) {
  expect_oracle(kSums, {{{70'001, 3}, {3}}, {{5'000, 100}, {100}}, {{1'400, 129}, {129}}, {{262'144, 1}, {1}}}, 2e-5);
}

TEST(ColumnParts, SeveralReducedAxesWithKeptOnesAroundThem) {
  expect_oracle(R"(
    x: f32[K, A, B, N]
    s = reduce_sum(x) axes=[1,2]
    t = transpose(x) perm=[0,2,1,3]
    m = reduce_min(t) axes=[1,2] keepdim=true
    return s, m
  )",
                {{{2, 333, 41, 20}}, {{1, 40'000, 2, 7}}, {{3, 2, 50'000, 1}}}, 2e-5);
}

TEST(ColumnParts, IntegersDoublesAndMasks) {
  for (const DType dtype : {DType::kI32, DType::kI64, DType::kF64, DType::kF16}) {
    expect_oracle(testing::with_dtype(R"(
      x: DTYPE[A, B]
      m: bool[A, B]
      s = reduce_max(x) axes=[0]
      a = reduce_any(m) axes=[0]
      l = reduce_all(m) axes=[0]
      return s, a, l
    )",
                                      dtype),
                  {{{30'000, 9}, {30'000, 9}}});
  }
}

TEST(ColumnParts, TheBitsDoNotDependOnTheNumberOfThreads) {
  const int before = vm::cpu::num_threads();
  const std::vector<Tensor> inputs = {random_tensor(DType::kF32, {50'007, 12}, 1), random_tensor(DType::kF32, {12}, 2)};
  auto machine = vm::make_cpu_machine();
  ASSERT_TRUE(machine.ok());
  std::vector<std::vector<Tensor>> results;
  for (const int threads : {1, 2, 5}) {
    vm::cpu::set_num_threads(threads);
    auto session = testing::compile(kSums, **machine);
    ASSERT_NE(session, nullptr);
    auto got = session->run(inputs);
    ASSERT_TRUE(got.ok());
    results.push_back(std::move(*got));
  }
  vm::cpu::set_num_threads(before);
  for (const auto& result : results) {
    for (std::size_t i = 0; i < result.size(); ++i) {
      EXPECT_EQ(std::memcmp(result[i].data(), results[0][i].data(), 12 * sizeof(float)), 0) << "result " << i;
    }
  }
}

}  // namespace
}  // namespace tilewright::runtime
