// One damaged thing per case: the program is right but for one replaced piece of text, and the verifier says which.
#include <gtest/gtest.h>

#include <string>

#include "tilewright/isa/program.h"

namespace tilewright::isa {
namespace {

std::string verdict(std::string_view text) {
  const Result<Program> program = assemble(text);
  if (!program.ok()) return "text: " + program.error().message;
  const Status status = verify_program(*program);
  return status.ok() ? "good" : status.error().message;
}

struct Damage {
  std::string_view from, to, message;
};

void expect_rejected(std::string_view good, std::initializer_list<Damage> damages) {
  ASSERT_EQ(verdict(good), "good");
  for (const Damage& damage : damages) {
    std::string text(good);
    const std::size_t at = text.find(damage.from);
    ASSERT_NE(at, std::string::npos) << damage.from;
    text.replace(at, damage.from.size(), damage.to);
    EXPECT_EQ(verdict(text), damage.message) << damage.to;
  }
}

constexpr std::string_view kMap = R"(program scratch=1024
buffer 0 input 4800
buffer 1 output 4800
buffer 2 constant 400
map tasks=6 inner=300 dims=[2,2] row_tile=1 inner_tile=256
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
)";

TEST(Verify, MapWithTasks) {
  std::string good(kMap);
  good.replace(good.find("tasks=6"), 7, "tasks=8");
  expect_rejected(
      good,
      {
          {"tasks=8", "tasks=6", "instruction 0 (map): 6 tasks, its tiles make 8"},
          {"row_tile=1", "row_tile=0", "instruction 0 (map): row_tile 0, at least 1 is needed"},
          {"inner_tile=256", "inner_tile=0", "instruction 0 (map): inner_tile 0, at least 1 is needed"},
          {"inner_tile=256", "inner_tile=100",
           "instruction 0 (map): inner_tile 100 is neither a multiple of 128 nor all of 300"},
          {"dims=[2,2]", "dims=[2,-2]", "instruction 0 (map): dim 1: size -2"},
          {"inner=300", "inner=-1", "instruction 0 (map): inner size -1"},
          {"dims=[2,2]", "dims=[4611686018427387904,2]", "instruction 0 (map): more elements than 64 bits can count"},
      });
}

TEST(Verify, MapStreams) {
  std::string good(kMap);
  good.replace(good.find("tasks=6"), 7, "tasks=8");
  expect_rejected(
      good,
      {
          {"buffer 0 input 4800", "buffer 0 input 4799",
           "instruction 0 (map): stream 0: touches bytes 0 to 4796+4 of buffer 0, which has 4799"},
          {"buffer 0 input 4800", "buffer 0 input -1", "buffer 0: size -1"},
          {"buffer 0 f32 inner", "buffer 0 f32 offset=-4 inner",
           "instruction 0 (map): stream 0: touches bytes -4 to 4792+4 of buffer 0, which has 4800"},
          {"buffer 0 f32 inner", "buffer 9 f32 inner", "instruction 0 (map): stream 0: buffer 9 of 3"},
          {"strides=[2400,1200]", "strides=[2400,-1200]",
           "instruction 0 (map): stream 0: touches bytes -1200 to 3596+4 of buffer 0, which has 4800"},
          {"strides=[2400,1200]", "strides=[9223372036854775807,1200]",
           "instruction 0 (map): stream 0: addresses beyond 64 bits"},
          {"buffer 1 output", "buffer 1 input", "instruction 0 (map): stream 1: writes to buffer 1, which is an input"},
          {"buffer 1 output", "buffer 1 constant",
           "instruction 0 (map): stream 1: writes to buffer 1, which is a constant"},
          {"scratch=1024", "scratch=1023",
           "instruction 0 (map): stream 3: touches bytes 512 to 512+512 of scratch, which has 1023"},
          {"s6 = scratch f32", "s6 = scratch f32 offset=8",
           "instruction 0 (map): stream 6: touches bytes 8 to 1028+4 of scratch, which has 1024"},
          {"scratch=1024", "scratch=2000000", "scratch of 2000000 bytes, at most 1048576 are allowed"},
          {"slot i32 offset=512", "slot i32 offset=516",
           "instruction 0 (map): stream 3: touches bytes 516 to 516+512 of scratch, which has 1024"},
          {"s2 = literal f32 bits=0x40000000", "s2 = literal f32 bits=0x140000000",
           "instruction 0 (map): stream 2: the literal 0x140000000 is wider than its dtype"},
      });
}

TEST(Verify, MapStripProgram) {
  std::string good(kMap);
  good.replace(good.find("tasks=6"), 7, "tasks=8");
  expect_rejected(
      good,
      {
          {"load_f32.f32.unit s0", "load_f32.f32.unit s9", "instruction 0 (map): stream 9 of 7"},
          {"load_f32.f32.unit s0", "neg.f32", "instruction 0 (map): strip instruction 0 is not a load"},
          {"load_f32.f32.unit s0", "load_f32.f32.one s0",
           "instruction 0 (map): stream 0: stride 4, its form is one element"},
          {"load_f32.f32.unit s0", "load_f64.f32.unit s0",
           "instruction 0 (map): stream 0: f32, its operation needs f64"},
          {"load_f32.f32.unit s0", "load_f32.f64.unit s0",
           "instruction 0 (map): strip instruction 1: lanes of both widths in one program"},
          {"mul.f32.one s2", "mul.f32 s2", "instruction 0 (map): stream 2: a literal is one element"},
          {"mul.f32.one s2", "mul.f32.one s3", "instruction 0 (map): stream 3: i32, its operation needs f32"},
          {"store_i32.i32.unit s3", "store_i32.i32.strided s3",
           "instruction 0 (map): stream 3: a slot has unit stride and elements within a lane"},
          {"slot i32 offset=512 inner=4", "slot i32 offset=512 inner=8",
           "instruction 0 (map): stream 3: a slot has unit stride and elements within a lane"},
          {"store_f32.f32.unit s1", "store_f32.f32.strided s2",
           "instruction 0 (map): stream 2: a literal is one element"},
          {"load_iota.i32.unit s4", "load_iota.i32.unit s1",
           "instruction 0 (map): stream 1: f32, its operation needs i64"},
          {"load_iota.i32.unit s4", "load_i64.i32.strided s4",
           "instruction 0 (map): stream 4: load_iota reads an iota, and nothing else does"},
          {"    end.f32\n", "", "instruction 0 (map): strip instruction 9: end is the last one, and only it"},
          {"to_int.f32", "end.f32", "instruction 0 (map): strip instruction 3: end is the last one, and only it"},
          {"phase strip", "phase scalar",
           "instruction 0 (map): a phase that is not a strip phase without accumulators"},
          {"phase strip", "phase strip accumulator=0 count=1",
           "instruction 0 (map): a phase that is not a strip phase without accumulators"},
          {"phase strip", "phase strip accumulator=1", "good"},
          {"  phase strip", "  phase softmax from=s0 to=s1\n  phase strip",
           "instruction 0 (map): a phase that is not a strip phase without accumulators"},
          {"end.f32\n", "end.f32\n  phase strip\n    end.f32\n", "instruction 0 (map): words after the last phase"},
          {"s6 = scratch f32 inner=4", "s6 = tile f32 inner=4",
           "instruction 0 (map): stream 6: a tile is the unit f32 block of an epilogue, from offset 0"},
          {"end.f32\n", "end.f32\nraw 0xff 0 0\n",
           "instruction 1 (?): opcode 0xff of 0 words with 3 words left is not a whole instruction"},
          {"end.f32\n", "end.f32\nraw 0x1\n",
           "instruction 1 (map): opcode 0x1 of 0 words with 1 words left is not a whole instruction"},
      });
}

TEST(Verify, SkipsTheRangesOfAnEmptyDomain) {
  EXPECT_EQ(verdict(R"(program scratch=0
buffer 0 output 0
map tasks=0 inner=0 dims=[3] row_tile=1 inner_tile=128
  s0 = buffer 0 f32 offset=1000 inner=4 strides=[8]
  phase strip
    load_f32.f32.unit s0
    store_f32.f32.unit s0
    end.f32
)"),
            "good");
}

constexpr std::string_view kRows = R"(program scratch=2048
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
)";

