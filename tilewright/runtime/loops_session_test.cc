// while, if and what stands in their regions: state in place, growing state, sizes that only the data gives, replays
// that end because a size changed. On every machine against the oracle.
#include <atomic>
#include <thread>

#include "tilewright/runtime/oracle_testing.h"
#include "tilewright/runtime/stats.h"

namespace tilewright::runtime::testing {
namespace {

Tensor number(std::int64_t value) {
  return Tensor::scalar<std::int64_t>(value);
}
Tensor floats(std::vector<std::int64_t> sizes, std::vector<float> values) {
  return Tensor::from<float>(std::move(sizes), values);
}

constexpr std::string_view kGrowing = R"(
    n: i64[]
    x: f32[s0]
    i, y = while(n, x) {
      i: i64[]
      x: f32[m0]
      z = scalar() dtype=i64 value=0
      go = gt(i, z)
      return go
    } {
      i: i64[]
      x: f32[m1]
      s = scalar() dtype=i64 value=1
      j = sub(i, s)
      w = concat(x, x) axis=0
      v = neg(w)
      return j, v
    }
    z = neg(y)
    return i, z)";

TEST(Loops, StateThatGrows) {
  std::vector<std::vector<Tensor>> calls;
  for (const auto& [trips, size] : {std::pair{2, 1}, {0, 3}, {5, 3}, {5, 3}, {1, 0}, {7, 2}, {-1, 2}, {2, 1}}) {
    calls.push_back({number(trips), random_tensor(DType::kF32, {size}, 7)});
  }
  expect_oracle_on(kGrowing, calls, 0);
}

// Writes one row per trip: nothing else of the cache moves.
constexpr std::string_view kCache = R"(
    n: i64[]
    x: f32[S, 4]
    row: f32[1, 4]
    i, y, r = while(n, x, row) {
      i: i64[]
      x: f32[S, 4]
      r: f32[1, 4]
      z = scalar() dtype=i64 value=0
      go = gt(i, z)
      return go
    } {
      i: i64[]
      x: f32[S, 4]
      r: f32[1, 4]
      one = scalar() dtype=i64 value=1
      j = sub(i, one)
      at = reshape(j) shape=[1]
      y = index_put(x, r, at) axes=[0]
      t = neg(r)
      return j, y, t
    }
    return i, y, r)";

TEST(Loops, ACarriedCacheIsUpdatedInPlace) {
  std::vector<std::vector<Tensor>> calls;
  for (const std::int64_t trips : {3, 0, 50, 1}) {
    calls.push_back({number(trips), random_tensor(DType::kF32, {50, 4}, 3), random_tensor(DType::kF32, {1, 4}, 4)});
  }
  expect_oracle_on(kCache, calls, 0);
  auto session = compile(kCache, *machines().back());
  std::int64_t written[2];
  for (int i = 0; i < 2; ++i) {
    const std::int64_t before = stats().bytes_written;
    ASSERT_TRUE(session->run(std::vector<Tensor>{number(10 + 20 * i), calls[0][1], calls[0][2]}).ok());
    written[i] = stats().bytes_written - before;
  }
  EXPECT_LT((written[1] - written[0]) / 20, 100);  // a trip: the row, its negation, the count and the condition
}

TEST(Loops, TheInputOfALoopStaysWhatItWas) {
  expect_oracle_on(R"(
    x: f32[4]
    v: f32[1]
    e = neg(x)
    last = scan(e) carried=1 trips=3 {
      i: i64[]
      s: f32[4]
      capture w = v
      u = update_slice(s, w) start=[1] step=[1]
      return u
    }
    y = add(last, e)
    return y, last, e)",
                   {{floats({4}, {1, 2, 3, 4}), floats({1}, {9})}}, 0);
}

TEST(Loops, StateThatIsExchangedAndStateThatStays) {
  expect_oracle_on(R"(
    a: f32[2]
    b: f32[2]
    c: f32[N]
    x, y, z, all = scan(a, b, c) carried=3 trips=5 {
      i: i64[]
      p: f32[2]
      q: f32[2]
      r: f32[N]
      s = add(p, q)
      return q, s, r, p
    }
    m, o = scan(a, a) carried=2 trips=3 {
      i: i64[]
      p: f32[2]
      q: f32[2]
      return q, p
    }
    return x, y, z, all, m, o)",
                   {{floats({2}, {1, 2}), floats({2}, {10, 20}), floats({3}, {1, 2, 3})},
                    {floats({2}, {1, 2}), floats({2}, {10, 20}), floats({0}, {})}},
                   0);
}

// The number of elements that stay is another one in each trip.
constexpr std::string_view kFilter = R"(
    x: f32[N]
    sums = scan(x) carried=0 trips=N {
      i: i64[]
      v: f32[]
      capture all = x
      m = lt(all, v)
      p = nonzero(m) count=c
      r = reshape(p) shape=[c]
      g = gather(all, r) axis=0
      n = neg(g)
      s = reduce_sum(n) axes=[0]
      k = scalar() dtype=f32 value=c
      q = add(s, k)
      return q
    }
    return sums)";

TEST(Loops, SizesFromDataInABody) {
  expect_oracle(kFilter, {{{1}}, {{5}}, {{17}}, {{17}}, {{0}}, {{64}}}, 1e-4);
  expect_oracle_on(kFilter, {{floats({6}, {1, 1, 1, 2, 2, 1})}, {floats({6}, {3, 3, 3, 3, 3, 3})}}, 1e-5);
}

