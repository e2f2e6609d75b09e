// Random loops and random programs in eight threads that share a session: every call gives what a serial one gave, bit
// by bit, over different shapes, through replays, while memory is trimmed and the number of threads of the pool
// changes.
#include <atomic>
#include <thread>

#include "tilewright/runtime/oracle_testing.h"
#include "tilewright/runtime/random_loops.h"
#include "tilewright/vm/cpu/pool.h"

namespace tilewright::runtime::testing {
namespace {

constexpr std::string_view kLaunches = R"(
    x: f32[N, 24]
    q: f32[24, 24]
    k: f32[24, 24]
    v: f32[24, 24]
    a = matmul(x, q)
    b = matmul(x, k)
    c = matmul(x, v)
    t = transpose(b) perm=[1,0]
    s = matmul(a, t)
    p = softmax(s) axis=1
    y = matmul(p, c)
    m = reduce_max(y) axes=[1]
    e = exp(m)
    return y, e, b
)";

Tensor copy_of(const Tensor& tensor) {
  Tensor out(tensor.dtype(), {tensor.sizes().begin(), tensor.sizes().end()});
  const Tensor dense = tensor.contiguous();
  if (dense.bytes() > 0) std::memcpy(out.data(), dense.data(), static_cast<std::size_t>(dense.bytes()));
  return out;
}

std::vector<Tensor> copies(const std::vector<Tensor>& tensors) {
  std::vector<Tensor> out;
  for (const Tensor& tensor : tensors) out.push_back(copy_of(tensor));
  return out;
}

bool same_bytes(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  return std::ranges::equal(a, b, [](const Tensor& x, const Tensor& y) {
    return std::ranges::equal(x.sizes(), y.sizes()) &&
           (x.bytes() == 0 || std::memcmp(x.data(), y.data(), static_cast<std::size_t>(x.bytes())) == 0);
  });
}

struct Call {
  std::vector<Tensor> inputs, want, inputs_after;
};

// Results of `calls` one by one, then in eight threads.
void expect_same_in_threads(Session& session, std::vector<Call> calls) {
  for (Call& call : calls) {
    call.inputs_after = copies(call.inputs);
    auto got = session.run(call.inputs_after);
    ASSERT_TRUE(got.ok()) << got.error().message;
    for (const Tensor& result : *got) call.want.push_back(copy_of(result));
  }
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (std::size_t thread = 0; thread < 8; ++thread) {
    threads.emplace_back([&, thread] {
      for (std::size_t round = 0; round < 24; ++round) {
        // Runs of one shape, so that calls replay, then another.
        const Call& call = calls[(thread + round / 4) % calls.size()];
        const std::vector<Tensor> inputs = copies(call.inputs);
        const auto got = session.run(inputs);
        if (!got.ok() || !same_bytes(copies(*got), call.want) || !same_bytes(inputs, call.inputs_after)) ++wrong;
        if (thread == 0 && round % 8 == 0) session.trim();
        if (thread == 1 && round % 6 == 0) vm::cpu::set_num_threads(1 + static_cast<int>(round % 3));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

class ThreadsProperty : public ::testing::Test {
 protected:
  void TearDown() override { vm::cpu::set_num_threads(before_); }
  vm::Machine& machine() { return *machines().back(); }

 private:
  int before_ = vm::cpu::num_threads();
};

TEST_F(ThreadsProperty, RandomLoopsGiveWhatSerialCallsGive) {
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    const std::string text = RandomLoops(seed).text();
    SCOPED_TRACE(::testing::Message() << "seed " << seed << "\n" << text);
    const auto session = compile(text, machine());
    ASSERT_NE(session, nullptr);
    std::vector<Call> calls(5);
    for (std::size_t i = 0; i < calls.size(); ++i) {
      const auto size = static_cast<std::int64_t>(2 + i * i);
      const auto start = static_cast<std::uint32_t>(seed * 10 + i);
      calls[i].inputs = {random_tensor(DType::kF32, {size}, start), random_tensor(DType::kF32, {size}, start + 5),
                         Tensor::scalar<std::int64_t>(static_cast<std::int64_t>(i) - 1)};
    }
    expect_same_in_threads(*session, std::move(calls));
    if (HasFailure()) return;
  }
}

TEST_F(ThreadsProperty, LaunchesGiveWhatSerialCallsGive) {
  const auto session = compile(kLaunches, machine());
  ASSERT_NE(session, nullptr);
  std::vector<Call> calls(6);
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const auto rows = static_cast<std::int64_t>(i * i * 3);
    calls[i].inputs = {random_tensor(DType::kF32, {rows, 24}, static_cast<std::uint32_t>(i))};
    for (std::uint32_t weight = 0; weight < 3; ++weight)
      calls[i].inputs.push_back(random_tensor(DType::kF32, {24, 24}, 50 + weight));
  }
  expect_same_in_threads(*session, std::move(calls));
}

}  // namespace
}  // namespace tilewright::runtime::testing
