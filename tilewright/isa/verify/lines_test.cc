// What the verifier says of damaged scan, arg_reduce, sort, nonzero and random instructions, and of matmul in other
// dtypes.
#include "tilewright/isa/verify/damage_testing.h"

namespace tilewright::isa {
namespace {

using testing::expect_rejected;

TEST(VerifyLines, Scan) {
  expect_rejected(R"(program scratch=0
buffer 0 input 80
buffer 1 output 80
buffer 2 output 160
scan tasks=2 inner=5 dims=[4] kind=2 exclusive=0 row_tile=2
  s0 = buffer 0 f32 inner=4 strides=[20]
  s1 = buffer 1 f32 inner=4 strides=[20]
  s2 = buffer 2 i64 inner=8 strides=[40]
)",
                  {
                      {"buffer 0 input 80", "buffer 0 input 79",
                       "instruction 0 (scan): stream 0: touches bytes 0 to 76+4 of buffer 0, which has 79"},
                      {"buffer 2 output 160", "buffer 2 output 159",
                       "instruction 0 (scan): stream 2: touches bytes 0 to 152+8 of buffer 2, which has 159"},
                      {"buffer 1 output", "buffer 1 input",
                       "instruction 0 (scan): stream 1: writes to buffer 1, which is an input"},
                      {"kind=2", "kind=4", "instruction 0 (scan): kind 4"},
                      {"kind=2", "kind=0", "instruction 0 (scan): 3 streams, it has 2 to 2"},
                      {"exclusive=0", "exclusive=1", "instruction 0 (scan): an exclusive extreme"},
                      {"buffer 2 i64", "buffer 2 i32", "instruction 0 (scan): stream 2: dtype i32, i64 is needed"},
                      {"buffer 1 f32", "buffer 1 i32", "instruction 0 (scan): stream 1: dtype i32, f32 is needed"},
                      {"tasks=2", "tasks=3", "instruction 0 (scan): 3 tasks, its tiles make 2"},
                  });
}

TEST(VerifyLines, ArgReduce) {
  expect_rejected(
      R"(program scratch=0
buffer 0 input 80
buffer 1 output 32
arg_reduce tasks=4 inner=5 dims=[4] smallest=0 last=0 row_tile=1
  s0 = buffer 0 f32 inner=4 strides=[20]
  s1 = buffer 1 i64 strides=[8]
)",
      {
          {"buffer 1 output 32", "buffer 1 output 31",
           "instruction 0 (arg_reduce): stream 1: touches bytes 0 to 24+8 of buffer 1, which has 31"},
          {"inner=5", "inner=0", "instruction 0 (arg_reduce): inner 0: nothing has no largest element"},
          {"smallest=0", "smallest=2", "instruction 0 (arg_reduce): smallest 2, it is 0 or 1"},
          {"s1 = buffer 1 i64", "s1 = buffer 1 f64", "instruction 0 (arg_reduce): stream 1: dtype f64, i64 is needed"},
      });
}

TEST(VerifyLines, Sort) {
  expect_rejected(
      R"(program scratch=0
buffer 0 input 80
buffer 1 output 48
buffer 2 output 96
buffer 3 arena 640
sort tasks=4 inner=5 dims=[4] count=3 descending=0 row_tile=1
  s0 = buffer 0 f32 inner=4 strides=[20]
  s1 = buffer 1 f32 inner=4 strides=[12]
  s2 = buffer 2 i64 inner=8 strides=[24]
  s3 = buffer 3 u8 inner=1 strides=[160]
)",
      {
          {"count=3", "count=6", "instruction 0 (sort): count 6 of 5"},
          {"count=3", "count=4", "instruction 0 (sort): stream 1: touches bytes 0 to 48+4 of buffer 1, which has 48"},
          {"buffer 3 arena 640", "buffer 3 arena 639",
           "instruction 0 (sort): stream 3: touches bytes 0 to 639+1 of buffer 3, which has 639"},
          {"buffer 3 arena", "buffer 3 constant",
           "instruction 0 (sort): stream 3: writes to buffer 3, which is a constant"},
          {"u8 inner=1", "u8 inner=2", "instruction 0 (sort): stream 3: inner stride 2, 1 is needed"},
          {"strides=[160]", "strides=[156]", "instruction 0 (sort): stream 3: stride 156 is no multiple of 8"},
      });
  expect_rejected(R"(program scratch=0
buffer 0 input 262148
buffer 1 output 4
buffer 2 output 8
sort tasks=1 inner=65536 dims=[] count=1 descending=0 row_tile=1
  s0 = buffer 0 f32 inner=4
  s1 = buffer 1 f32 inner=4
  s2 = buffer 2 i64 inner=8
)",
                  {{"inner=65536", "inner=65537", "instruction 0 (sort): rows of 65537 without work memory"}});
}

