// Updates in place: what they write, and that nobody sees the difference.
#include "tilewright/runtime/oracle_testing.h"
#include "tilewright/runtime/stats.h"

namespace tilewright::runtime::testing {
namespace {

std::vector<Tensor> copies(const std::vector<Tensor>& tensors) {
  std::vector<Tensor> out;
  for (const Tensor& tensor : tensors) {
    Tensor copy(tensor.dtype(), {tensor.sizes().begin(), tensor.sizes().end()});
    if (tensor.bytes() > 0) std::memcpy(copy.data(), tensor.data(), static_cast<std::size_t>(tensor.bytes()));
    out.push_back(std::move(copy));
  }
  return out;
}

// Results and inputs after the call are the oracle's, on every machine, twice in a row. Returns the bytes that a second
// call of the last machine writes.
std::int64_t written_by(std::string_view text, const std::vector<Tensor>& inputs, double tolerance = 0) {
  auto graph = parse_graph(text);
  EXPECT_TRUE(graph.ok()) << graph.error().message;
  std::int64_t written = 0;
  for (auto& machine : machines()) {
    SCOPED_TRACE(std::string(machine->traits().name));
    auto session = compile(text, *machine);
    if (session == nullptr) return -1;
    const std::vector<Tensor> theirs = copies(inputs), ours = copies(inputs);
    for (int call = 0; call < 2; ++call) {
      auto want = eval(**graph, theirs);
      EXPECT_TRUE(want.ok()) << want.error().message;
      const std::int64_t before = stats().bytes_written;
      auto got = session->run(ours);
      written = stats().bytes_written - before;
      EXPECT_TRUE(got.ok()) << got.error().message;
      if (!got.ok() || !want.ok()) return -1;
      for (std::size_t i = 0; i < want->size(); ++i) expect_near((*got)[i], (*want)[i], tolerance);
      for (std::size_t i = 0; i < inputs.size(); ++i) expect_near(ours[i], theirs[i], tolerance);
    }
  }
  return written;
}

Tensor f32(std::vector<std::int64_t> sizes, std::uint32_t seed = 1) {
  return random_tensor(DType::kF32, std::move(sizes), seed);
}
Tensor positions(std::vector<std::int64_t> values) {
  const auto count = static_cast<std::int64_t>(values.size());
  return Tensor::from<std::int64_t>({count}, values);
}

TEST(InPlace, ACacheIsWrittenByTheNewRowsAlone) {
  EXPECT_EQ(written_by(R"(
    cache: f32[2, S, 8]
    new: f32[2, T, 8]
    at: i64[T]
    n = neg(new)
    next = index_put(cache, n, at) axes=[1]
    assign(cache, next)
    return
  )",
                       {f32({2, 100, 8}), f32({2, 3, 8}, 2), positions({7, 99, 0})}),
            2 * (2 * 3 * 8 * 4));  // neg, and the write
  EXPECT_EQ(written_by(R"(
    cache: f32[S, 8]
    new: f32[T, 8]
    next = update_slice(cache, new) start=[5, 0] step=[1, 1]
    assign(cache, next)
    return
  )",
                       {f32({100, 8}), f32({4, 8}, 2)}),
            4 * 8 * 4);
}

TEST(InPlace, LaterReadersMayReadTheNewState) {
  EXPECT_EQ(written_by(R"(
    cache: f32[S, 8]
    new: f32[T, 8]
    next = update_slice(cache, new) start=[5, 0] step=[1, 1]
    t = transpose(next) perm=[1, 0]
    s = reduce_sum(t) axes=[1]
    assign(cache, next)
    return s
  )",
                       {f32({100, 8}), f32({4, 8}, 2)}, 1e-4),
            4 * 8 * 4 + 8 * 4);
}

TEST(InPlace, AReaderOfTheOldStateGetsIt) {
  const std::int64_t all = 100 * 8 * 4;
  EXPECT_GE(written_by(R"(
    cache: f32[S, 8]
    new: f32[T, 8]
    next = update_slice(cache, new) start=[5, 0] step=[1, 1]
    s = sub(next, cache)
    assign(cache, next)
    return s
  )",
                       {f32({100, 8}), f32({4, 8}, 2)}, 1e-5),
            2 * all);
}

TEST(InPlace, AnUpdateWaitsForReadersOfTheOldState) {
  EXPECT_EQ(written_by(R"(
    cache: f32[S, 8]
    new: f32[T, 8]
    next = update_slice(cache, new) start=[5, 0] step=[1, 1]
    old = slice(cache) start=[6, 0] stop=[7, 8] step=[1, 1]
    n = neg(old)
    assign(cache, next)
    return n
  )",
                       {f32({100, 8}), f32({4, 8}, 2)}),
            4 * 8 * 4 + 8 * 4);
}

