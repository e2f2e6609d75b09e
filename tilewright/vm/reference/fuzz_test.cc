// Programs with damaged words: what the verifier accepts must run inside of its buffers. The buffers have exactly the
// sizes that the program declares, so the address sanitiser of the debug build sees every step beyond them.
#include <chrono>
#include <random>

#include "tilewright/isa/layout.h"
#include "tilewright/vm/reference/run_text.h"

namespace tilewright::vm::reference {
namespace {

constexpr std::string_view kPrograms[] = {R"(program scratch=1024
buffer 0 input 4800
buffer 1 output 4800
buffer 2 constant 400
map tasks=8 inner=300 dims=[2,2] row_tile=1 inner_tile=256
  s0 = buffer 0 f32 inner=4 strides=[2400,1200]
  s1 = buffer 1 f32 inner=4 strides=[2400,1200]
  s2 = literal f32 bits=0x40000000
  s3 = slot i32 offset=512 inner=4
  s4 = iota i64 inner=1 strides=[600,300]
  s5 = buffer 2 f32 strides=[4,8]
  s6 = scratch f32 inner=4
  phase strip
    load_f32.f32.unit s0
    mul.f32.one s2
    store_f32.f32.strided s6
    to_int.f32
    store_i32.i32.unit s3
    load_iota.i32.unit s4
    add.i32 s3
    to_float.i32
    add.f32.one s5
    store_f32.f32.unit s1
    end.f32
)",
                                          R"(program scratch=2048
buffer 0 input 256
buffer 1 output 256
buffer 2 output 16
buffer 3 constant 64
rows tasks=2 inner=16 dims=[4] row_tile=2
  s0 = buffer 0 f32 inner=4 strides=[64]
  s1 = buffer 1 f32 inner=4 strides=[64]
  s2 = literal f32 bits=0x3727c5ac
  s3 = accumulator f32 offset=1024 reduce=max target=4
  s4 = buffer 2 f32 strides=[4]
  s5 = buffer 3 f32 inner=4
  s6 = scratch f32 inner=4 strides=[64]
  phase layer_norm from=s0 to=s6 weight=s5 bias=none eps=s2
  phase strip accumulator=3 count=1
    load_f32.f32.unit s6
    store_f32.f32.unit s1
    acc_max.f32 s3
    end.f32
  phase scalar
    load_f32.f32.unit s4
    store_f32.f32.unit s4
    end.f32
  phase softmax from=s1 to=s1
)",
                                          R"(program scratch=64
buffer 0 input 384
buffer 1 output 128
columns tasks=4 inner=16 dims=[2,3] reduced=1 inner_tile=8
  s0 = buffer 0 f32 inner=4 strides=[192,64]
  s1 = accumulator f32 offset=32 reduce=sum target=0
  s2 = scratch f32 offset=32 inner=4
  s3 = buffer 1 f32 inner=4 strides=[64,0]
  phase strip accumulator=1 count=1
    load_f32.f32.unit s0
    acc_sum.f32 s1
    end.f32
  phase strip
    load_f32.f32.unit s2
    store_f32.f32.unit s3
    end.f32
)",
                                          R"(program scratch=0
buffer 0 input 480
buffer 1 input 1344
buffer 2 packed 1536
buffer 3 output 560
pack tasks=8 inner=14 dims=[2,12] panel=4
  s0 = buffer 1 f32 inner=4 strides=[672,56]
  s1 = buffer 2 f32 strides=[768,0]
matmul tasks=8 inner=14 dims=[2,5] k=12 m_tile=3 n_tile=8 k_block=12 panel=4
  s0 = buffer 0 f32 inner=4 strides=[240,48]
  s1 = buffer 2 f32 strides=[768,0]
  s2 = tile f32 inner=4
  s3 = buffer 3 f32 inner=4 strides=[280,56]
  phase strip
    load_f32.f32.unit s2
    store_f32.f32.unit s3
    end.f32
)",
                                          R"(program scratch=0