TEST(Verify, Rows) {
  expect_rejected(
      kRows,
      {
          {"tasks=2", "tasks=3", "instruction 0 (rows): 3 tasks, its tiles make 2"},
          {"buffer 2 output 16", "buffer 2 output 15",
           "instruction 0 (rows): stream 4: touches bytes 0 to 12+4 of buffer 2, which has 15"},
          {"buffer 2 output 16", "buffer 2 input 16",
           "instruction 0 (rows): stream 4: writes to buffer 2, which is an input"},
          {"buffer 3 constant 64", "buffer 3 constant 60",
           "instruction 0 (rows): stream 5: touches bytes 0 to 60+4 of buffer 3, which has 60"},
          {"scratch=2048", "scratch=1500",
           "instruction 0 (rows): stream 3: touches bytes 1024 to 1024+512 of scratch, which has 1500"},
          {"target=4", "target=9", "instruction 0 (rows): stream 3: target 9 of 7 streams"},
          {"target=4", "target=2", "instruction 0 (rows): stream 3: target 2 is not a buffer or scratch of f32"},
          {"accumulator=3 count=1", "accumulator=3 count=2", "instruction 0 (rows): stream 4 is not an accumulator"},
          {"accumulator=3 count=1", "accumulator=6 count=2", "instruction 0 (rows): accumulators 6 to 7 of 7 streams"},
          {"acc_max.f32 s3", "acc_min.f32 s3",
           "instruction 0 (rows): stream 3: reduction kind 2, its operation needs 3"},
          {"acc_max.f32 s3", "acc_max.f32 s4", "instruction 0 (rows): stream 4 is not an accumulator of its phase"},
          {"acc_max.f32 s3", "acc_max.i32 s3", "instruction 0 (rows): stream 3: f32, its lane is i32"},
          {"acc_max.f32 s3", "add.f32 s3", "instruction 0 (rows): stream 3: only reductions use an accumulator"},
          {"s4 = buffer 2 f32 strides=[4]", "s4 = buffer 2 f32 strides=[0]",
           "instruction 0 (rows): stream 4: stride 0, its form is unit"},
          {"from=s0 to=s6", "from=s0 to=s0", "instruction 0 (rows): stream 0: writes to buffer 0, which is an input"},
          {"from=s0 to=s6", "from=s4 to=s6",
           "instruction 0 (rows): stream 4 is not f32 of unit stride in a buffer or scratch"},
          {"from=s0 to=s6", "from=s8 to=s6", "instruction 0 (rows): stream 8 of 7"},
          {"eps=s2", "eps=s0", "instruction 0 (rows): stream 0: eps is not an f32 literal"},
          {"s6 = scratch f32 inner=4 strides=[64]", "s6 = scratch f32 inner=4 strides=[4096]",
           "instruction 0 (rows): stream 6: touches bytes 0 to 4156+4 of scratch, which has 2048"},
          {"phase softmax from=s1 to=s1\n", "phase softmax from=s1 to=s1\n    end.f32\n",
           "instruction 0 (rows): strip instructions in a phase that runs none"},
      });
}

