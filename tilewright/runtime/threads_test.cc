// One session or model in many threads, and over very many shapes.
#include <atomic>
#include <fstream>
#include <random>
#include <thread>

#include "tilewright/graph/testing.h"
#include "tilewright/runtime/model.h"
#include "tilewright/runtime/stats.h"
#include "tilewright/runtime/stats_snapshot.h"
#include "tilewright/vm/cpu/pool.h"

namespace tilewright::runtime {
namespace {

constexpr std::string_view kMlp = R"(
  x: f32[B, S, 16]
  weight w: f32[24, 16]
  weight v: f32[16, 24]
  b: f32[24]
  wt = transpose(w) perm=[1,0]
  vt = transpose(v) perm=[1,0]
  h = matmul(x, wt)
  a = add(h, b)
  g = gelu(a)
  y = matmul(g, vt)
  r = add(y, x)
  m = softmax(r) axis=2
  return m
)";

Tensor random_tensor(std::vector<std::int64_t> sizes, std::uint32_t seed) {
  Tensor out(DType::kF32, std::move(sizes));
  std::mt19937 engine(seed);
  std::uniform_real_distribution<float> real(-1, 1);
  for (std::int64_t i = 0; i < out.count(); ++i) out.data_as<float>()[i] = real(engine);
  return out;
}

std::unique_ptr<Model> make_mlp() {
  ModelContents contents;
  contents.graph = parse_or_die(kMlp);
  contents.weights = {
      {"w", random_tensor({24, 16}, 1)}, {"v", random_tensor({16, 24}, 2)}, {"b", random_tensor({24}, 3)}};
  auto model = Model::create(std::move(contents), {.runner = {.cache_bytes = 64 << 10}});
  TW_CHECK(model.ok(), "the model of a test compiles");
  return std::move(*model);
}

bool same_bytes(const Tensor& a, const Tensor& b) {
  return a.bytes() == b.bytes() && std::memcmp(a.data(), b.data(), static_cast<std::size_t>(a.bytes())) == 0;
}

// Runs `body(thread, round)` in eight threads.
template <typename Body>
void in_threads(int rounds, Body&& body) {
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 8; ++thread) {
    threads.emplace_back([&, thread] {
      for (int round = 0; round < rounds; ++round) body(thread, round);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(Threads, ResultsAreThoseOfSerialCalls) {
  const auto model = make_mlp();
  std::vector<Tensor> inputs, want;
  for (std::uint32_t i = 0; i < 40; ++i) {
    inputs.push_back(random_tensor({1 + i % 5, 1 + i * 3 % 17, 16}, i));
    auto got = model->run(std::vector{inputs.back()});
    ASSERT_TRUE(got.ok()) << got.error().message;
    want.push_back((*got)[0]);
  }
  std::atomic<int> wrong{0};
  in_threads(60, [&](int thread, int round) {
    const auto i = static_cast<std::size_t>((thread * 7 + round) % 40);
    const auto got = model->run(std::vector{inputs[i]});
    if (!got.ok() || !same_bytes((*got)[0], want[i])) ++wrong;
  });
  EXPECT_EQ(wrong, 0);
}

TEST(Threads, AnotherNumberOfThreadsEncodesAnotherProgram) {
  const auto model = make_mlp();
  const int before = vm::cpu::num_threads();
  const std::vector<Tensor> x{random_tensor({2, 3, 16}, 4)};
  const auto encoded = [&](int threads) {
    vm::cpu::set_num_threads(threads);
    const auto start = stats().programs_encoded.load();
    EXPECT_TRUE(model->run(x).ok());
    return stats().programs_encoded.load() - start;
  };
  EXPECT_EQ(encoded(1), 1);
  EXPECT_EQ(encoded(2), 1);
  EXPECT_EQ(encoded(1), 0);
  vm::cpu::set_num_threads(before);
}

TEST(Threads, TrimWhileCallsRunChangesNothing) {
  const auto model = make_mlp();
  const Tensor x = random_tensor({3, 5, 16}, 9);
  const auto want = model->run(std::vector{x});
  ASSERT_TRUE(want.ok());
  std::atomic<int> wrong{0};
  in_threads(40, [&](int thread, int round) {
    if (thread == 0) {
      model->trim();
      return;
    }
    const auto got = model->run(std::vector{round % 2 == 0 ? x : random_tensor({thread, 1 + round % 7, 16}, 4)});
    if (!got.ok() || (round % 2 == 0 && !same_bytes((*got)[0], (*want)[0]))) ++wrong;
  });
  EXPECT_EQ(wrong, 0);
}

TEST(Threads, EachCallSeesOneVersionOfTheWeights) {
  const auto model = make_mlp();
  const Tensor x = random_tensor({2, 3, 16}, 5);
  std::vector<std::map<std::string, Tensor>> versions;
  std::vector<Tensor> want;
  for (std::uint32_t i = 0; i < 4; ++i) {
    versions.push_back({{"w", random_tensor({24, 16}, 10 + i)}, {"v", random_tensor({16, 24}, 20 + i)}});
    ASSERT_TRUE(model->set_weights(versions.back()).ok());
    want.push_back((*model->run(std::vector{x}))[0]);
  }
  std::atomic<int> wrong{0};
  in_threads(40, [&](int thread, int round) {
    if (thread < 2) {
      if (!model->set_weights(versions[static_cast<std::size_t>((thread + round) % 4)]).ok()) ++wrong;
      return;
    }
    const auto got = model->run(std::vector{x});
    const auto is_it = [&](const Tensor& one) { return got.ok() && same_bytes((*got)[0], one); };
    if (std::none_of(want.begin(), want.end(), is_it)) ++wrong;
  });
  EXPECT_EQ(wrong, 0);
}

TEST(Threads, BadCallsBetweenGoodOnesChangeNothing) {
  const auto model = make_mlp();
  const Tensor x = random_tensor({2, 3, 16}, 5), bad = random_tensor({2, 3, 15}, 5);
  const auto want = model->run(std::vector{x});
  ASSERT_TRUE(want.ok());
  std::atomic<int> wrong{0};
  in_threads(40, [&](int thread, int round) {
    if ((thread + round) % 3 == 0) {
      if (model->run(std::vector{bad}).ok()) ++wrong;
      return;
    }
    const auto got = model->run(std::vector{x});
    if (!got.ok() || !same_bytes((*got)[0], (*want)[0])) ++wrong;
  });
  EXPECT_EQ(wrong, 0);
}

TEST(Memory, StaysFlatOverManyShapes) {
#if defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "the address sanitiser keeps what was freed";
#endif
  const auto model = make_mlp();
  std::mt19937 engine(1);
  const auto call = [&](std::int64_t batch, std::int64_t length) {
    ASSERT_TRUE(model->run(std::vector{random_tensor({batch, length, 16}, 1)}).ok());
  };
  call(8, 64);  // the largest
  const auto random_calls = [&](int count) {
    for (int i = 0; i < count; ++i) call(1 + engine() % 8, 1 + engine() % 64);
  };
  random_calls(300);
  const std::int64_t before = stats_snapshot().resident_bytes;
  random_calls(2000);
  EXPECT_LE(stats_snapshot().resident_bytes - before, 2 << 20);
}

class SometimesFailing final : public HostCalls {
 public:
  Result<std::vector<Tensor>> call(std::int64_t, std::span<const Tensor> inputs) override {
    if (fails) return fail(ErrorKind::kHostCall, "the host has had enough");
    Tensor out(inputs[0].dtype(), {inputs[0].sizes().begin(), inputs[0].sizes().end()});
    std::memcpy(out.data(), inputs[0].contiguous().data(), static_cast<std::size_t>(out.bytes()));
    return std::vector{out};
  }
  bool fails = false;
};

TEST(HostCall, AFailureLeavesTheSessionUsable) {
  auto session =
      Session::compile(parse_or_die("x: f32[N, 4]\na = exp(x)\ny: f32[N, 4] = host_call(a) target=1\nb = add(y, a)\ns "
                                    "= reduce_sum(b) axes=[1]\nreturn s"));
  ASSERT_TRUE(session.ok()) << session.error().message;
  SometimesFailing host;
  const std::vector inputs{random_tensor({5, 4}, 1)};
  const auto before = (*session)->run(inputs, {}, &host);
  ASSERT_TRUE(before.ok()) << before.error().message;
  host.fails = true;
  const auto failed = (*session)->run(inputs, {}, &host);
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.error().message, "the host has had enough");
  EXPECT_EQ(failed.error().kind, ErrorKind::kHostCall);
  host.fails = false;
  const auto after = (*session)->run(inputs, {}, &host);
  ASSERT_TRUE(after.ok());
  EXPECT_TRUE(same_bytes((*before)[0], (*after)[0]));
}

TEST(HostCall, WithoutAHostIsAnError) {
  auto session = Session::compile(parse_or_die("x: f32[N]\ny: f32[N] = host_call(x) target=1\nreturn y"));
  ASSERT_TRUE(session.ok());
  const auto got = (*session)->run(std::vector{random_tensor({5}, 1)});
  ASSERT_FALSE(got.ok());
  EXPECT_EQ(got.error().message, "'y' is a call of the host, and there is none");
}

}  // namespace
}  // namespace tilewright::runtime
