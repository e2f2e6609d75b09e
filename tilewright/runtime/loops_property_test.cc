// Random loops and branches in each other equal the oracle on every machine, call after call with other sizes and other
// numbers of trips. TILEWRIGHT_FUZZ_SEED starts elsewhere, TILEWRIGHT_FUZZ_PROGRAMS runs more.
#include <cstdlib>

#include "tilewright/runtime/oracle_testing.h"
#include "tilewright/runtime/random_loops.h"

namespace tilewright::runtime::testing {
namespace {

std::uint64_t from_environment(const char* name, std::uint64_t otherwise) {
  const char* given = std::getenv(name);
  return given == nullptr ? otherwise : std::strtoull(given, nullptr, 10);
}

Tensor copy_of(const Tensor& tensor) {
  Tensor copy(tensor.dtype(), {tensor.sizes().begin(), tensor.sizes().end()});
  std::memcpy(copy.data(), tensor.data(), static_cast<std::size_t>(tensor.bytes()));
  return copy;
}

void check(std::uint64_t seed) {
  const std::string text = RandomLoops(seed).text();
  SCOPED_TRACE(::testing::Message() << "seed " << seed << "\n" << text);
  auto graph = parse_graph(text);
  ASSERT_TRUE(graph.ok()) << graph.error().message;
  std::vector<std::unique_ptr<Session>> sessions;
  for (auto& machine : machines()) {
    sessions.push_back(compile(text, *machine));
    ASSERT_NE(sessions.back(), nullptr);
  }
  std::mt19937_64 random(seed);
  for (int call = 0; call < 5; ++call) {
    static constexpr std::int64_t kSizes[] = {2, 3, 3, 16, 33};
    const std::int64_t size = kSizes[random() % 5];
    const auto few = static_cast<std::int64_t>(random() % 5) - 1;
    const std::vector<Tensor> given{random_tensor(DType::kF32, {size}, static_cast<std::uint32_t>(random())),
                                    random_tensor(DType::kF32, {size}, static_cast<std::uint32_t>(random())),
                                    Tensor::scalar<std::int64_t>(few)};
    const std::vector<Tensor> theirs{copy_of(given[0]), copy_of(given[1]), given[2]};
    const auto want = eval(**graph, theirs);
    ASSERT_TRUE(want.ok()) << want.error().message;
    for (const auto& session : sessions) {
      const std::vector<Tensor> ours{copy_of(given[0]), copy_of(given[1]), given[2]};
      const auto got = session->run(ours);
      ASSERT_TRUE(got.ok()) << got.error().message;
      for (std::size_t i = 0; i < want->size(); ++i) {
        SCOPED_TRACE(::testing::Message() << "session " << &session - sessions.data() << ", call " << call
                                          << ", result " << i << ", size " << size << ", few " << few);
        expect_near((*got)[i], (*want)[i], 1e-5);
      }
      expect_near(ours[0], theirs[0], 0);
      expect_near(ours[1], theirs[1], 1e-5);
    }
  }
}

TEST(LoopsProperty, RandomLoopsEqualTheOracle) {
  const std::uint64_t first = from_environment("TILEWRIGHT_FUZZ_SEED", 1);
  const std::uint64_t programs = from_environment("TILEWRIGHT_FUZZ_PROGRAMS", 150);
  for (std::uint64_t seed = first; seed < first + programs && !HasFailure(); ++seed) check(seed);
}

}  // namespace
}  // namespace tilewright::runtime::testing