TEST(VerifyLines, NonZero) {
  expect_rejected(
      R"(program scratch=0
buffer 0 input 80
buffer 1 output 48
nonzero tasks=1 inner=5 dims=[4] limit=3 step=16
  s0 = buffer 0 f32 inner=4 strides=[20]
  s1 = buffer 1 i64 inner=8 strides=[0]
)",
      {
          {"limit=3", "limit=4",
           "instruction 0 (nonzero): stream 1: touches bytes 0 to 56+8 of buffer 1, which has 48"},
          {"limit=3", "limit=-2", "instruction 0 (nonzero): limit -2"},
          {"step=16", "step=9223372036854775807", "instruction 0 (nonzero): stream 1: addresses beyond 64 bits"},
          {"buffer 1 output", "buffer 1 input",
           "instruction 0 (nonzero): stream 1: writes to buffer 1, which is an input"},
      });
}

TEST(VerifyLines, Random) {
  expect_rejected(R"(program scratch=0
buffer 0 input 16
buffer 1 output 40
random tasks=1 inner=10 dims=[] distribution=0 inner_tile=64
  s0 = buffer 0 i64 inner=8
  s1 = buffer 1 f32 inner=4
)",
                  {
                      {"buffer 0 input 16", "buffer 0 input 15",
                       "instruction 0 (random): stream 0: touches bytes 0 to 8+8 of buffer 0, which has 15"},
                      {"buffer 1 output 40", "buffer 1 output 39",
                       "instruction 0 (random): stream 1: touches bytes 0 to 36+4 of buffer 1, which has 39"},
                      {"distribution=0", "distribution=2", "instruction 0 (random): distribution 2 of f32"},
                      {"inner_tile=64", "inner_tile=63", "instruction 0 (random): inner_tile 63 is odd"},
                  });
}

TEST(VerifyLines, MatMulOfOtherDTypes) {
  expect_rejected(
      R"(program scratch=0
buffer 0 input 48
buffer 1 input 96
buffer 2 output 64
matmul tasks=1 inner=4 dims=[2] k=3 m_tile=2 n_tile=4 k_block=384 panel=0
  s0 = buffer 0 f64 inner=8 strides=[24]
  s1 = buffer 1 f64 inner=8 strides=[32]
  s2 = buffer 2 f64 inner=8 strides=[32]
)",
      {
          {"s1 = buffer 1 f64", "s1 = buffer 1 i64", "instruction 0 (matmul): stream 1 is not f64 in a buffer"},
          {"buffer 2 output 64", "buffer 2 output 63",
           "instruction 0 (matmul): stream 2: touches bytes 0 to 56+8 of buffer 2, which has 63"},
          {"panel=0", "panel=4", "instruction 0 (matmul): stream 0 is not f32 in a buffer"},
      });
}

TEST(VerifyLines, Dot) {
  expect_rejected(
      R"(program scratch=0
buffer 0 input 6
buffer 1 packed 32
buffer 2 output 32
buffer 3 input 2
dot tasks=1 inner=4 dims=[2] k=3 m_tile=2 n_tile=4 k_block=384 panel=4
  s0 = buffer 0 u8 inner=1 strides=[3]
  s1 = buffer 1 i8 inner=1 strides=[0]
  s2 = buffer 2 i32 inner=4 strides=[16]
  s3 = buffer 3 u8 inner=0 strides=[1]
  s4 = literal i8 bits=0x80 inner=0 strides=[0]
)",
      {
          {"s0 = buffer 0 u8", "s0 = buffer 0 f32", "instruction 0 (dot): f32 times i8, bytes or bf16 are needed"},
          {"buffer 1 packed 32", "buffer 1 packed 31",
           "instruction 0 (dot): stream 1: touches bytes 0 to 0+32 of buffer 1, which has 31"},
          {"buffer 3 input 2", "buffer 3 input 1",
           "instruction 0 (dot): stream 3: touches bytes 0 to 1+1 of buffer 3, which has 1"},
          {"bits=0x80", "bits=0x180", "instruction 0 (dot): stream 4: the literal 0x180 is no zero point of i8"},
          {"buffer 3 u8", "buffer 3 i8", "instruction 0 (dot): stream 3 is not u8 in a buffer"},
          {"s2 = buffer 2 i32", "s2 = buffer 2 f32", "instruction 0 (dot): stream 2 is not i32 in a buffer"},
          {"k_block=384", "k_block=2", "instruction 0 (dot): k_block 2 is neither a multiple of 4 nor all of 3"},
      });
}

}  // namespace
}  // namespace tilewright::isa