TEST(InPlace, AnUpdateThatReadsItsBufferIsNotInPlace) {
  written_by(R"(
    cache: f32[S, 8]
    x = slice(cache) start=[0, 0] stop=[4, 8] step=[1, 1]
    f = flip(x) axes=[0]
    next = update_slice(cache, f) start=[1, 0] step=[1, 1]
    assign(cache, next)
    return next
  )",
             {f32({10, 8})});
}

TEST(InPlace, AnIntermediateThatDiesIsUpdatedWhereItIs) {
  const std::int64_t all = 50 * 8 * 4, part = 3 * 8 * 4;
  EXPECT_EQ(written_by(R"(
    x: f32[S, 8]
    new: f32[T, 8]
    at: i64[T]
    e = neg(x)
    a = index_put(e, new, at) axes=[0]
    b = update_slice(a, new) start=[1, 0] step=[2, 1]
    return b
  )",
                       {f32({50, 8}), f32({3, 8}, 2), positions({7, 49, 0})}),
            all + 2 * part);  // straight into the result
}

TEST(InPlace, ACallerThatOwnsTheInputKeepsIt) {
  EXPECT_EQ(written_by(R"(
    x: f32[S, 8]
    new: f32[T, 8]
    a = update_slice(x, new) start=[1, 0] step=[1, 1]
    return a
  )",
                       {f32({50, 8}), f32({3, 8}, 2)}),
            50 * 8 * 4 + 3 * 8 * 4);
}

TEST(InPlace, TwoStatesOfOneBuffer) {
  written_by(R"(
    cache: f32[S, 4]
    a: f32[4]
    b: f32[4]
    r = reshape(a) shape=[1, 4]
    q = reshape(b) shape=[1, 4]
    one = update_slice(cache, r) start=[0, 0] step=[1, 1]
    two = update_slice(one, q) start=[1, 0] step=[1, 1]
    s = reduce_sum(one) axes=[0]
    assign(cache, two)
    return s, one
  )",
             {f32({6, 4}), f32({4}, 2), f32({4}, 3)}, 1e-5);
}

TEST(InPlace, BuffersThatAreExchanged) {
  written_by(R"(
    a: f32[S]
    b: f32[S]
    v: f32[1]
    n = update_slice(a, v) start=[1] step=[1]
    m = update_slice(b, v) start=[0] step=[1]
    assign(a, m)
    assign(b, n)
    return
  )",
             {f32({6}), f32({6}, 2), f32({1}, 3)});
}

TEST(InPlace, ThroughATransposedView) {
  EXPECT_EQ(written_by(R"(
    cache: f32[S, 8]
    new: f32[8, 1]
    t = transpose(cache) perm=[1, 0]
    u = update_slice(t, new) start=[0, 3] step=[1, 1]
    back = transpose(u) perm=[1, 0]
    assign(cache, back)
    return
  )",
                       {f32({40, 8}), f32({8, 1}, 2)}),
            8 * 4);
}

TEST(InPlace, AccumulationOfNarrowFloats) {
  for (const DType dtype : {DType::kF16, DType::kF32}) {
    written_by(with_dtype(R"(
    x: DTYPE[S, 4]
    new: DTYPE[T, 4]
    at: i64[T]
    n = neg(x)
    a = index_put(n, new, at) axes=[0] accumulate=1
    assign(x, a)
    return
  )",
                          dtype),
               {random_tensor(dtype, {9, 4}, 1), random_tensor(dtype, {3, 4}, 2), positions({7, 7, 0})}, 1e-2);
  }
}

TEST(InPlace, AStridedBuffer) {
  auto machine = machines().back().get();
  auto session = compile(R"(
    cache: f32[3, 4]
    new: f32[1, 4]
    n = update_slice(cache, new) start=[1, 0] step=[1, 1]
    assign(cache, n)
    return
  )",
                         *machine);
  ASSERT_NE(session, nullptr);
  Tensor memory = Tensor::zeros(DType::kF32, {4, 3});
  const Tensor turned(DType::kF32, {3, 4}, {1, 3}, memory.data(), memory.owner());
  const Tensor ones = Tensor::from<float>({1, 4}, std::vector<float>{1, 2, 3, 4});
  ASSERT_TRUE(session->run(std::vector<Tensor>{turned, ones}).ok());
  expect_near(memory, Tensor::from<float>({4, 3}, std::vector<float>{0, 1, 0, 0, 2, 0, 0, 3, 0, 0, 4, 0}), 0);
}

TEST(InPlace, OutputsWhoseSizeComesLaterThanTheirStorage) {
  expect_oracle_on(R"(
    x: f32[N]
    k: i64[]
    e = neg(x)
    item(k) symbol=u0
    y = slice(e) start=[0] stop=[u0] step=[1]
    return y
  )",
                   {{f32({5}), Tensor::scalar<std::int64_t>(3)}, {f32({7}), Tensor::scalar<std::int64_t>(7)}}, 0);
}

}  // namespace
}  // namespace tilewright::runtime::testing
