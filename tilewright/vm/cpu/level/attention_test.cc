// The attention instruction on every level of this machine, against sums in double: sizes, masks, causal, grouped
// heads, dtypes, tiles; and that the bits of a row do not depend on the other rows of its tile.
#include <gtest/gtest.h>

#include <cmath>

#include "tilewright/vm/cpu/level/matmul_testing.h"

namespace tilewright::vm {
namespace {

using testing::Memory;
using testing::Stream;

enum class Mask {
  kNone,
  kFloat,
  kBool,
  kShared,
  kByKey
};  // kShared: one row for all queries; kByKey: one per head, strided

struct Problem {
  std::int64_t batch = 1, heads = 1, kv_heads = 1, queries = 1, keys = 1, depth = 16, values = 16;
  bool causal = false;
  bool empty_is_nan = false;
  Mask mask = Mask::kNone;
  DType dtype = DType::kF32;
  std::int64_t query_tile = 1 << 20, key_tile = 384;
  double scale = 0.25;

  std::string text() const {
    return fmt::format("batch {} heads {}/{} queries {} keys {} depth {} values {} causal {} mask {} {} tiles {} {}",
                       batch, heads, kv_heads, queries, keys, depth, values, causal, static_cast<int>(mask),
                       to_string(dtype), query_tile, key_tile);
  }
};

class Attention : public ::testing::TestWithParam<std::string_view> {
 protected:
  std::unique_ptr<Machine> machine = std::move(make_cpu_machine({.isa = std::string(GetParam())})).value();