constexpr std::string_view kBranches = R"(
    x: f32[N]
    t: f32[]
    m = gt(x, t)
    any = reduce_any(m) axes=[0]
    y, k = if(any) late=[u0] {
      capture a = x
      capture b = m
      p = nonzero(b) count=c
      r = reshape(p) shape=[c]
      g = gather(a, r) axis=0
      s = reduce_sum(g) axes=[0]
      return g, s
    } {
      capture a = x
      z = scalar() dtype=f32 value=0
      n = neg(a)
      return n, z
    }
    e = exp(y)
    d = scalar() dtype=i64 value=u0
    return e, k, d)";

TEST(Loops, SizesFromDataInABranch) {
  std::vector<std::vector<Tensor>> calls;
  for (const float limit : {0.0f, 0.5f, 1.9f, 5.0f, 0.5f, 0.5f, -9.0f, 5.0f}) {
    for (const std::int64_t size : {9, 9, 1, 40}) {
      calls.push_back({random_tensor(DType::kF32, {size}, 5), Tensor::scalar<float>(limit)});
    }
  }
  expect_oracle_on(kBranches, calls, 1e-5);
}

// Each trip takes another branch, whose result has another size, and stops when the state is long enough.
constexpr std::string_view kCollatz = R"(
    n: i64[]
    x: f32[S]
    last, y = while(n, x) {
      i: i64[]
      v: f32[m0]
      one = scalar() dtype=i64 value=1
      go = gt(i, one)
      return go
    } {
      i: i64[]
      v: f32[m1]
      two = scalar() dtype=i64 value=2
      r = mod(i, two)
      odd = cast(r) dtype=bool
      j, w = if(odd) late=[u0] {
        capture k = i
        capture a = v
        three = scalar() dtype=i64 value=3
        one = scalar() dtype=i64 value=1
        p = mul(k, three)
        q = add(p, one)
        o = scalar() dtype=f32 value=1
        e = expand(o) shape=[1]
        c = concat(a, e) axis=0
        return q, c
      } {
        capture k = i
        capture a = v
        two = scalar() dtype=i64 value=2
        h = floor_div(k, two)
        t = add(a, a)
        return h, t
      }
      return j, w
    }
    return last, y)";

TEST(Loops, ABranchInALoop) {
  std::vector<std::vector<Tensor>> calls;
  for (const std::int64_t start : {6, 1, 7, 27, 7, 8}) calls.push_back({number(start), floats({2}, {1, 2})});
  expect_oracle_on(kCollatz, calls, 1e-5);
}

TEST(Loops, AnErrorInATripLeavesTheSessionUsable) {
  const std::string_view text = R"(
    x: f32[N]
    at: i64[T]
    all = scan(at) carried=0 trips=T {
      i: i64[]
      k: i64[]
      capture v = x
      g = gather(v, k) axis=0
      return g
    }
    return all)";
  const Tensor x = floats({3}, {5, 6, 7});
  const auto at = [](std::vector<std::int64_t> values) {
    const auto count = static_cast<std::int64_t>(values.size());
    return Tensor::from<std::int64_t>({count}, values);
  };
  for (auto& machine : machines()) {
    auto session = compile(text, *machine);
    for (int i = 0; i < 3; ++i) {
      auto good = session->run(std::vector<Tensor>{x, at({2, 0, -1})});
      ASSERT_TRUE(good.ok()) << good.error().message;
      expect_near((*good)[0], floats({3}, {7, 5, 7}), 0);
      auto bad = session->run(std::vector<Tensor>{x, at({1, 3, 0})});
      ASSERT_FALSE(bad.ok());
      EXPECT_EQ(bad.error().message, "all: gather: index 3 is out of range for an axis of size 3");
    }
  }
}

TEST(Loops, ThreadsShareASession) {
  auto session = compile(kCollatz, *machines().back());
  ASSERT_NE(session, nullptr);
  const std::array<std::int64_t, 5> starts{6, 7, 27, 1, 9};
  std::vector<std::vector<Tensor>> want;
  for (const std::int64_t start : starts) {
    auto got = session->run(std::vector<Tensor>{number(start), floats({2}, {1, 2})});
    ASSERT_TRUE(got.ok()) << got.error().message;
    want.push_back(std::move(*got));
  }
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (std::size_t thread = 0; thread < 8; ++thread) {
    threads.emplace_back([&, thread] {
      for (std::size_t round = 0; round < 50; ++round) {
        const std::size_t i = (thread + round / 3) % starts.size();
        const auto got = session->run(std::vector<Tensor>{number(starts[i]), floats({2}, {1, 2})});
        const Tensor& expected = want[i][1];
        if (!got.ok() || (*got)[1].bytes() != expected.bytes() ||
            std::memcmp((*got)[1].data(), expected.data(), static_cast<std::size_t>(expected.bytes())) != 0) {
          ++wrong;
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST(Loops, NothingIsEncodedWhileSizesStay) {
  auto graph = parse_graph(kCache);
  ASSERT_TRUE(graph.ok());
  SessionOptions options;
  options.machine = machines().back().get();
  options.runner.cache_bytes = 0;
  auto session = Session::compile(std::move(*graph), options);
  ASSERT_TRUE(session.ok());
  const auto encoded = [&](std::int64_t trips) {
    const std::int64_t before = stats().programs_encoded;
    EXPECT_TRUE((*session)
                    ->run(std::vector<Tensor>{number(trips), random_tensor(DType::kF32, {50, 4}, 3),
                                              random_tensor(DType::kF32, {1, 4}, 4)})
                    .ok());
    return stats().programs_encoded - before;
  };
  encoded(2);
  const std::int64_t few = encoded(2);
  EXPECT_EQ(encoded(40), few);
}

}  // namespace
}  // namespace tilewright::runtime::testing
