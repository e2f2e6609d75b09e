// The verifier runs at every bind: a program without an error is verified without one heap allocation.
#include <gtest/gtest.h>

#include <cstdlib>
#include <new>

#include "tilewright/isa/program.h"

namespace {
thread_local int allocations = 0;
}  // namespace

void* operator new(std::size_t bytes) {
  ++allocations;
  if (void* memory = std::malloc(bytes == 0 ? 1 : bytes)) return memory;
  throw std::bad_alloc();
}
// Not inlined: the compiler takes free() of what new gave for a mistake.
[[gnu::noinline]] void operator delete(void* memory) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}

namespace tilewright::isa {
namespace {

TEST(Verify, AllocatesNothingWhenAllIsWell) {
  const Result<Program> program = assemble(R"(program scratch=1024
buffer 0 input 256
buffer 1 output 256
rows tasks=2 inner=16 dims=[4] row_tile=2
  s0 = buffer 0 f32 inner=4 strides=[64]
  s1 = buffer 1 f32 inner=4 strides=[64]
  s2 = accumulator f32 offset=512 reduce=max target=3
  s3 = scratch f32 strides=[4]
  phase softmax from=s0 to=s1
  phase strip accumulator=2 count=1
    load_f32.f32.unit s1
    acc_max.f32 s2
    end.f32
)");
  ASSERT_TRUE(program.ok());
  const int before = allocations;
  const bool good = verify_program(*program).ok();
  EXPECT_EQ(allocations, before);
  EXPECT_TRUE(good);
}

}  // namespace
}  // namespace tilewright::isa