  // q, k, v interleaved as one projection gives them is covered by the strides: heads lie side by side.
  struct Data {
    Memory q, k, v, out, mask;
  };
  std::unique_ptr<Data> fill(const Problem& p, unsigned seed = 1) {
    const std::int64_t q_count = p.batch * p.queries * p.heads * p.depth,
                       k_count = p.batch * p.keys * p.kv_heads * p.depth;
    const std::int64_t v_count = p.batch * p.keys * p.kv_heads * p.values,
                       out_count = p.batch * p.queries * p.heads * p.values;
    const std::int64_t mask_count = p.batch * p.heads * p.queries * p.keys * 2;
    auto data = std::unique_ptr<Data>(new Data{Memory(p.dtype, q_count), Memory(p.dtype, k_count),
                                               Memory(p.dtype, v_count), Memory(p.dtype, out_count),
                                               Memory(p.mask == Mask::kBool ? DType::kBool : DType::kF32, mask_count)});
    std::mt19937 random(seed);
    data->q.fill(random, q_count);
    data->k.fill(random, k_count);
    data->v.fill(random, v_count);
    data->mask.fill(random, mask_count);
    for (std::int64_t i = 0; i < mask_count && p.mask != Mask::kBool; i += 3) data->mask.set(i, -INFINITY);
    return data;
  }
  static std::vector<std::int64_t> mask_strides(const Problem& p) {  // batch, heads, queries, keys in elements
    if (p.mask == Mask::kShared) return {p.keys, 0, 0, 1};
    if (p.mask == Mask::kByKey) return {p.heads * p.keys * 2, p.keys * 2, 0, 2};
    return {p.heads * p.queries * p.keys, p.queries * p.keys, p.keys, 1};
  }
  void run(const Problem& p, Data& data) {
    const std::int64_t size = byte_size(p.dtype);
    const auto stream = [&](std::uint32_t buffer, std::int64_t rows, std::int64_t heads, std::int64_t width) {
      return Stream{.dtype = p.dtype,
                    .buffer = buffer,
                    .inner_stride = size,
                    .strides = {rows * heads * width * size, width * size, heads * width * size}};
    };
    std::vector<Stream> streams = {stream(0, p.queries, p.heads, p.depth), stream(1, p.keys, p.kv_heads, p.depth),
                                   stream(2, p.keys, p.kv_heads, p.values), stream(3, p.queries, p.heads, p.values)};
    if (p.mask != Mask::kNone) {
      const DType dtype = p.mask == Mask::kBool ? DType::kBool : DType::kF32;
      auto strides = mask_strides(p);
      for (auto& stride : strides) stride *= byte_size(dtype);
      streams.push_back(
          {.dtype = dtype, .buffer = 4, .inner_stride = strides[3], .strides = {strides[0], strides[1], strides[2]}});
    }
    std::int64_t scale;
    std::memcpy(&scale, &p.scale, sizeof scale);
    const auto words = testing::encode(
        isa::AttentionFields{p.kv_heads, p.keys, p.depth, p.causal, p.empty_is_nan, scale, p.query_tile, p.key_tile},
        {p.batch, p.heads, p.queries}, p.values, streams);
    std::byte* buffers[] = {data.q.data(), data.k.data(), data.v.data(), data.out.data(), data.mask.data()};
    ASSERT_TRUE(machine->run(words, 0, buffers).ok());
    ASSERT_TRUE(data.out.intact()) << p.text();
  }
  // The weights of one query over the keys, in double.
  static std::vector<double> weights(const Problem& p, Data& data, std::int64_t b, std::int64_t h, std::int64_t s) {
    const auto strides = mask_strides(p);
    const std::int64_t kv = h * p.kv_heads / p.heads;
    std::vector<double> w(static_cast<std::size_t>(p.keys), -INFINITY);
    double largest = -INFINITY, sum = 0;
    for (std::int64_t t = 0; t < p.keys; ++t) {
      double score = 0;
      for (std::int64_t d = 0; d < p.depth; ++d) {
        score += data.q.get(((b * p.queries + s) * p.heads + h) * p.depth + d) *
                 data.k.get(((b * p.keys + t) * p.kv_heads + kv) * p.depth + d);
      }
      score *= p.scale;
      const double mask =
          p.mask == Mask::kNone ? 0 : data.mask.get(b * strides[0] + h * strides[1] + s * strides[2] + t * strides[3]);
      if (p.mask == Mask::kBool ? mask == 0 : mask == -INFINITY) continue;
      if (p.causal && t > s) continue;
      w[static_cast<std::size_t>(t)] = score + (p.mask == Mask::kBool ? 0 : mask);
      largest = std::max(largest, w[static_cast<std::size_t>(t)]);
    }
    for (double& x : w) sum += x = largest == -INFINITY ? 0 : std::exp(x - largest);
    for (double& x : w) x /= sum == 0 ? 1 : sum;
    return w;
  }
  void check(const Problem& p) {
    auto data = fill(p);
    run(p, *data);
    const double tolerance = p.dtype == DType::kBF16 ? 1e-2 : p.dtype == DType::kF16 ? 2e-3 : 1e-5;
    for (std::int64_t b = 0; b < p.batch; ++b) {
      for (std::int64_t h = 0; h < p.heads; ++h) {
        for (std::int64_t s = 0; s < p.queries; ++s) {
          const auto w = weights(p, *data, b, h, s);
          for (std::int64_t n = 0; n < p.values; ++n) {
            double sum = 0;
            for (std::int64_t t = 0; t < p.keys; ++t) {
              sum += w[static_cast<std::size_t>(t)] *
                     data->v.get(((b * p.keys + t) * p.kv_heads + h * p.kv_heads / p.heads) * p.values + n);
            }
            ASSERT_NEAR(data->out.get(((b * p.queries + s) * p.heads + h) * p.values + n), sum, tolerance)
                << p.text() << " at " << b << ", " << h << ", " << s << ", " << n;
          }
        }
      }
    }
  }
};
INSTANTIATE_TEST_SUITE_P(Levels, Attention, ::testing::ValuesIn(cpu_levels().begin(), cpu_levels().end()),
                         [](const auto& info) { return std::string(info.param); });

TEST_P(Attention, ManyLengths) {
  for (const std::int64_t length : {1, 2, 7, 15, 16, 17, 33, 47, 48, 49, 73, 130}) {
    check({.batch = 2, .heads = 2, .kv_heads = 2, .queries = length, .keys = length});
    check({.queries = 3, .keys = length, .depth = 5, .values = 7});
  }
}

TEST_P(Attention, AnyDepthAndValueSize) {
  for (const std::int64_t depth : {1, 3, 16, 32, 40, 64, 80, 128}) {
    for (const std::int64_t values : {1, 5, 16, 31, 32, 64, 96, 100}) {
      check({.queries = 20, .keys = 30, .depth = depth, .values = values});
    }
  }
}

TEST_P(Attention, Causal) {
  for (const std::int64_t length : {1, 5, 48, 100, 200}) {
    check({.heads = 2, .kv_heads = 2, .queries = length, .keys = length, .causal = true, .key_tile = 48});
  }
  check({.queries = 10, .keys = 50, .causal = true});
  check({.queries = 50, .keys = 10, .causal = true});
}

TEST_P(Attention, ARowThatAttendsToNothingIsZeroOrNan) {
  for (const bool is_nan : {false, true}) {
    for (const std::int64_t keys : {0, 1, 50, 1000}) {
      const Problem p{.queries = 3, .keys = keys, .empty_is_nan = is_nan, .mask = Mask::kFloat};
      auto data = fill(p);
      for (std::int64_t t = 0; t < keys; ++t) data->mask.set(keys + t, -INFINITY);  // of query 1
      if (keys > 0) data->mask.set(0, 0), data->mask.set(2 * keys, 0);
      run(p, *data);
      for (std::int64_t n = 0; n < p.values; ++n) {
        EXPECT_TRUE(std::isfinite(data->out.get(n))) << p.text();
        EXPECT_TRUE(std::isfinite(data->out.get(2 * p.values + n))) << p.text();
        const double empty = data->out.get(p.values + n);
        EXPECT_TRUE(is_nan && keys > 0 ? std::isnan(empty) : empty == 0) << p.text() << ": " << empty;
      }
    }
  }
}

TEST_P(Attention, Masks) {
  for (const Mask mask : {Mask::kFloat, Mask::kBool, Mask::kShared, Mask::kByKey}) {
    for (const bool causal : {false, true}) {
      for (const std::int64_t keys : {1, 20, 99}) {
        check({.batch = 2,
               .heads = 2,
               .kv_heads = 2,
               .queries = 90,
               .keys = keys,
               .causal = causal,
               .mask = mask,
               .key_tile = 48});
      }
    }
  }
}

TEST_P(Attention, GroupedHeads) {
  check({.batch = 2, .heads = 6, .kv_heads = 2, .queries = 9, .keys = 21});
  check({.heads = 4, .kv_heads = 1, .queries = 80, .keys = 80, .causal = true});
}

TEST_P(Attention, NarrowTypes) {
  for (const DType dtype : {DType::kF16, DType::kBF16}) {
    check({.heads = 2,
           .kv_heads = 2,
           .queries = 75,
           .keys = 61,
           .depth = 40,
           .values = 50,
           .dtype = dtype,
           .key_tile = 48});
    check({.queries = 150, .keys = 400, .depth = 64, .values = 64, .causal = true, .dtype = dtype});
  }
}

TEST_P(Attention, TilesCoverEverything) {
  for (const std::int64_t query_tile : {1, 7, 64, 100}) {
    for (const std::int64_t key_tile : {1, 50, 1000}) {
      check({.heads = 2, .kv_heads = 2, .queries = 150, .keys = 230, .query_tile = query_tile, .key_tile = key_tile});
    }
  }
}

TEST_P(Attention, SizesBeyondPrivateScratch) {
  check({.queries = 80, .keys = 60, .depth = 1500, .values = 8, .scale = 0.01});
  check({.queries = 80, .keys = 60, .depth = 1500, .values = 8, .dtype = DType::kF16, .scale = 0.01});
  check({.queries = 100, .keys = 5000, .depth = 120, .values = 4});
  check({.queries = 3, .keys = 4, .depth = 4, .values = 20000, .dtype = DType::kBF16});
}

TEST_P(Attention, NothingToAttendToGivesZero) {
  check({.queries = 5, .keys = 0});
  const Problem p{.queries = 40, .keys = 30, .mask = Mask::kFloat};
  auto data = fill(p);
  for (std::int64_t i = 0; i < 40 * 30; ++i) data->mask.set(i, -INFINITY);
  run(p, *data);
  for (std::int64_t i = 0; i < 40 * 16; ++i) ASSERT_EQ(data->out.get(i), 0);
}

TEST_P(Attention, EmptySizes) {
  check({.queries = 0, .keys = 5});
  check({.queries = 5, .keys = 5, .depth = 0});
  check({.queries = 5, .keys = 5, .values = 0});
  check({.batch = 0, .queries = 5, .keys = 5});
}

TEST_P(Attention, ANegativeScale) {
  check({.queries = 20, .keys = 100, .key_tile = 48, .scale = -3});
}

TEST_P(Attention, ARowDependsOnNothingElse) {
  for (const bool causal : {false, true}) {
    const Problem whole{.queries = 170, .keys = 170, .depth = 40, .values = 50, .causal = causal, .key_tile = 96};
    auto expected = fill(whole);
    run(whole, *expected);
    for (const std::int64_t query_tile : {1, 2, 3, 5, 40, 71, 73}) {
      Problem p = whole;
      p.query_tile = query_tile;
      auto data = fill(p);
      run(p, *data);
      ASSERT_EQ(std::memcmp(data->out.data(), expected->out.data(), 170 * 50 * 4), 0) << p.text();
    }
  }
}

}  // namespace
}  // namespace tilewright::vm