TEST(Verify, RowsOfNoElementsStillWriteTheirSums) {
  constexpr std::string_view kEmpty = R"(program scratch=512
buffer 0 output 16
rows tasks=1 inner=0 dims=[4] row_tile=4
  s0 = accumulator f32 reduce=sum target=1
  s1 = buffer 0 f32 strides=[4]
  phase strip accumulator=0 count=1
    end.f32
)";
  expect_rejected(kEmpty, {{"output 16", "output 8",
                            "instruction 0 (rows): stream 1: touches bytes 0 to 12+4 of buffer 0, which has 8"}});
}

constexpr std::string_view kColumns = R"(program scratch=64
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
)";

TEST(Verify, Columns) {
  expect_rejected(kColumns,
                  {
                      {"tasks=4", "tasks=6", "instruction 0 (columns): 6 tasks, its tiles make 4"},
                      {"reduced=1", "reduced=0", "instruction 0 (columns): 0 reduced of 2 outer dims"},
                      {"reduced=1", "reduced=3", "instruction 0 (columns): 3 reduced of 2 outer dims"},
                      {"scratch=64", "scratch=60",
                       "instruction 0 (columns): stream 1: touches bytes 32 to 32+32 of scratch, which has 60"},
                      {"accumulator=1 count=1", "accumulator=1",
                       "instruction 0 (columns): the first phase is not a strip phase with accumulators"},
                      {"output 128", "output 124",
                       "instruction 0 (columns): stream 3: touches bytes 0 to 124+4 of buffer 1, which has 124"},
                      {"input 384", "input 380",
                       "instruction 0 (columns): stream 0: touches bytes 0 to 380+4 of buffer 0, which has 380"},
                  });
}

