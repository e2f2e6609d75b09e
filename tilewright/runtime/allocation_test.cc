// Warm calls allocate nothing per kernel: binding, encoding, verifying and running leave the heap alone, except for
// what a program that is kept takes, whatever the number of its kernels.
#include <gtest/gtest.h>

#include <cstdlib>
#include <new>

#include "tilewright/graph/testing.h"
#include "tilewright/runtime/session.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define TW_COUNTS 0  // the sanitizers have an operator new of their own
#else
#define TW_COUNTS 1
#endif

namespace {
thread_local std::int64_t allocations = 0;

#if TW_COUNTS
void* counted(void* memory) {
  ++allocations;
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
#endif
}  // namespace

// Not inlined: the compiler takes free() of what new gave for a mistake.
#if TW_COUNTS
[[gnu::noinline]] void* operator new(std::size_t bytes) {
  return counted(std::malloc(bytes == 0 ? 1 : bytes));
}
[[gnu::noinline]] void* operator new(std::size_t bytes, std::align_val_t alignment) {
  const auto align = static_cast<std::size_t>(alignment);
  return counted(std::aligned_alloc(align, (bytes + align) / align * align));
}

[[gnu::noinline]] void operator delete(void* memory) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, std::align_val_t) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  std::free(memory);
}
#endif

namespace tilewright::runtime {
namespace {

// Kernels of many kinds per block: norm, product with a row of its own, gelu, softmax, reductions, movement, lookup,
// prefix sum.
std::string blocks(int count) {
  std::string text = R"(
    x: f32[B, S, 32]
    weight w: f32[32, 32]
    weight g: f32[32]
    p: i64[S]
)";
  std::string x = "x";
  for (int i = 0; i < count; ++i) {
    text += fmt::format(R"(
    n{0} = layer_norm({1}, g) num_axes=1 eps=0.01
    q{0} = matmul(n{0}, w)
    e{0} = gelu(q{0})
    t{0} = transpose(n{0}) perm=[0,2,1]
    m{0} = matmul(e{0}, t{0})
    s{0} = softmax(m{0}) axis=2
    v{0} = matmul(s{0}, n{0})
    c{0} = cumsum(v{0}) axis=1
    r{0} = reduce_max(c{0}) axes=[1] keepdim=true
    a{0} = sub(c{0}, r{0})
    k{0} = gather(a{0}, p) axis=1
    y{0} = add(k{0}, {1})
)",
                        i, x);
    x = fmt::format("y{}", i);
  }
  return text + "    return " + x + "\n";
}

class Caller {
 public:
  explicit Caller(int count, std::int64_t cache_bytes) {
    SessionOptions options;
    options.runner.cache_bytes = cache_bytes;
    auto session = Session::compile(parse_or_die(blocks(count)), options);
    TW_CHECK(session.ok(), "the graph of a test compiles");
    session_ = std::move(*session);
  }

  // The allocations of a call at these sizes; its memory is ours.
  std::int64_t call(std::int64_t batch, std::int64_t length) {
    auto arg = [](DType dtype, std::initializer_list<std::int64_t> sizes, void* data) {
      TensorArg out;
      out.dtype = dtype;
      out.rank = static_cast<int>(sizes.size());
      out.data = static_cast<std::byte*>(data);
      std::copy(sizes.begin(), sizes.end(), out.sizes.begin());
      std::int64_t stride = 1;
      for (int axis = out.rank - 1; axis >= 0; --axis) {
        out.strides[static_cast<std::size_t>(axis)] = stride;
        stride *= out.sizes[static_cast<std::size_t>(axis)];
      }
      return out;
    };
    std::vector<TensorArg> args{arg(DType::kF32, {batch, length, 32}, x_.data()), arg(DType::kF32, {32, 32}, w_.data()),
                                arg(DType::kF32, {32}, g_.data()), arg(DType::kI64, {length}, p_.data())};
    args[1].identity = 1, args[1].version = 1, args[2].identity = 2, args[2].version = 1;
    const std::int64_t before = allocations;
    const Status status = session_->run(args, {}, sink_);
    const std::int64_t made = allocations - before;
    EXPECT_TRUE(status.ok()) << status.error().message;
    return made;
  }

 private:
  class Fixed final : public OutputSink {
   public:
    Result<std::byte*> allocate(std::size_t, DType, std::span<const std::int64_t>,
                                std::span<const std::int64_t>) override {
      return reinterpret_cast<std::byte*>(room.data());
    }
    std::vector<float> room = std::vector<float>(1 << 20);
  };
  std::unique_ptr<Session> session_;
  std::vector<float> x_ = std::vector<float>(1 << 20, 0.5f), w_ = std::vector<float>(1024, 0.1f),
                     g_ = std::vector<float>(32, 1.0f);
  std::vector<std::int64_t> p_ = std::vector<std::int64_t>(4096, 0);
  Fixed sink_;
};

TEST(Allocations, AWarmCallMakesNone) {
  if (!TW_COUNTS) GTEST_SKIP() << "the sanitizers have an operator new of their own";
  Caller caller(3, 1 << 20);
  for (int i = 0; i < 3; ++i) caller.call(2, 40);
  EXPECT_EQ(caller.call(2, 40), 0);
}

TEST(Allocations, ACachedShapeMakesNone) {
  if (!TW_COUNTS) GTEST_SKIP() << "the sanitizers have an operator new of their own";
  Caller caller(3, 8 << 20);
  for (int round = 0; round < 2; ++round)
    for (std::int64_t length = 1; length < 20; ++length) caller.call(2, length);
  for (std::int64_t length = 1; length < 20; ++length) EXPECT_EQ(caller.call(2, length), 0) << length;
}

// Of calls at new shapes, the most that one of them makes.
std::int64_t at_new_shapes(int count, std::int64_t cache_bytes) {
  Caller caller(count, cache_bytes);
  for (std::int64_t length = 100; length > 60; --length) caller.call(3, length);
  std::int64_t most = 0;
  for (std::int64_t length = 60; length > 20; --length) most = std::max(most, caller.call(2, length));
  return most;
}

TEST(Allocations, ANewShapeMakesNoneWithoutACache) {
  if (!TW_COUNTS) GTEST_SKIP() << "the sanitizers have an operator new of their own";
  EXPECT_EQ(at_new_shapes(1, 0), at_new_shapes(8, 0));
}

TEST(Allocations, ANewShapeMakesAsManyForManyKernelsAsForFew) {
  if (!TW_COUNTS) GTEST_SKIP() << "the sanitizers have an operator new of their own";
  EXPECT_EQ(at_new_shapes(1, 8 << 20), at_new_shapes(8, 8 << 20));
}

}  // namespace
}  // namespace tilewright::runtime
