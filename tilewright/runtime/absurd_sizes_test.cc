// Sizes that no memory holds, or that 64 bits cannot count: an error, and the session is as good as before. Inputs of
// such sizes are one element that strides of 0 repeat.
#include "tilewright/graph/testing.h"
#include "tilewright/runtime/session.h"

namespace tilewright::runtime {
namespace {

Tensor repeated(std::vector<std::int64_t> sizes, DType dtype = DType::kF32) {
  const Tensor one(dtype, {1});
  std::memset(one.data(), 0, static_cast<std::size_t>(one.bytes()));
  const std::vector<std::int64_t> strides(sizes.size(), 0);
  return Tensor(dtype, std::move(sizes), strides, one.data(), one.owner());
}

constexpr std::int64_t kHuge = std::int64_t{1} << 62;
constexpr std::int64_t kLarge = std::int64_t{1} << 31;

// A call with `bad` inputs is an error; one with `good` inputs before and after it is not.
void expect_error_between(std::string_view text, const std::vector<Tensor>& bad, const std::vector<Tensor>& good) {
  SCOPED_TRACE(text);
  auto session = Session::compile(parse_or_die(text));
  ASSERT_TRUE(session.ok()) << session.error().message;
  for (int round = 0; round < 2; ++round) {
    const auto before = (*session)->run(good);
    ASSERT_TRUE(before.ok()) << before.error().message;
    const auto got = (*session)->run(bad);
    ASSERT_FALSE(got.ok());
    EXPECT_NE(got.error().kind, ErrorKind::kInternal) << got.error().message;
    EXPECT_FALSE(got.error().message.empty());
  }
  const auto after = (*session)->run(good);
  EXPECT_TRUE(after.ok()) << after.error().message;
}

TEST(AbsurdSizes, AResultOfMoreBytesThan64BitsCount) {
  for (const std::int64_t size : {kHuge, kHuge - 1, std::int64_t{INT64_MAX}, INT64_MAX / 4 + 1, INT64_MAX / 4})
    expect_error_between("x: f32[N]\ny = neg(x)\nreturn y", {repeated({size})}, {repeated({5})});
}

TEST(AbsurdSizes, AResultThatNoMemoryHolds) {
  for (const int bits : {40, 45, 50, 55, 60})
    expect_error_between("x: f32[N]\ny = neg(x)\nreturn y", {repeated({std::int64_t{1} << bits})}, {repeated({5})});
}

TEST(AbsurdSizes, TwoAxesWhoseProductOverflows) {
  expect_error_between("x: f32[N, M]\ny = neg(x)\nreturn y", {repeated({kLarge * 4, kLarge * 4})}, {repeated({5, 3})});
  expect_error_between("x: f32[N, 1]\ny: f32[1, M]\nz = add(x, y)\nreturn z",
                       {repeated({kLarge * 4, 1}), repeated({1, kLarge * 4})}, {repeated({5, 1}), repeated({1, 3})});
}

TEST(AbsurdSizes, ASumOfSizesThatOverflows) {
  expect_error_between("x: f32[N]\ny: f32[M]\nz = concat(x, y) axis=0\nreturn z",
                       {repeated({kHuge}), repeated({kHuge})}, {repeated({5}), repeated({3})});
}

TEST(AbsurdSizes, AProductOfSizesThatOverflows) {
  expect_error_between("x: f32[N, M]\ny = reshape(x) shape=[N*M]\nz = exp(y)\nreturn z",
                       {repeated({kLarge * 4, kLarge * 4})}, {repeated({5, 3})});
}

TEST(AbsurdSizes, AMatrixThatNoMemoryHolds) {
  expect_error_between("x: f32[N, K]\ny: f32[K, M]\nz = matmul(x, y)\ns = exp(z)\nreturn s",
                       {repeated({kLarge, 2}), repeated({2, kLarge})}, {repeated({5, 2}), repeated({2, 3})});
  expect_error_between("x: f32[N, K]\ny: f32[K, M]\nz = matmul(x, y)\nreturn z",
                       {repeated({kLarge * 4, 0}), repeated({0, kLarge * 4})}, {repeated({5, 2}), repeated({2, 3})});
}

// The intermediate needs what no machine has.
TEST(AbsurdSizes, AnIntermediateThatNoMemoryHolds) {
  expect_error_between("x: f32[N, 4]\ni: i64[2]\ny = cumsum(x) axis=0\nz = gather(y, i) axis=0\nreturn z",
                       {repeated({std::int64_t{1} << 45, 4}), repeated({2}, DType::kI64)},
                       {repeated({5, 4}), repeated({2}, DType::kI64)});
}

TEST(AbsurdSizes, AnEmptyResultOfHugeAxesIsEmptyOrAnError) {
  for (const std::int64_t size : {std::int64_t{1} << 20, kLarge, kHuge, std::int64_t{INT64_MAX}}) {
    auto session = Session::compile(parse_or_die("x: f32[N, M, K]\ny = neg(x)\nreturn y"));
    ASSERT_TRUE(session.ok());
    for (const auto& sizes : {std::vector<std::int64_t>{0, size, 3}, {size, 0, size}, {3, size, 0}}) {
      const auto got = (*session)->run(std::vector{repeated(sizes)});
      if (got.ok()) {
        EXPECT_EQ((*got)[0].count(), 0);
      } else {
        EXPECT_NE(got.error().kind, ErrorKind::kInternal) << got.error().message;
      }
    }
    EXPECT_TRUE((*session)->run(std::vector{repeated({2, 3, 4})}).ok());
  }
}

// Sizes that only the data gives.
TEST(AbsurdSizes, ALateSize) {
  for (const std::string_view body :
       {"y = pad(x) low=[n] high=[0]", "y = pad(x) low=[0] high=[n]", "y = expand(x) shape=[n, 3]",
        "y = iota() dtype=f32 axis=0 shape=[n]", "y = slice(x) start=[n] stop=[3] step=[1]",
        "e = expand(x) shape=[n, 3]\n y = cumsum(e) axis=0", "e = expand(x) shape=[n, 3]\n y = concat(e, e) axis=0",
        "e = iota() dtype=i64 axis=0 shape=[n]\n y = reshape(e) shape=[n, 1]"}) {
    SCOPED_TRACE(body);
    auto session = Session::compile(
        parse_or_die(fmt::format("x: f32[3]\np: i64[]\nitem(p) symbol=n\n{}\nz = neg(y)\nreturn z", body)));
    ASSERT_TRUE(session.ok()) << session.error().message;
    const auto run = [&](std::int64_t n) {
      return (*session)->run(std::vector{repeated({3}), Tensor::scalar<std::int64_t>(n)});
    };
    ASSERT_TRUE(run(2).ok()) << run(2).error().message;
    for (const std::int64_t n : {kHuge, kHuge / 2, std::int64_t{INT64_MAX}, std::int64_t{INT64_MIN}, std::int64_t{-5},
                                 std::int64_t{1} << 50, std::int64_t{1} << 45}) {
      const auto got = run(n);
      ASSERT_FALSE(got.ok()) << n;
      EXPECT_NE(got.error().kind, ErrorKind::kInternal) << n << ": " << got.error().message;
      EXPECT_TRUE(run(2).ok()) << n;
    }
  }
}

TEST(AbsurdSizes, AnItemMayBeNegativeWhereAFactSaysSo) {
  auto session = Session::compile(
      parse_or_die("fact n in [-9223372036854775808, 9223372036854775807]\nx: f32[3]\np: i64[]\nitem(p) symbol=n\n"
                   "y = pad(x) low=[n] high=[0]\nz = neg(y)\nreturn z"));
  ASSERT_TRUE(session.ok()) << session.error().message;
  const auto run = [&](std::int64_t n) {
    const auto got = (*session)->run(std::vector{repeated({3}), Tensor::scalar<std::int64_t>(n)});
    return got.ok() ? fmt::format("{} elements", (*got)[0].count()) : got.error().message;
  };
  EXPECT_EQ(run(-1), "2 elements");
  EXPECT_EQ(run(2), "5 elements");
  EXPECT_EQ(run(-5), "item: 'y': sizes do not fit: n + 3 = -2, expected at least 0");
}

// What the graph takes for true of its sizes.
TEST(AbsurdSizes, ASizeThatContradictsAFact) {
  auto session = Session::compile(
      parse_or_die("fact B in [3, 8]\nfact K % 4 == 0\nx: f32[B]\nk: f32[K]\ny = neg(x)\nz = neg(k)\nreturn y, z"));
  ASSERT_TRUE(session.ok()) << session.error().message;
  const auto run = [&](std::int64_t b, std::int64_t k) {
    const auto got = (*session)->run(std::vector{repeated({b}), repeated({k})});
    return got.ok() ? "good" : got.error().message;
  };
  EXPECT_EQ(run(3, 4), "good");
  EXPECT_EQ(run(2, 4), "'B': sizes do not fit: B = 2, expected at least 3");
  EXPECT_EQ(run(9, 4), "'B': sizes do not fit: B = 9, expected at most 8");
  EXPECT_EQ(run(8, 5), "'K': sizes do not fit: K%4 = 1, expected 0");
  EXPECT_EQ(run(8, 0), "good");
}

TEST(AbsurdSizes, NegativeSizesAreAnError) {
  const Tensor one(DType::kF32, {1});
  auto session = Session::compile(parse_or_die("x: f32[N]\ny = neg(x)\nreturn y"));
  ASSERT_TRUE(session.ok());
  TensorArg arg = TensorArg::of(one);
  arg.sizes[0] = -1;
  TensorSink sink;
  EXPECT_FALSE((*session)->run(std::vector{arg}, {}, sink).ok());
}

}  // namespace
}  // namespace tilewright::runtime