buffer 0 input 768
buffer 1 input 896
buffer 2 input 560
buffer 3 output 480
buffer 4 input 21
attention tasks=16 inner=5 dims=[2,4,3] kv_heads=2 keys=7 depth=8 causal=1 scale=4602678819172646912 query_tile=2 key_tile=4
  s0 = buffer 0 f32 inner=4 strides=[384,96,32]
  s1 = buffer 1 f32 inner=4 strides=[448,224,32]
  s2 = buffer 2 f32 inner=4 strides=[280,140,20]
  s3 = buffer 3 f32 inner=4 strides=[240,60,20]
  s4 = buffer 4 bool inner=1 strides=[0,0,7]
)"};

// Strides of 0 let a short program over a small buffer run for years: only what ends soon is run.
bool ends_soon(const isa::Program& program) {
  for (std::size_t at = 0; at < program.words.size(); at += isa::Inst(program.words.data() + at).num_words()) {
    isa::Layout layout;
    isa::read_layout(program.words.data() + at, program.words.size() - at, layout);
    double work = 1.0 + static_cast<double>(isa::Inst(layout.words).inner());
    for (int d = 0; d < layout.rank; ++d) work *= 1.0 + static_cast<double>(layout.dims()[d]);
    const isa::Opcode opcode = isa::Inst(layout.words).opcode();
    if (opcode == isa::Opcode::kMatMul || opcode == isa::Opcode::kDot)
      work *= 1.0 + static_cast<double>(layout.field(0));
    if (opcode == isa::Opcode::kPack) work *= static_cast<double>(layout.field(0));
    if (opcode == isa::Opcode::kAttention)
      work *= (1.0 + static_cast<double>(layout.field(1))) * (1.0 + static_cast<double>(layout.field(2)));
    if (work > 1e6) return false;
  }
  return true;
}

class Damage {
 public:
  explicit Damage(std::uint64_t seed) : random_(seed) {}

  void apply(isa::Program& program) {
    for (std::uint64_t i = random_() % 3 + 1; i > 0; --i) {
      isa::Word& word = program.words[random_() % program.words.size()];
      switch (random_() % 5) {
        case 0:
          word ^= isa::Word{1} << random_() % 64;
          break;
        case 1:
          word += random_() % 17 - 8;
          break;
        case 2:
          word = program.words[random_() % program.words.size()];
          break;
        case 3:
          word = random_() % 2 == 0 ? 0 : random_() % 4096;
          break;
        default:
          word = word * (random_() % 4) / (random_() % 3 + 1);
          break;
      }
    }
    if (random_() % 8 == 0 && !program.buffers.empty())
      program.buffers[random_() % program.buffers.size()].bytes = static_cast<std::int64_t>(random_() % 2000);
  }

 private:
  std::mt19937_64 random_;
};

TEST(Fuzz, WhatTheVerifierAcceptsStaysInItsBuffers) {
  const auto seed = static_cast<std::uint64_t>(std::random_device{}());
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(1500);
  const std::unique_ptr<Machine> machine = make_reference_machine();
  std::uint64_t accepted = 0;
  std::uint64_t round = 0;
  for (; std::chrono::steady_clock::now() < end; ++round) {
    SCOPED_TRACE(seed + round);
    isa::Program program = *isa::assemble(kPrograms[round % std::size(kPrograms)]);
    Damage(seed + round).apply(program);
    if (!isa::verify_program(program) || !ends_soon(program)) continue;
    ++accepted;
    std::vector<Bytes> buffers;
    std::vector<std::byte*> addresses;
    for (const isa::Buffer& buffer : program.buffers) buffers.emplace_back(static_cast<std::size_t>(buffer.bytes));
    for (Bytes& buffer : buffers) addresses.push_back(buffer.data());
    ASSERT_TRUE(machine->run(program.words, program.scratch_bytes, addresses).ok());
  }
  EXPECT_GT(accepted, round / 100) << "of " << round << " programs, seed " << seed;
}

}  // namespace
}  // namespace tilewright::vm::reference