constexpr std::string_view kMatMul = R"(program scratch=0
buffer 0 input 480
buffer 1 packed 1920
buffer 2 output 560
matmul tasks=8 inner=14 dims=[2,5] k=12 m_tile=3 n_tile=8 k_block=12 panel=4
  s0 = buffer 0 f32 inner=4 strides=[240,48]
  s1 = buffer 1 f32 strides=[768,0]
  s2 = tile f32 inner=4
  s3 = buffer 2 f32 inner=4 strides=[280,56]
  phase strip
    load_f32.f32.unit s2
    store_f32.f32.unit s3
    end.f32
)";

TEST(Verify, MatMul) {
  expect_rejected(
      kMatMul,
      {
          {"tasks=8", "tasks=4", "instruction 0 (matmul): 4 tasks, its tiles make 8"},
          {"k=12", "k=-1", "instruction 0 (matmul): k -1, panel 4"},
          {"k_block=12", "k_block=0", "instruction 0 (matmul): k_block 0, at least 1 is needed"},
          {"n_tile=8", "n_tile=6",
           "instruction 0 (matmul): n_tile 6 is neither a multiple of the panel 4 nor all of 14"},
          {"input 480", "input 476",
           "instruction 0 (matmul): stream 0: touches bytes 0 to 476+4 of buffer 0, which has 476"},
          {"packed 1920", "packed 1532",
           "instruction 0 (matmul): stream 1: touches bytes 0 to 768+768 of buffer 1, which has 1532"},
          {"s2 = tile f32 inner=4", "s2 = tile f32 inner=8",
           "instruction 0 (matmul): stream 2: a tile is the unit f32 block of an epilogue, from offset 0"},
          {"s2 = tile f32 inner=4", "s2 = buffer 2 f32 inner=4 strides=[280,56]",
           "instruction 0 (matmul): stream 2 is not the tile that the epilogue reads"},
          {"s0 = buffer 0 f32", "s0 = buffer 0 i32", "instruction 0 (matmul): stream 0 is not f32 in a buffer"},
          {"s0 = buffer 0 f32", "s0 = scratch f32", "instruction 0 (matmul): stream 0 is not f32 in a buffer"},
          {"output 560", "output 556",
           "instruction 0 (matmul): stream 3: touches bytes 0 to 556+4 of buffer 2, which has 556"},
          {"output 560", "input 560", "instruction 0 (matmul): stream 3: writes to buffer 2, which is an input"},
      });
}

TEST(Verify, TheRowsOfAnEpilogueAreBounded) {
  EXPECT_EQ(verdict(R"(program scratch=0
buffer 0 output 4
matmul tasks=1 inner=20000000 dims=[1] k=0 m_tile=1 n_tile=20000000 k_block=1 panel=0
  s0 = buffer 0 f32 inner=4 strides=[0]
  s1 = buffer 0 f32 inner=4 strides=[0]
  s2 = tile f32 inner=4
  phase strip
    load_f32.f32.unit s2
    end.f32
)"),
            "instruction 0 (matmul): 20000000 columns for the epilogue, at most 16777216 are allowed");
}

constexpr std::string_view kPlainMatMul = R"(program scratch=0
buffer 0 input 240
buffer 1 input 672
buffer 2 output 280
matmul tasks=1 inner=14 dims=[5] k=12 m_tile=5 n_tile=14 k_block=12 panel=0
  s0 = buffer 0 f32 inner=4 strides=[48]
  s1 = buffer 1 f32 inner=48 strides=[4]
  s2 = buffer 2 f32 inner=4 strides=[56]
)";

TEST(Verify, MatMulInPlace) {
  expect_rejected(
      kPlainMatMul,
      {
          {"input 672", "input 668",
           "instruction 0 (matmul): stream 1: touches bytes 0 to 668+4 of buffer 1, which has 668"},
          {"output 280", "output 276",
           "instruction 0 (matmul): stream 2: touches bytes 0 to 276+4 of buffer 2, which has 276"},
          {"output 280", "constant 280", "instruction 0 (matmul): stream 2: writes to buffer 2, which is a constant"},
          {"s2 = buffer 2 f32 inner=4", "s2 = buffer 2 f32 inner=0",
           "instruction 0 (matmul): stream 2: inner stride 0, unit is needed"},
          {"dims=[5]", "dims=[]", "text: line 6: 1 strides, 0 outer dims"},
      });
}

TEST(Verify, Pack) {
  expect_rejected(
      R"(program scratch=0
buffer 0 constant 504
buffer 1 packed 576
pack tasks=3 inner=14 dims=[9] panel=5
  s0 = buffer 0 f32 inner=4 strides=[56]
  s1 = buffer 1 f32
)",
      {
          {"tasks=3", "tasks=2", "instruction 0 (pack): 2 tasks, its tiles make 3"},
          {"constant 504", "constant 500",
           "instruction 0 (pack): stream 0: touches bytes 0 to 500+4 of buffer 0, which has 500"},
          {"packed 576", "packed 536",
           "instruction 0 (pack): stream 1: touches bytes 0 to 0+540 of buffer 1, which has 536"},
          {"packed 576", "input 576", "instruction 0 (pack): stream 1: writes to buffer 1, which is an input"},
          {"panel=5", "panel=0", "instruction 0 (pack): panel 0, at least 1 is needed"},
      });
}

constexpr std::string_view kAttention = R"(program scratch=0
buffer 0 input 1920
buffer 1 input 1344
buffer 2 input 672
buffer 3 output 960
buffer 4 input 70
attention tasks=16 inner=4 dims=[2,4,3] kv_heads=2 keys=7 depth=8 causal=0 empty_is_nan=0 scale=0 query_tile=2 key_tile=4
  s0 = buffer 0 f32 inner=4 strides=[960,32,128]
  s1 = buffer 1 f32 inner=4 strides=[448,32,64]
  s2 = buffer 2 f32 inner=4 strides=[224,16,32]
  s3 = buffer 3 f32 inner=4 strides=[480,16,64]
  s4 = buffer 4 bool inner=1 strides=[35,0,7]
)";

TEST(Verify, Attention) {
  expect_rejected(
      kAttention,
      {
          {"tasks=16", "tasks=8", "instruction 0 (attention): 8 tasks, its tiles make 16"},
          {"kv_heads=2", "kv_heads=3", "instruction 0 (attention): 4 heads for 3 kv heads"},
          {"kv_heads=2", "kv_heads=0", "instruction 0 (attention): kv_heads 0, at least 1 is needed"},
          {"keys=7", "keys=70000000", "instruction 0 (attention): 70000000 keys, at most 67108864 are allowed"},
          {"causal=0", "causal=2", "instruction 0 (attention): keys 7, depth 8, causal 2, empty_is_nan 0"},
          {"input 1344", "input 892",
           "instruction 0 (attention): stream 1: touches bytes 0 to 892+4 of buffer 1, which has 892"},
          {"input 672", "input 400",
           "instruction 0 (attention): stream 2: touches bytes 0 to 444+4 of buffer 2, which has 400"},
          {"output 960", "output 600",
           "instruction 0 (attention): stream 3: touches bytes 0 to 668+4 of buffer 3, which has 600"},
          {"input 70", "input 50",
           "instruction 0 (attention): stream 4: touches bytes 0 to 55+1 of buffer 4, which has 50"},
          {"s1 = buffer 1 f32 inner=4", "s1 = buffer 1 f32 inner=8",
           "instruction 0 (attention): stream 1: inner stride 8, unit is needed"},
          {"s4 = buffer 4 bool", "s4 = buffer 4 i8", "instruction 0 (attention): stream 4 is not f32 in a buffer"},
          {"buffer 3 output", "buffer 3 constant",
           "instruction 0 (attention): stream 3: writes to buffer 3, which is a constant"},
      });
}

}  // namespace
}  // namespace tilewright::isa
